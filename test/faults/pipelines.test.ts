import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Schemas } from "../../openapi/client.ts";
import { until } from "../servers/run.ts";
import { type DelegateWorld, delegateWorld } from "./delegate-world.ts";
import { ok } from "./link-world.ts";

// Pipelines with the real service, a real delegate and the real command line, each a process of its own.
const outpost = fileURLToPath(new URL("../../dist/outpost.mjs", import.meta.url));
type Run = Schemas["Run"];
let w: DelegateWorld;
let key: string;

beforeAll(async () => {
  w = await delegateWorld();
  await w.start("pool", { spec: { capacity: 8 } });
  key = ok(await w.service.api.POST("/v1/apikeys", { body: { id: "cli", role: "admin" } })).key!;
}, 90_000);
afterAll(() => w?.stop(), 30_000);

/** What a person types; what comes back. */
function types(...argv: string[]): Promise<{ exit: number; out: string; err: string }> {
  const env = {
    PATH: process.env.PATH,
    OUTPOST_ENDPOINT: w.service.url,
    OUTPOST_API_KEY: key,
    OUTPOST_CONFIG: "/nonexistent/config.json",
  };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [outpost, ...argv], { env, timeout: 240_000 }, (error, out, err) =>
      resolve({ exit: error ? Number(error.code ?? 99) : 0, out, err }),
    );
    child.stdin?.end();
  });
}
const shell = (id: string, script: string, more: object = {}, env: Record<string, string> = {}) => ({
  id,
  task: { kind: "shell.run" as const, selectors: ["pool"], params: { script, env } },
  ...more,
});
async function define(id: string, steps: object[], more: object = {}): Promise<void> {
  const spec = { steps, ...more } as Schemas["PipelineSpec"];
  ok(await w.service.api.PUT("/v1/pipelines/{id}", { params: { path: { id } }, body: { spec } }));
}
const start = async (id: string, inputs: Record<string, string> = {}): Promise<Run> =>
  ok(await w.service.api.POST("/v1/pipelines/{id}/run", { params: { path: { id } }, body: { inputs } }));
/** While the service is down there is no answer, and nothing to say about the run. */
const get = async (run: string): Promise<Run | undefined> =>
  (await w.service.api.GET("/v1/runs/{run}", { params: { path: { run } } }).catch(() => undefined))?.data;
const told = (run: Run) => run.steps.map((step) => `${step.id}:${step.state}`).join(" ");
async function reached(id: string, want: string, ms = 30_000): Promise<Run> {
  return until(
    `${id} to be ${want}`,
    async () => {
      const run = await get(id);
      return run && (run.state === want || told(run) === want) && run;
    },
    ms,
  );
}

test("steps in sequence and side by side pass values on, wait for an approval from the command line, and are followed there", async () => {
  const ledger = w.ledger();
  await define(
    "release",
    [
      shell("build", 'echo "built $TAG"; echo "image=app:$TAG" >> "$OUTPOST_OUTPUT"', {}, { TAG: "${inputs.tag}" }),
      shell("unit", `until [ -e ${ledger.path}.lint ]; do sleep 0.05; done; touch ${ledger.path}.unit`, {
        needs: ["build"],
      }),
      shell("lint", `touch ${ledger.path}.lint; until [ -e ${ledger.path}.unit ]; do sleep 0.05; done`, {
        needs: ["build"],
      }),
      shell("notes", "exit 1", { needs: ["build"], condition: "${inputs.tag} == 'v0'" }),
      { id: "ok", needs: ["unit", "lint", "notes"], approval: { message: "Ship ${steps.build.outputs.image}?" } },
      shell(
        "ship",
        `echo "$IMAGE from $RUN" >> ${ledger.path}`,
        {},
        { IMAGE: "${steps.build.outputs.image}", RUN: "${run.id}" },
      ),
    ],
    { inputs: { tag: { pattern: "v[0-9]+" } } },
  );
  const followed = types("pipeline", "run", "release", "--input", "tag=v2", "--logs", "-o", "json");
  const runs = () => w.service.api.GET("/v1/runs", { params: { query: { pipeline: "release" } } });
  const { id } = await until("the run", async () => ok(await runs()).items[0], 20_000);
  // unit and lint wait for each other: each ends only while the other runs.
  const waiting = await reached(id, "Waiting");
  expect(told(waiting)).toBe("build:Succeeded unit:Succeeded lint:Succeeded notes:Skipped ok:Waiting ship:Pending");
  expect(waiting.steps[4]!.message).toBe("Ship app:v2?");
  expect(await types("run", "approve", id, "ok", "--comment", "looks good")).toMatchObject({
    exit: 0,
    err: expect.stringContaining("ok approved"),
  });
  const { exit, out, err } = await followed;
  expect([exit, err]).toEqual([0, expect.stringMatching(/\? ok +Waiting .*Ship app:v2\?/)]);
  expect(out).toContain("build | built v2\n");
  expect(out).toContain('"state": "Succeeded"');
  expect(ledger.lines()).toEqual([`app:v2 from ${id}`]);
}, 90_000);

