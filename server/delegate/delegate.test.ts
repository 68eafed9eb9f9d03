import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { type GitServer, startGit } from "../../test/servers/git.ts";
import { freePort } from "../../test/servers/run.ts";
import { within } from "../../test/within.ts";
import { startService, type TestService } from "../control/testing/service.ts";
import { runDelegate } from "./main.ts";
import { findMarked } from "./process/tree.ts";
import {
  createTask,
  getTask,
  type LocalDelegate,
  logsOf,
  makeDelegate,
  startDelegate,
  waitTask,
} from "./testing/delegate.ts";
import { temporaryFolder, until } from "./testing/temporary.ts";

/** The delegate against the real service; what needs several programs or kills is in test/faults. */
const dir = temporaryFolder();
// On two busy cores a task through service, store and delegate takes a second.
jest.setTimeout(60_000);
let service: TestService;
let git: GitServer;
const delegates: LocalDelegate[] = [];
let token: string;

beforeAll(async () => {
  [service, git] = await Promise.all([startService(), startGit()]);
  ({ token } = await makeDelegate(service, "one", { tags: ["linux", "eu"], capacity: 4 }));
  delegates.push(
    await startDelegate(service, {
      id: "one",
      token,
      workDir: join(dir, "one"),
      env: {
        HTTP_PROXY: "",
        AWS_SECRET: "mine",
        OUTPOST_TASK_MEMORY_MIB: "300",
        OUTPOST_TASK_DISK_MIB: "20",
        OUTPOST_TASK_OUTPUT_MIB: "1",
      },
    }),
  );
}, 60_000);
afterAll(async () => {
  await Promise.all(delegates.map((delegate) => delegate.stop()));
  await Promise.all([service?.stop(), git?.stop()]);
});

const shell = (script: string, more: Record<string, unknown> = {}, env?: Record<string, string>) =>
  createTask(service, { params: { script, ...(env ? { env } : {}) }, ...more });

test("a script runs by selector; its lines come in order, its outputs and exit code with the result", async () => {
  const id = await shell(
    'for i in $(seq 1 2500); do echo "line $i"; done; echo "greeting=hello $NAME" >> "$OUTPOST_OUTPUT"',
    { selectors: ["linux", "one"] },
    { NAME: "world" },
  );
  expect(await waitTask(service, id)).toMatchObject({
    state: "Succeeded",
    outputs: { exitCode: 0, greeting: "hello world" },
  });
  const { lines, complete } = await logsOf(service, id);
  expect(complete).toBe(true);
  expect(lines.map((line) => line.text)).toEqual(Array.from({ length: 2_500 }, (_, i) => `line ${i + 1}`));
});

test("a script that fails says its exit code, and keeps its outputs", async () => {
  const id = await shell('echo a=1 > "$OUTPOST_OUTPUT"; echo why >&2; exit 7');
  expect(await waitTask(service, id)).toMatchObject({
    state: "Failed",
    reason: "ScriptFailed",
    message: "the script exited with 7",
    outputs: { exitCode: 7, a: "1" },
  });
  expect((await logsOf(service, id)).lines).toMatchObject([{ stream: "stderr", text: "why" }]);
});

test("nothing of the delegate's token, identity or environment reaches a task", async () => {
  const id = await shell("env; pwd", { selectors: ["one"] }, { OUTPOST_FENCE: "99", MINE: "yes" });
  await waitTask(service, id);
  const text = (await logsOf(service, id)).lines.map((line) => line.text).join("\n");
  expect(text).not.toMatch(/ot1_|AWS_SECRET|DELEGATE_|OUTPOST_ENDPOINT|OUTPOST_TOKEN/);
  expect(text).toMatch(/^OUTPOST_FENCE=1$/m);
  expect(text).toMatch(/^OUTPOST_ATTEMPT=1$/m);
  expect(text).toMatch(/^MINE=yes$/m);
  expect(text).toMatch(new RegExp(`^HOME=${dir}/one/tasks/${id}\\.1/home$`, "m"));
});

