import { randomBytes } from "node:crypto";
import { Agent, type IncomingMessage, request } from "node:http";
import { generateSealKeys } from "../../openapi/seal.ts";
import { ed25519Signer, makeEd25519 } from "../../server/base/crypto/ed25519.ts";
import { canonical } from "../../server/base/json/canonical.ts";
import { Secret } from "../../server/base/secret.ts";

/** One connection for the poll and one for the rest, as a delegate has. */
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 8_000 });

/** A POST over kept connections, with as little of a client around it as can be. */
export function post(url: string, path: string, key: string, body: unknown): Promise<{ status: number; body: any }> {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
    };
    const req = request(`${url}${path}`, { method: "POST", agent, headers }, (res: IncomingMessage) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk: Buffer) => chunks.push(chunk));
      res.on("error", reject);
      res.on("end", () => {
        const all = Buffer.concat(chunks).toString();
        resolve({ status: res.statusCode!, body: all ? JSON.parse(all) : undefined });
      });
    });
    req.on("error", (error: NodeJS.ErrnoException) => {
      // The service closed a kept connection just when it was used again: nothing of the request was read.
      if (req.reusedSocket && error.code === "ECONNRESET") post(url, path, key, body).then(resolve, reject);
      else reject(error);
    });
    req.end(text);
  });
}

export interface LightTask {
  task: string;
  fence: number;
}

/** A delegate's protocol without its processes: a real identity and session, long polls, heartbeats. */
export class LightDelegate {
  readonly #url: string;
  readonly #free: number;
  readonly #running = new Map<string, number>();
  #session = "";
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  #loop: Promise<void> | undefined;
  /** Called for each task that arrives. */
  onTask: (task: LightTask, delegate: LightDelegate) => Promise<void> = async (task) => this.end(task);

  constructor(url: string, free: number) {
    this.#url = url;
    this.#free = free;
  }

  async start(token: string): Promise<this> {
    await this.#enrol(token);
    this.#timer = setInterval(() => void this.#beat(), 5_000);
    this.#loop = this.#poll();
    return this;
  }

  async end({ task, fence }: LightTask): Promise<void> {
    await post(this.#url, `/v1/worker/tasks/${task}/result`, this.#session, { fence, outcome: "succeeded" });
    this.#running.delete(task);
  }

  /** Its poll in hand is answered within the wait. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#loop;
  }

  async #enrol(token: string): Promise<void> {
    const [, tokenId, seed] = /^ot1_([A-Za-z0-9-]+)_([A-Za-z0-9_-]{43})_/.exec(token)!;
    const [sign, seal] = [makeEd25519(), await generateSealKeys()];
    const instance = `i-${randomBytes(4).toString("hex")}`;
    const hello = async () =>
      (
        (await (await fetch(`${this.#url}/v1/worker/hello?nonce=${randomBytes(16).toString("base64url")}`)).json()) as {
          nonce: string;
        }
      ).nonce;
    const enrolment = {
      tokenId,
      nonce: await hello(),
      signKey: sign.publicKey,
      sealKey: seal.publicKey,
      instance,
      version: "0.1.0",
    };
    const proof = ed25519Signer(new Secret(seed!))(`outpost/enrol/v1\n${canonical(enrolment)}`);
    const enrolled = await post(this.#url, "/v1/worker/enrol", "", { ...enrolment, proof });
    if (enrolled.status !== 200) throw new Error(`enrol: ${JSON.stringify(enrolled.body)}`);
    const fields = {
      worker: enrolled.body.worker,
      nonce: await hello(),
      instance,
      version: "0.1.0",
      capabilities: ["shell.run"],
    };
    const signature = ed25519Signer(sign.seed)(`outpost/session/v1\n${canonical(fields)}`);
    const opened = await post(this.#url, "/v1/worker/session", "", { ...fields, signature });
    if (opened.status !== 200) throw new Error(`session: ${JSON.stringify(opened.body)}`);
    this.#session = opened.body.session;
  }

  async #poll(): Promise<void> {
    while (!this.#stopped) {
      const { status, body } = await post(this.#url, "/v1/worker/exchange", this.#session, {
        wait: 10,
        free: this.#free,
      });
      if (status === 503) {
        // As a delegate does: the service is busy, and says when to come back.
        await new Promise((resolve) => setTimeout(resolve, body.retryAfterSeconds * 1_000));
        continue;
      }
      if (status !== 200) throw new Error(`exchange: ${status} ${JSON.stringify(body)}`);
      const tasks = (body.tasks as { body: string }[]).map((signed) => JSON.parse(signed.body) as LightTask);
      for (const t of tasks) this.#running.set(t.task, t.fence);
      await Promise.all(tasks.map((t) => this.onTask(t, this)));
    }
  }

  async #beat(): Promise<void> {
    const leases = [...this.#running].map(([task, fence]) => ({ task, fence }));
    await post(this.#url, "/v1/worker/heartbeat", this.#session, { leases }).catch(() => {});
  }
}

export const closeConnections = (): void => agent.destroy();
