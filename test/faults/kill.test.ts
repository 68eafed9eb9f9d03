import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOutpostClient, type OutpostClient, whole } from "../../openapi/client.ts";
import { random } from "../abuse/random.ts";
import { type Daemon, daemon, freePort, ready } from "../servers/run.ts";

/**
 * An accepted write is never lost: the service on its embedded store is killed with SIGKILL at random while 8 clients write. Each client
 * knows what was accepted and what has no known outcome, because the connection broke; after each restart, and at the end, the
 * service must hold exactly one of those. Environment: KILLS, WRITES, SEED.
 */
const CLIENTS = 8;
const WRITES = Number(process.env.WRITES ?? 2_000);
const KILLS = Number(process.env.KILLS ?? (process.env.PROVE ? 60 : 8));
// A run that must not depend on luck repeats one seed; PROVE takes another one each time.
const SEED = Number(process.env.SEED ?? (process.env.PROVE ? Date.now() % 1_000_000 : 1));
const root = new URL("../..", import.meta.url).pathname;

/** What one object may be: the last accepted state, or any whose outcome is unknown. `undefined` is "not there". */
class Expected {
  accepted: string | undefined;
  maybe: (string | undefined)[] = [];
  allows(found: string | undefined): boolean {
    return found === this.accepted || this.maybe.includes(found);
  }
  settle(found: string | undefined): void {
    this.accepted = found;
    this.maybe = [];
  }
}

let dir: string;
let port: number;
let process_: Daemon;
let api: OutpostClient;
const starts: number[] = [];

async function start(): Promise<void> {
  const began = performance.now();
  const env = {
    PATH: process.env.PATH,
    HOME: dir,
    OUTPOST_LISTEN: `127.0.0.1:${port}`,
    OUTPOST_DATA: dir,
    OUTPOST_LOG_LEVEL: "error",
  };
  process_ = daemon(process.execPath, [join(root, "dist/outpost.mjs"), "server"], { env });
  await ready(
    "the service",
    process_,
    async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok === true,
    60_000,
  );
  starts.push(performance.now() - began);
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "outpost-kill-"));
  port = await freePort();
  await start();
  api = createOutpostClient({
    endpoint: `http://127.0.0.1:${port}`,
    apiKey: readFileSync(join(dir, "admin-key"), "utf8").trim(),
  });
}, 90_000);
afterAll(async () => {
  await process_?.stop();
  rmSync(dir, { recursive: true, force: true });
});

test(
  `kill -9 of the service during ${WRITES} writes by ${CLIENTS} clients: 0 lost, 0 invented`,
  async () => {
    const dice = random(SEED);
    const expected = new Map<string, Expected>();
    const wrong: string[] = [];
    let done = 0;
    let broken = 0;
    let up: Promise<void> = Promise.resolve();

    const client = async (n: number) => {
      const mine = random(SEED * 31 + n);
      for (let i = 0; done < WRITES; i++) {
        await up;
        const id = `c${n}-${Math.floor(mine() * 12)}`;
        const object = expected.get(id) ?? new Expected();
        expected.set(id, object);
        const remove = object.accepted !== undefined && object.maybe.length === 0 && mine() < 0.2;
        const value = remove ? undefined : `${n}-${i}`;
        const path = { params: { path: { id } } };
        const answer = await (remove
          ? api.DELETE("/v1/agents/{id}", path)
          : api.PUT("/v1/agents/{id}", { ...path, body: { spec: { description: value } as never } })
        ).catch(() => undefined);
        if (answer?.response.ok) {
          done++;
          object.settle(value);
          continue;
        }
        // A broken connection leaves the outcome open; any other answer would be a defect of this test or of the service.
        if (answer && answer.response.status !== 503)
          wrong.push(`${id}: ${answer.response.status} ${JSON.stringify(answer.error)}`);
        object.maybe.push(value);
        broken++;
        await up;
        await resolve(id, object);
      }
    };
    const resolve = async (id: string, object: Expected) => {
      for (let tries = 0; tries < 200; tries++) {
        const read = await api.GET("/v1/agents/{id}", { params: { path: { id } } }).catch(() => undefined);
        if (read?.response.ok || read?.response.status === 404) {
          const found = read.response.ok ? read.data?.spec.description : undefined;
          if (!object.allows(found))
            wrong.push(`${id}: found ${found}, accepted ${object.accepted}, open ${JSON.stringify(object.maybe)}`);
          object.settle(found);
          return;
        }
        await new Promise((r) => setTimeout(r, 50));
        await up;
      }
      throw new Error(`the service does not come back: ${process_.said()}`);
    };
    const killer = async () => {
      for (let kill = 1; kill <= KILLS; kill++) {
        const at = Math.floor(((kill - 1 + dice()) / KILLS) * WRITES * 0.95);
        while (done < at) await new Promise((r) => setTimeout(r, 2));
        up = process_.stop("SIGKILL").then(start);
        await up;
      }
    };
    await Promise.all([killer(), ...Array.from({ length: CLIENTS }, (_, n) => client(n))]);
    await process_.stop("SIGKILL");
    await start();

    // The end: exactly what was accepted, nothing else.
    const found = new Map<string, string | undefined>();
    let cursor: string | undefined;
    do {
      const page = await api.GET("/v1/agents", { params: { query: { limit: 50, ...(cursor ? { cursor } : {}) } } });
      for (const object of whole(page.data?.items ?? [])) found.set(object.id, object.spec.description);
      cursor = page.data?.nextCursor;
    } while (cursor);
    for (const [id, object] of expected)
      if (!object.allows(found.get(id))) wrong.push(`${id}: at the end ${found.get(id)}, accepted ${object.accepted}`);
    for (const id of found.keys()) if (!expected.has(id)) wrong.push(`${id}: invented`);

    // The log of events has no hole, and its last word on each object is the object.
    const last = new Map<string, string | undefined>();
    const versions: number[] = [];
    const response = await fetch(`http://127.0.0.1:${port}/v1/watch/agents?timeoutSeconds=2`, {
      headers: { authorization: `Bearer ${readFileSync(join(dir, "admin-key"), "utf8").trim()}`, "last-event-id": "1" },
    });
    for (const event of (await response.text()).split("\n\n")) {
      const fields = Object.fromEntries(
        event.split("\n").map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]),
      );
      if (fields.event !== "put" && fields.event !== "delete") continue;
      versions.push(Number(fields.id));
      const data = JSON.parse(fields.data ?? "{}");
      last.set(data.id, fields.event === "put" ? data.spec.description : undefined);
    }
    if (versions.some((version, i) => version !== i + 2)) wrong.push("the log of events has a hole or is out of order");
    for (const [id, value] of last)
      if (value !== found.get(id)) wrong.push(`${id}: its last event says ${value}, the object ${found.get(id)}`);

    const sorted = [...starts.slice(1)].sort((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
    process.stdout.write(
      `seed ${SEED}: ${KILLS} kills, ${done} writes accepted, ${broken} cut off, ${versions.length} events; restart ${Math.round(median)} ms (median), ${Math.round(sorted.at(-1) ?? 0)} ms (worst)\n`,
    );
    expect({ seed: SEED, wrong }).toEqual({ seed: SEED, wrong: [] });
    expect(broken).toBeGreaterThan(0);
  },
  Number(process.env.PROVE ? 1_800_000 : 300_000),
);