test("git.clone brings a branch, a tag, a commit, or a part of the history", async () => {
  const repository = await git.createRepository("app", { files: { "a.txt": "one" } });
  const first = await repository.tip("refs/heads/main");
  const second = await git.commit("app", { "a.txt": "two" }, "second");
  await git.tag("app", "v1", first);
  const url = git.cloneUrl("app");
  const clone = async (params: Record<string, unknown>) =>
    waitTask(service, await createTask(service, { kind: "git.clone", params: { url, ...params } }));
  const wanted: [Record<string, unknown>, string | undefined, string][] = [
    [{}, second, "two"],
    [{ revision: "main", depth: 1 }, second, "two"],
    [{ revision: "v1" }, first, "one"],
    [{ revision: "v1", depth: 1 }, first, "one"],
    [{ revision: first!.slice(0, 10) }, first, "one"],
    [{ revision: first, depth: 1 }, first, "one"],
  ];
  for (const [params, commit, content] of wanted) {
    const task = await clone(params);
    expect(task).toMatchObject({ state: "Succeeded", outputs: { commit } });
    expect(readFileSync(join(task.outputs!.path as string, "a.txt"), "utf8")).toBe(content);
  }
  expect(await clone({ revision: "nope" })).toMatchObject({
    state: "Failed",
    reason: "RevisionNotFound",
    message: expect.stringMatching(/"nope"/),
  });
  expect(await clone({ revision: "nope", depth: 1 })).toMatchObject({ state: "Failed", reason: "FetchFailed" });
  expect(await clone({ url: `${url}x` })).toMatchObject({
    state: "Failed",
    reason: "FetchFailed",
    message: expect.stringMatching(/could not fetch/),
  });
  git.fault("down");
  expect(await clone({})).toMatchObject({ state: "Failed", reason: "FetchFailed" });
  git.fault("none");
});

test("cancel ends a nested tree that ignores being asked, within 5 s", async () => {
  const id = await shell(
    'trap "" TERM; (trap "" TERM; setsid sh -c \'trap "" TERM; echo $$; while :; do sleep 1; done\') & echo $$; while :; do sleep 1; done',
  );
  const pids = await until("two processes", async () => {
    const { lines } = await logsOf(service, id);
    return lines.length === 2 && lines.map((line) => Number(line.text));
  });
  const from = Date.now();
  await service.ask("POST", `/v1/tasks/${id}/cancel`);
  expect(await waitTask(service, id)).toMatchObject({ state: "Cancelled", reason: "Cancelled" });
  expect(Date.now() - from).toBeLessThan(within(5_000));
  expect(pids).toHaveLength(2);
  expect(findMarked(`OUTPOST_WORKSPACE=${dir}/one/tasks/${id}.`)).toEqual([]);
});

test("a task that is late ends as timed out, with its processes", async () => {
  const id = await shell("sleep 300 & echo $!; wait", { timeoutSeconds: 1 });
  expect(await waitTask(service, id)).toMatchObject({
    state: "TimedOut",
    reason: "DeadlineExceeded",
    message: expect.stringMatching(/within 1 s/),
  });
  expect(findMarked(`OUTPOST_WORKSPACE=${dir}/one/tasks/${id}.`)).toEqual([]);
});

test("a task that fills the disk is ended; one that talks too much goes on unheard", async () => {
  const filling = await shell("head -c 60000000 /dev/zero > big; sleep 60");
  const talking = await shell("yes 0123456789abcdef | head -n 200000; echo said=all > $OUTPOST_OUTPUT");
  expect(await waitTask(service, filling)).toMatchObject({
    state: "Failed",
    reason: "DiskExceeded",
    message: expect.stringMatching(/20 MiB/),
  });
  expect(await waitTask(service, talking)).toMatchObject({ state: "Succeeded", outputs: { said: "all" } });
  const { lines, complete } = await logsOf(service, talking);
  expect([complete, lines.length, lines.at(-1)!.text]).toEqual([true, 61_682, "[138320 lines were not kept]"]);
});

test("processes that together take too much memory are ended, though each of them is within the bound", async () => {
  const id = await shell(
    "for i in 1 2 3; do (head -c 150000000 /dev/zero; sleep 60) | tail -c 150000000 > /dev/null & done; wait",
  );
  expect(await waitTask(service, id)).toMatchObject({
    state: "Failed",
    reason: "MemoryExceeded",
    message: expect.stringMatching(/300 (MiB that )?are allowed/),
  });
});

