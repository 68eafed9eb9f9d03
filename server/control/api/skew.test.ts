import { delegatesOf } from "../testing/delegates.ts";
import { startService, type TestService } from "../testing/service.ts";
import { TestWorker } from "../testing/worker.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());
const { create, tokenOf, take, end, task } = delegatesOf(() => s);

// What a worker of the version before knows of a task; it refuses one with any other field.
const BEFORE = ["attempt", "fence", "kind", "params", "task", "timeoutSeconds", "worker"];

test("a delegate of the version before takes, runs and ends tasks", async () => {
  await s.ask("PUT", "/v1/delegates/old", { body: { spec: {} } });
  const worker = await new TestWorker(s.url).enrol((await tokenOf("old")).token);
  worker.type = undefined;
  await worker.open();
  const { id } = await create();
  const given = await take(worker);
  expect(Object.keys(given).sort()).toEqual(BEFORE);
  expect((await end(worker, given)).status).toBe(204);
  expect(await task(id)).toMatchObject({ state: "Succeeded" });
});

test("an agent of the version before is asked in its own words", async () => {
  await s.ask("PUT", "/v1/agents/old", { body: { spec: {} } });
  const { token } = (await s.ask("POST", "/v1/agents/old/tokens", { body: {} })).body;
  const worker = await (await new TestWorker(s.url).enrol(token)).open();
  await s.ask("PUT", "/v1/repositories/r", { body: { spec: { agent: "old", url: "https://git.example/a.git" } } });
  const asking = s.ask("GET", "/v1/repositories/r/refs");
  const given = await take(worker);
  expect(Object.keys(given).sort()).toEqual(BEFORE);
  await end(worker, given, { outputs: { branches: [], tags: [] } });
  expect((await asking).status).toBeLessThan(500);
});
