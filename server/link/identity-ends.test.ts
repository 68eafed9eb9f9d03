import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { within } from "../../test/within.ts";
import { MemoryIdentity } from "./identity/identity.ts";
import { Leases } from "./leases.ts";
import { type Link, startLink } from "./link.ts";
import { SILENT } from "./log.ts";
import { type FakeService, startFakeService } from "./testing/fake-service.ts";

/** What ends an identity, and what does not. */
let fake: FakeService;
let stop: AbortController;
let link: Link;
let dir: string;
let lost: string[];
let said: string[];
let leases: Leases;

beforeEach(async () => {
  fake = await startFakeService("delegate");
  fake.heartbeatSeconds = 0.05;
  dir = mkdtempSync(join(tmpdir(), "link-"));
  writeFileSync(join(dir, "token"), fake.token);
  stop = new AbortController();
  [lost, said, leases] = [[], [], new Leases()];
  link = startLink({
    endpoint: fake.endpoint,
    env: { OUTPOST_TOKEN_FILE: join(dir, "token") },
    kind: "delegate",
    store: new MemoryIdentity(),
    instance: "i1",
    version: "0.1.0",
    facts: () => ({
      capabilities: ["shell.run"],
      lacking: [{ kind: "git.clone", why: "no git" }],
      tags: ["eu"],
      type: "DOCKER",
    }),
    leases,
    lost: (gone) => lost.push(...gone.map(({ task }) => task)),
    heartbeatThread: false,
    waitSeconds: 1,
    log: { ...SILENT, warn: (_, message) => said.push(message) },
    signal: stop.signal,
    worker: {
      task: (task) => leases.take(task),
      cancel: () => {},
      free: () => 4,
      headroom: () => ({ diskMiB: 5, full: "DiskFull" }),
    },
  });
  await until(() => link.session.open);
  leases.take({ task: "t1", fence: 1 });
  await until(() => fake.beats.some((beat) => beat.length === 1));
});
afterEach(async () => {
  stop.abort();
  await link.done;
  await fake.close();
  rmSync(dir, { recursive: true });
  expect(fake.breaches).toEqual([]);
});
const until = async (what: () => unknown, ms = 60_000) => {
  for (const end = Date.now() + ms; !what(); ) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
/** The next `times` openings of a session are answered so. */
function refuse(times: number, status: number, code: string): { left: number } {
  const counter = { left: times };
  fake.meddle = (operation, reply) => {
    if (operation !== "session" || counter.left <= 0) return reply;
    counter.left--;
    return {
      status,
      body: { type: "about:blank", title: code, status, code, detail: code },
      headers: { "content-type": "application/problem+json" },
    };
  };
  fake.expireSessions();
  return counter;
}

test("a delegate tells what it can run, what it lacks, its tags and its headroom", () => {
  expect(fake.sessions[0]).toMatchObject({
    capabilities: ["shell.run"],
    lacking: [{ kind: "git.clone", why: "no git" }],
    tags: ["eu"],
    type: "DOCKER",
  });
});

test.each<[string, number, string]>([
  ["proofs that did not arrive in time", 401, "worker_proof_invalid"],
  ["a service that restarts", 503, "unavailable"],
  ["a defect of the service", 500, "internal"],
])("an identity and its leases outlive %s", async (_name, status, code) => {
  const refused = refuse(3, status, code);
  await until(() => refused.left === 0 || said.length > 0);
  // An answer that will not change by itself is asked for again in a minute; the lease is renewed by then or lost, never given up for it.
  expect([fake.enrolments.length, lost]).toEqual([1, []]);
});

test("a worker that the service does not know any more enrols anew, and gives its leases up at once", async () => {
  refuse(1, 401, "worker_unknown");
  await until(() => fake.enrolments.length === 2 && link.session.open);
  expect([lost, fake.enrolments[0]!.signKey === fake.enrolments[1]!.signKey]).toEqual([["t1"], false]);
});

test("after a revocation nothing runs or enrols; another token is taken without a restart", async () => {
  refuse(Number.POSITIVE_INFINITY, 401, "worker_revoked");
  await until(() => said.some((text) => /token t1 .* was revoked: create a new one/.test(text)));
  expect([lost, fake.enrolments.length, link.session.open]).toEqual([["t1"], 1, undefined]);
  fake.meddle = undefined;
  writeFileSync(join(dir, "token"), fake.token.replace("ot1_t1_", "ot1_t2_"));
  const from = Date.now();
  await until(() => link.session.open);
  expect(Date.now() - from).toBeLessThan(within(5_000));
});

test("a second process with the same identity is told so, and waits", async () => {
  refuse(1, 409, "worker_in_use");
  await until(() => said.some((text) => text.includes("worker_in_use")));
  await until(() => link.session.open);
  expect([fake.enrolments.length, lost]).toEqual([1, []]);
});
