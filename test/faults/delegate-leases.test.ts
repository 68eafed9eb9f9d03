import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Schemas } from "../../openapi/client.ts";
import { type Daemon, until } from "../servers/run.ts";
import { ok, program, type Service, startService } from "./link-world.ts";

// Guarantees 10, 11 and 12 in small: what a killed or paused delegate may leave behind. PROVE makes it long.
const TASKS = process.env.PROVE ? 40 : 4;
let service: Service;
let dir = "";
let count = 0;
const delegates: Record<string, Daemon> = {};

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "outpost-leases-"));
  service = await startService();
  for (const id of ["first", "second"])
    ok(
      await service.api.PUT("/v1/delegates/{id}", {
        params: { path: { id } },
        body: { spec: { tags: ["pool"], capacity: 2 * TASKS } },
      }),
    );
}, 90_000);
afterEach(async () => {
  for (const [id, delegate] of Object.entries(delegates)) {
    signal(delegate, "SIGCONT");
    await delegate.stop("SIGKILL");
    delete delegates[id];
  }
}, 30_000);
afterAll(async () => {
  await service?.stop();
  rmSync(dir, { recursive: true, force: true });
}, 30_000);

async function start(id: string): Promise<void> {
  const { token } = ok(await service.api.POST("/v1/delegates/{id}/tokens", { params: { path: { id } }, body: {} }));
  delegates[id] = program(["delegate"], {
    MANAGER_HOST_AND_PORT: service.url,
    DELEGATE_TOKEN: token,
    OUTPOST_WORK_DIR: join(dir, `${id}-${count++}`),
    OUTPOST_LISTEN: "127.0.0.1:0",
    // Its tasks write into a ledger outside of their workspaces.
    OUTPOST_SANDBOX: "off",
  });
  await until(`delegate ${id}`, () => delegates[id]!.said().includes("connected to"), 20_000);
}

const task = async (id: string) => ok(await service.api.GET("/v1/tasks/{task}", { params: { path: { task: id } } }));
/** Queues tasks whose effect is a line in the ledger: who did it, under which fence. The first to do one waits for the file `go`. */
async function queue(ledger: string, idempotent: boolean, go: string): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < TASKS; n++) {
    const held = `until [ $OUTPOST_FENCE != 1 ] || [ -e ${go} ]; do sleep 0.1; done`;
    const script = `echo "${idempotent}-${n} begun $OUTPOST_FENCE" >> ${ledger}; ${held}; echo "${idempotent}-${n} done $OUTPOST_FENCE" >> ${ledger}`;
    const body = {
      kind: "shell.run" as const,
      params: { script },
      selectors: ["pool"],
      timeoutSeconds: 600,
      maxAttempts: 3,
      idempotent,
    };
    ids.push(ok(await service.api.POST("/v1/tasks", { params: {}, body })).id);
  }
  return ids;
}
function newLedger(): string {
  const path = join(dir, `ledger-${count++}`);
  writeFileSync(path, "");
  return path;
}
const lines = (ledger: string) => readFileSync(ledger, "utf8").split("\n").filter(Boolean);
const states = async (ids: string[]) => (await Promise.all(ids.map(task))).map(({ state }) => state);
const all = (state: Schemas["Task"]["state"]) => Array.from({ length: TASKS }, () => state);

test("of a delegate killed in the middle, idempotent tasks are done elsewhere and the others end as Unknown, run once", async () => {
  await start("first");
  const ledger = newLedger();
  const again = await queue(ledger, true, "/never");
  const once = await queue(ledger, false, "/never");
  await until("all of them to have begun", () => lines(ledger).length === 2 * TASKS, 20_000);
  await start("second");
  await delegates.first!.stop("SIGKILL");
  await until(
    "the end of all",
    async () => (await states([...again, ...once])).every((state) => state === "Succeeded" || state === "Unknown"),
    60_000,
  );
  expect(await states(again)).toEqual(all("Succeeded"));
  expect(await states(once)).toEqual(all("Unknown"));
  const ran = lines(ledger);
  for (let n = 0; n < TASKS; n++) {
    // The killed delegate took its processes with it: what it had begun did not end.
    expect(ran.filter((line) => line.startsWith(`false-${n} `))).toEqual([`false-${n} begun 1`]);
    expect(ran.filter((line) => line.startsWith(`true-${n} `))).toEqual([
      `true-${n} begun 1`,
      `true-${n} begun 2`,
      `true-${n} done 2`,
    ]);
  }
}, 120_000);

test("a delegate that was paused for longer than its leases reports nothing late, and ends what it still runs", async () => {
  await start("first");
  const ledger = newLedger();
  // One that ends while its delegate is paused, one that would go on after it.
  const go = join(dir, "go");
  const short = await queue(ledger, true, go);
  const long = await queue(ledger, false, "/never");
  await until("all of them to have begun", () => lines(ledger).length === 2 * TASKS, 20_000);
  signal(delegates.first!, "SIGSTOP");
  writeFileSync(go, "");
  await start("second");
  await until(
    "the others to have done them",
    async () => (await states(short)).every((state) => state === "Succeeded"),
    60_000,
  );
  await until(
    "the leases to be given up",
    async () => (await states(long)).every((state) => state === "Unknown"),
    60_000,
  );
  const before = await Promise.all([...short, ...long].map(task));
  expect(processes()).toBeGreaterThan(0);
  signal(delegates.first!, "SIGCONT");
  await until("the paused one to notice", () => /stale_fence|lease|lost/.test(delegates.first!.said()), 20_000);
  await until("its processes to be gone", () => processes() === 0, 15_000);
  expect(await Promise.all([...short, ...long].map(task))).toEqual(before);
  expect(before.slice(0, TASKS).map(({ attempts }) => attempts.length)).toEqual(Array.from({ length: TASKS }, () => 2));
  expect(lines(ledger).filter((line) => line.startsWith("false-") && line.includes("done"))).toEqual([]);
}, 150_000);

test("a lease is renewed for as long as its task runs", async () => {
  await start("first");
  const body = {
    kind: "shell.run" as const,
    params: { script: "sleep 20; echo ended" },
    selectors: ["pool"],
    timeoutSeconds: 60,
    maxAttempts: 1,
    idempotent: false,
  };
  const { id } = ok(await service.api.POST("/v1/tasks", { params: {}, body }));
  await until("its end", async () => (await task(id)).state === "Succeeded", 45_000);
  expect((await task(id)).attempts).toHaveLength(1);
}, 80_000);

/** Without a sandbox the delegate runs below a keeper, which runs below the process that was started. One that has ended needs no signal. */
function signal({ child }: Daemon, name: "SIGSTOP" | "SIGCONT"): void {
  const read = (pid: number | undefined, file: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "latin1");
    } catch {
      return "";
    }
  };
  const childOf = (pid: number | undefined) => Number(read(pid, `task/${pid}/children`).split(" ")[0]) || undefined;
  const kept = childOf(childOf(child.pid));
  const pid = read(kept, "cmdline").includes("outpost.mjs") ? kept : child.pid;
  if (pid && read(pid, "stat")) process.kill(pid, name);
}

/** Processes of tasks of the delegates that this file started. */
function processes(): number {
  return readdirSync("/proc").filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        `\0${readFileSync(`/proc/${pid}/environ`, "latin1")}`.includes("\0OUTPOST_TASK=") &&
        readFileSync(`/proc/${pid}/environ`, "latin1").includes(`=${dir}/`)
      );
    } catch {
      return false;
    }
  }).length;
}