test("probes and metrics tell how it is", async () => {
  const port = await freePort();
  const { token: three } = await makeDelegate(service, "three");
  const third = await startDelegate(service, {
    id: "three",
    token: three,
    workDir: join(dir, "three"),
    env: { OUTPOST_LISTEN: `127.0.0.1:${port}` },
  });
  delegates.push(third);
  const get = async (path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`).then(async (r) => ({ status: r.status, text: await r.text() }));
  await until("it is ready", async () => (await get("/readyz")).status === 200);
  await waitTask(service, await shell("true", { selectors: ["three"] }));
  const { text } = await until("the count", async () => {
    const metrics = await get("/metrics");
    return metrics.text.includes('outpost_delegate_tasks_total{kind="shell.run",outcome="succeeded"} 1') && metrics;
  });
  for (const line of [
    /_connected 1$/m,
    /_tasks_running 0$/m,
    /_capacity 10$/m,
    /_heartbeat_age_seconds \d/m,
    /_task_seconds_count\{kind="shell.run",outcome="succeeded"\} 1$/m,
    /_headroom\{resource="diskMiB"\} \d/m,
    /_full\{reason="DiskFull"\} 0$/m,
    /_protection\{level="[a-z+]+",name="identity"\} [01]$/m,
  ])
    expect(text).toMatch(line);
  expect((await get("/healthz")).status).toBe(200);
  await third.stop();
});

test("a revoked token is said in plain words, and not tried in a loop", async () => {
  const { token: revoked, tokenId } = await makeDelegate(service, "four");
  expect((await service.ask("DELETE", `/v1/delegates/four/tokens/${tokenId}`)).status).toBe(204);
  const said: string[] = [];
  const denied = async () =>
    (await service.db.query("select 1 from audit where outcome = 'denied' and actor = $1", [`token:${tokenId}`]))
      .length;
  const stop = new AbortController();
  const write = process.stderr.write.bind(process.stderr);
  process.stderr.write = ((text: string) => said.push(String(text)) > 0) as never;
  try {
    const env = {
      OUTPOST_ENDPOINT: service.url,
      OUTPOST_TOKEN: revoked,
      OUTPOST_WORK_DIR: join(dir, "four"),
      OUTPOST_LISTEN: "127.0.0.1:0",
    };
    const running = runDelegate({ PATH: process.env.PATH, ...env }, stop.signal);
    await until("a refusal", async () => (await denied()) > 0 && said.some((line) => line.includes("token_invalid")));
    stop.abort();
    expect(await running).toBe(0);
  } finally {
    process.stderr.write = write as never;
  }
  expect(said.filter((line) => line.includes("token_invalid"))).toEqual([
    expect.stringMatching(/enrolment token is .*revoked.*Create a new one/),
  ]);
  expect(said.join("")).not.toContain(revoked);
  expect(await denied()).toBeLessThanOrEqual(2);
});

test("parameters and output files that try something are named or passed over", async () => {
  const link = await shell('rm "$OUTPOST_OUTPUT"; ln -s /etc/passwd "$OUTPOST_OUTPUT"');
  const pipe = await shell('rm "$OUTPOST_OUTPUT"; mkfifo "$OUTPOST_OUTPUT"');
  expect((await waitTask(service, link)).outputs).toEqual({ exitCode: 0 });
  expect((await waitTask(service, pipe)).outputs).toEqual({ exitCode: 0 });
  expect(await waitTask(service, await shell("true", {}, { "A=B": "c" }))).toMatchObject({
    state: "Failed",
    reason: "ParamsInvalid",
  });
});

test("one long task does not hold up the others", async () => {
  const long = await shell("sleep 300");
  const from = Date.now();
  const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => shell(`echo ${i}`)));
  for (const id of ids) expect((await waitTask(service, id)).state).toBe("Succeeded");
  expect(Date.now() - from).toBeLessThan(within(15_000));
  expect((await getTask(service, long)).state).toBe("Running");
  await service.ask("POST", `/v1/tasks/${long}/cancel`);
  await waitTask(service, long, "Cancelled");
});

test("a second delegate in the same folder is refused and told so", async () => {
  const said: string[] = [];
  const write = process.stderr.write.bind(process.stderr);
  process.stderr.write = ((text: string) => said.push(text) > 0) as never;
  try {
    const code = await runDelegate(
      { OUTPOST_ENDPOINT: service.url, OUTPOST_WORK_DIR: join(dir, "one"), OUTPOST_LISTEN: "127.0.0.1:0" },
      new AbortController().signal,
    );
    expect([code, said.join("")]).toEqual([1, expect.stringMatching(/another delegate works in .*OUTPOST_WORK_DIR/)]);
  } finally {
    process.stderr.write = write as never;
  }
});

test("a delegate that leaves lets its tasks end, takes no others, and comes back without its token", async () => {
  const { token: two } = await makeDelegate(service, "two", { capacity: 4 });
  const workDir = join(dir, "two");
  // Without a sandbox, so that the task sees a file of this test.
  const first = await startDelegate(service, { id: "two", token: two, workDir, env: { OUTPOST_SANDBOX: "off" } });
  delegates.push(first);
  const file = join(dir, "go");
  const id = await shell(`while ! [ -e ${file} ]; do sleep 0.05; done; echo ended`, { selectors: ["two"] });
  await waitTask(service, id, "Running");
  const left = first.stop();
  await until(
    "it drains",
    async () => (await service.db.query("select 1 from workers where id = 'two' and draining")).length === 1,
  );
  const late = await shell("true", { selectors: ["two"] });
  const why = (await getTask(service, late)).explanation?.find(({ worker }) => worker.startsWith("two/"));
  expect(why?.reason).toMatch(/^Draining/);
  writeFileSync(file, "");
  expect([await left, (await getTask(service, id)).state, (await getTask(service, late)).state]).toEqual([
    0,
    "Succeeded",
    "Queued",
  ]);
  const second = await startDelegate(service, { id: "two", token: "", workDir });
  delegates.push(second);
  expect(await waitTask(service, late)).toMatchObject({ state: "Succeeded" });
  expect(await second.stop()).toBe(0);
  expect(existsSync(join(workDir, "identity.json"))).toBe(true);
});
