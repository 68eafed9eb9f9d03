import { agentsOf } from "../../testing/agents.ts";
import { delegatesOf } from "../../testing/delegates.ts";
import { startService, type TestService } from "../../testing/service.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());

const HUGE = [2 ** 53, 1e20, 1e300];

test("a number of an agent's round that nothing can hold is refused, and is not a defect of the service", async () => {
  const agent = await agentsOf(() => s).agent("one");
  const at = { collection: "appprojects", namespace: "x" };
  for (const round of HUGE)
    for (const said of [
      { discovered: [{ ...at, name: "p", uid: "u", round }] },
      { listed: [{ ...at, round, count: 1 }] },
    ])
      expect((await agent.call("exchange", { wait: 0, free: 0, ...said })).status).toBe(400);
});

test("nor does a delegate end a task with one, and it can still end it well", async () => {
  const delegates = delegatesOf(() => s);
  const worker = await delegates.replica("one");
  await delegates.create();
  const task = await delegates.take(worker);
  for (const outcome of ["succeeded", "failed"])
    for (const lastLog of HUGE) expect((await delegates.end(worker, task, { outcome, lastLog })).status).toBe(400);
  expect((await delegates.end(worker, task, { lastLog: 0 })).status).toBe(204);
});

test("a delegate that announces lines which it never sent keeps no reader of the log waiting", async () => {
  const delegates = delegatesOf(() => s);
  const worker = await delegates.replica("one");
  const { id } = await delegates.create();
  const task = await delegates.take(worker);
  await worker.call(`tasks/${id}/logs`, { fence: task.fence, first: 1, lines: [{ text: "one" }] });
  expect((await delegates.end(worker, task, { lastLog: 2 ** 53 - 1 })).status).toBe(204);
  expect((await s.ask("GET", `/v1/tasks/${id}/logs`)).body).toMatchObject({ items: [{ text: "one" }], complete: true });
  expect(
    (await worker.call(`tasks/${id}/logs`, { fence: task.fence, first: 2, lines: [{ text: "two" }] })).status,
  ).toBe(409);
});
