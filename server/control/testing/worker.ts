import { randomBytes } from "node:crypto";
import { generateSealKeys } from "../../../openapi/seal.ts";
import { ed25519Signer, ed25519Verify, makeEd25519 } from "../../base/crypto/ed25519.ts";
import { canonical } from "../../base/json/canonical.ts";
import { Secret } from "../../base/secret.ts";
import type { Schemas } from "../domain/nouns.ts";
import { type Answer, ask } from "./service.ts";

/** A worker that speaks the protocol step by step, so that a test can leave out or repeat any of them. */
export class TestWorker {
  readonly url: string;
  readonly sign = makeEd25519();
  seal!: { publicKey: string; privateKey: string };
  readonly instance: string;
  clusterUid: string | undefined;
  capabilities = ["git.clone", "shell.run"];
  servicePublicKey = "";
  worker = "";
  session = "";

  /** How it says it was installed; the version before said nothing. */
  type: string | undefined = "SHELL";

  constructor(url: string, instance = `i-${randomBytes(3).toString("hex")}`, clusterUid?: string) {
    this.url = url;
    this.instance = instance;
    this.clusterUid = clusterUid;
  }

  async hello(): Promise<string> {
    const nonce = randomBytes(16).toString("base64url");
    const { body } = await ask(this.url, "GET", `/v1/worker/hello?nonce=${nonce}`);
    if (!ed25519Verify(body.publicKey, `outpost/hello/v1\n${nonce}\n${body.nonce}`, body.signature))
      throw new Error("the service's greeting is not signed");
    this.servicePublicKey = body.publicKey;
    return body.nonce;
  }

  async tryEnrol(token: string, change: Record<string, unknown> = {}): Promise<Answer> {
    this.seal ??= await generateSealKeys();
    const parts = /^ot1_([A-Za-z0-9-]+)_([A-Za-z0-9_-]{43})_([A-Za-z0-9_-]{32})$/.exec(token);
    const fields = {
      tokenId: parts![1],
      nonce: await this.hello(),
      signKey: this.sign.publicKey,
      sealKey: this.seal.publicKey,
      instance: this.instance,
      ...(this.clusterUid ? { clusterUid: this.clusterUid } : {}),
      version: "0.1.0",
    };
    const proof = ed25519Signer(new Secret(parts![2]!))(`outpost/enrol/v1\n${canonical(fields)}`);
    return ask(this.url, "POST", "/v1/worker/enrol", { body: { ...fields, proof, ...change } });
  }

  async enrol(token: string): Promise<this> {
    const answer = await this.tryEnrol(token);
    if (answer.status !== 200) throw new Error(`enrol: ${answer.text}`);
    this.worker = answer.body.worker;
    return this;
  }

  async tryOpen(change: Record<string, unknown> = {}): Promise<Answer> {
    const fields = {
      worker: this.worker,
      nonce: await this.hello(),
      instance: this.instance,
      ...(this.clusterUid ? { clusterUid: this.clusterUid } : {}),
      version: "0.1.0",
      capabilities: this.capabilities,
      ...(this.type ? { type: this.type } : {}),
    };
    const signature = ed25519Signer(this.sign.seed)(`outpost/session/v1\n${canonical(fields)}`);
    return ask(this.url, "POST", "/v1/worker/session", { body: { ...fields, signature, ...change } });
  }

  async open(): Promise<this> {
    const answer = await this.tryOpen();
    if (answer.status !== 200) throw new Error(`session: ${answer.text}`);
    this.session = answer.body.session;
    return this;
  }

  /** One exchange, with the signed bodies opened. */
  async exchange(
    request: Partial<Schemas["ExchangeRequest"]> = {},
  ): Promise<{ objects: Schemas["WorkerObject"][]; tasks: Schemas["WorkerTask"][]; cancel: string[]; answer: Answer }> {
    const answer = await ask(this.url, "POST", "/v1/worker/exchange", {
      key: this.session,
      body: { wait: 0, free: 0, ...request },
    });
    if (answer.status !== 200) throw new Error(`exchange: ${answer.text}`);
    return {
      objects: answer.body.objects.map((s: Schemas["Signed"]) => this.#read(s)),
      tasks: answer.body.tasks.map((s: Schemas["Signed"]) => this.#read(s)),
      cancel: answer.body.cancel,
      answer,
    };
  }

  /** Acknowledges objects as applied (or deleted). */
  async acknowledge(objects: Schemas["WorkerObject"][], status?: Record<string, unknown>): Promise<void> {
    const reports = objects.map((o) => ({
      collection: o.collection,
      key: o.key,
      uid: o.uid,
      generation: o.generation,
      outcome: o.op === "put" ? ("applied" as const) : ("deleted" as const),
      ...(status ? { status } : {}),
    }));
    await this.exchange({ reports });
  }

  call(path: string, body: unknown): Promise<Answer> {
    return ask(this.url, "POST", `/v1/worker/${path}`, { key: this.session, body });
  }

  #read(signed: Schemas["Signed"]): any {
    if (!ed25519Verify(this.servicePublicKey, `outpost/signed/v1\n${signed.body}`, signed.signature))
      throw new Error("a body is not signed by the service");
    const value = JSON.parse(signed.body);
    if (canonical(value) !== signed.body) throw new Error("a signed body is not canonical");
    if (value.worker !== this.worker) throw new Error("a signed body is for another worker");
    return value;
  }
}
