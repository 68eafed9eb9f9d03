import type { Schemas } from "../../openapi/client.ts";
import { until } from "../servers/run.ts";
import { type World, world } from "../world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
});

test("a script runs on the delegate, and its output and its end come back", async () => {
  const ran = await w.cli(
    "task",
    "run",
    "shell.run",
    "--script",
    'echo "from $(uname -s)"; echo "to stderr" >&2',
    "--follow",
  );
  expect([ran.exit, ran.out, ran.err]).toEqual([0, "from Linux\n", expect.stringContaining("to stderr")]);
});

test("a script that fails exits 1 here too", async () => {
  const ran = await w.cli("task", "run", "shell.run", "--script", "exit 7", "--follow");
  expect([ran.exit, ran.err]).toEqual([1, expect.stringMatching(/ended as Failed.*7/)]);
});

test("a task that no delegate may take says why", async () => {
  const queued = await w.cli("task", "run", "shell.run", "--script", "true", "--selectors", "nobody-has-this");
  const id = queued.out.trim();
  const { out } = await w.cli("task", "get", id, "-o", "json");
  expect(JSON.parse(out)).toMatchObject({
    state: "Queued",
    explanation: expect.arrayContaining([expect.objectContaining({ reason: expect.any(String) })]),
  });
  expect((await w.cli("task", "cancel", id)).exit).toBe(0);
});

/** Runs a task through the API to its end. */
async function run(kind: Schemas["TaskKind"], params: Record<string, unknown>): Promise<Schemas["Task"]> {
  const { data, error } = await w.api.POST("/v1/tasks", { body: { kind, params, timeoutSeconds: 120 } });
  if (!data) throw new Error(JSON.stringify(error));
  return until(
    `${kind} to end`,
    async () => {
      const { data: task } = await w.api.GET("/v1/tasks/{task}", { params: { path: { task: data.id } } });
      return task && task.state !== "Queued" && task.state !== "Running" && task;
    },
    130_000,
  );
}

test("a delegate finds the applications that a change concerns and syncs them with its task's own token", async () => {
  const found = await run("gitops.fetchLinkedApps", { filter: { regex: "guest.*" } });
  expect(found).toMatchObject({
    state: "Succeeded",
    outputs: { ids: ["guestbook"], applications: [{ sync: "Synced", health: "Healthy" }] },
  });
  const synced = await run("gitops.syncApps", { filter: { ids: ["guestbook"] } });
  expect(synced).toMatchObject({
    state: "Succeeded",
    outputs: { applications: [{ id: "guestbook", state: "Synced" }] },
  });
  const none = await run("gitops.syncApps", { filter: { ids: ["nobody"] } });
  expect(none).toMatchObject({ state: "Failed", reason: "ApplicationNotFound" });
  const { application } = w;
  expect((await application("guestbook")).status.operation).toMatchObject({
    initiatedBy: expect.stringContaining(`task:${synced.id}`),
  });
});
