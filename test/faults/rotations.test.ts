import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createServer, type Server } from "node:tls";
import { jest } from "@jest/globals";
import { startService, type TestService } from "../../server/control/testing/service.ts";
import { createTask, getTask, makeDelegate, startDelegate, waitTask } from "../../server/delegate/testing/delegate.ts";
import { temporaryFolder, until } from "../../server/delegate/testing/temporary.ts";
import { enrol } from "../../server/link/identity/enrol.ts";
import { MemoryIdentity } from "../../server/link/identity/identity.ts";
import { Transport } from "../../server/link/transport/transport.ts";
import { makeServerCertificate } from "../servers/tls.ts";
import { within } from "../within.ts";

/** Guarantee 27. PROVE makes it long. */
const ROUNDS = process.env.PROVE ? 50 : 3;
const RECOVERY_MS = 30_000;
jest.setTimeout(ROUNDS * 30_000);

const dir = temporaryFolder();
let service: TestService;
let front: Front;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  service = await startService();
  front = await startFront(Number(new URL(service.url).port));
}, 60_000);
afterAll(async () => {
  for (const end of ends.reverse()) await end();
  await front?.close();
  await service?.stop();
});

interface Front {
  url: string;
  /** Shows another certificate, of another authority; gives the authority's file. */
  replace(): Promise<string>;
  close(): Promise<void>;
}

/** TLS before the service. */
async function startFront(to: number): Promise<Front> {
  let made = 0;
  const make = async () => {
    const folder = join(dir, `tls${made++}`);
    mkdirSync(folder);
    const { ca, certificate, key } = await makeServerCertificate(folder);
    return { ca, pair: { cert: readFileSync(certificate), key: readFileSync(key) } };
  };
  const first = await make();
  trust(first.ca);
  const open = new Set<{ destroy(): void }>();
  const server: Server = createServer(first.pair, (socket) => {
    const back = connect(to, "127.0.0.1");
    for (const [a, b] of [[socket, back] as const, [back, socket] as const]) {
      open.add(a);
      a.on("error", () => undefined).on("close", () => open.delete(a) && b.destroy());
      a.pipe(b);
    }
  });
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const one of open) one.destroy();
  };
  return {
    url: `https://127.0.0.1:${(server.address() as { port: number }).port}`,
    async replace() {
      const { ca, pair } = await make();
      server.setSecureContext(pair);
      cut();
      return ca;
    },
    close: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** As a mounted Secret is replaced: in one step. */
function put(name: string, text: string | Buffer): string {
  const path = join(dir, name);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
  return path;
}
const trust = (ca: string) => put("ca.crt", readFileSync(ca));

const post = async (path: string, body?: unknown) => {
  const answer = await service.ask("POST", path, body === undefined ? {} : { body });
  if (answer.status >= 300) throw new Error(answer.text);
  return answer.body;
};

/** Enrols as a new replica, through the front. */
async function tryEnrol(token: string): Promise<string> {
  const transport = new Transport({
    endpoint: front.url,
    env: { OUTPOST_CA_FILE: join(dir, "ca.crt") },
    userAgent: "test",
  });
  try {
    const more = { kind: "delegate", instance: "replica", version: "0.1.0" } as const;
    const answer = await enrol({ transport, store: new MemoryIdentity(), token: () => token, ...more });
    return answer.kind === "done" ? answer.value.enrolment.serviceKey : answer.reason;
  } finally {
    await transport.close();
  }
}

test(`${ROUNDS} rotations of signing key, token, authority and certificate: a delegate goes on, no task is lost`, async () => {
  await service.ask("PUT", "/v1/delegates/spare", { body: { spec: {} } });
  let spare = await post("/v1/delegates/spare/tokens", {});
  const { token: oldest } = spare;
  const one = await makeDelegate(service, "one");
  const env = { OUTPOST_ENDPOINT: front.url, OUTPOST_CA_FILE: join(dir, "ca.crt") };
  const workDir = join(dir, "one");
  const delegate = await startDelegate(service, { id: "one", token: one.token, workDir, env });
  ends.push(() => delegate.stop());
  const stored = () => JSON.parse(readFileSync(join(workDir, "identity.json"), "utf8")).enrolment;
  const { worker } = stored();

  const ids: string[] = [];
  const slow = { params: { script: "sleep 2; echo over" }, timeoutSeconds: 120, selectors: ["one"], maxAttempts: 1 };
  const start = async () => void ids.push(await createTask(service, slow));
  const probe = async () => {
    const from = performance.now();
    const id = await createTask(service, { params: { script: "true" }, selectors: ["one"], maxAttempts: 1 });
    ids.push(id);
    await waitTask(service, id, "Succeeded", RECOVERY_MS);
    return performance.now() - from;
  };

  const took: Record<"key" | "tls", number[]> = { key: [], tls: [] };
  for (let round = 0; round < ROUNDS; round++) {
    await start();
    await until("a task runs", async () => (await getTask(service, ids.at(-1)!)).state === "Running");
    // The token: the one before has ended, and the new one, made under the key that is about to go, enrols after it went.
    const ended = spare.token;
    if (round > 0) spare = await post(`/v1/delegates/spare/tokens/${spare.id}/rotate`, { overlap: "0s" });
    else spare = await post("/v1/delegates/spare/tokens", {});
    const { publicKey } = await post("/v1/servicekey/rotate");
    took.key.push(await probe());
    expect(stored()).toMatchObject({ worker, serviceKey: publicKey });
    if (round > 0) expect([round, await tryEnrol(ended)]).toEqual([round, "token_invalid"]);
    expect([round, await tryEnrol(spare.token)]).toEqual([round, publicKey]);
    // Authority and certificate: what was trusted is worth nothing until the file is replaced.
    const ca = await front.replace();
    expect(await tryEnrol(spare.token)).toBe("TlsFailed");
    trust(ca);
    took.tls.push(await probe());
    if (round === ROUNDS - 1) expect(await tryEnrol(oldest)).toBe(publicKey);
  }
  for (const id of ids) {
    const { state, attempts } = await waitTask(service, id);
    expect([id, state, attempts?.length]).toEqual([id, "Succeeded", 1]);
  }
  const most = Object.values(took).map((times) => Math.max(...times));
  for (const time of most) expect(time).toBeLessThan(within(RECOVERY_MS));
  if (process.env.PROVE)
    console.log(
      `${ROUNDS} rotations of each, ${ids.length} tasks, none lost; longest recovery: key ${most[0]} ms, TLS ${most[1]} ms`,
    );
});