test("a failure leaves out what follows and runs what tidies up; the command line exits 1 and says why", async () => {
  const ledger = w.ledger();
  await define("broken", [
    shell("a", "exit 3"),
    shell("b", `echo b >> ${ledger.path}`),
    shell(
      "tidy",
      `echo "tidy after $A" >> ${ledger.path}`,
      { needs: ["b"], when: "failure" },
      { A: "${steps.a.state}" },
    ),
  ]);
  const { exit, err } = await types("pipeline", "run", "broken", "--wait");
  expect(exit).toBe(1);
  expect(err).toMatch(/ended as Failed: a: /);
  expect(err).toMatch(/- b\s+Skipped/);
  expect(ledger.lines()).toEqual(["tidy after Failed"]);
}, 60_000);

test("cancelling a run ends the processes of its steps", async () => {
  const ledger = w.ledger();
  await define("long", [
    shell("sleep", `echo begun >> ${ledger.path}; sleep 300; echo done >> ${ledger.path}`),
    shell("after", "true", { when: "always" }),
  ]);
  const run = await start("long");
  await until("the step to run", () => ledger.lines().length === 1, 20_000);
  expect((await types("run", "cancel", run.id)).exit).toBe(0);
  const ended = await reached(run.id, "Cancelled");
  expect(told(ended)).toBe("sleep:Cancelled after:Cancelled");
  expect((await w.task(ended.steps[0]!.task!)).state).toBe("Cancelled");
  expect(ledger.lines()).toEqual(["begun"]);
}, 60_000);

test("a service that is killed in the middle goes on with its runs: each step runs once, in order, nothing is lost", async () => {
  const ledger = w.ledger();
  const ids = ["s0", "s1", "s2", "s3", "s4", "s5"];
  await define(
    "chain",
    ids.map((id, i) =>
      shell(
        id,
        `echo ${id} >> ${ledger.path}; sleep 0.4; echo "last=${id}" >> "$OUTPOST_OUTPUT"`,
        {},
        i ? { BEFORE: `\${steps.s${i - 1}.outputs.last}` } : {},
      ),
    ),
  );
  const run = await start("chain");
  for (const seen of [1, 3, 5]) {
    await until(`step ${seen}`, () => ledger.lines().length >= seen, 60_000);
    await w.service.kill();
    await w.service.start();
  }
  const ended = await reached(run.id, "Succeeded", 90_000);
  expect(ledger.lines()).toEqual(ids);
  expect(ended.steps.map((step) => step.outputs?.last)).toEqual(ids);
  const tasks = ok(await w.service.api.GET("/v1/tasks", { params: { query: { limit: 500 } } })).items.filter(
    (task) => task.run === run.id,
  );
  expect(tasks.map((task) => task.step).sort()).toEqual(ids);
}, 240_000);
