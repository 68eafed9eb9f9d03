import { within } from "../../../test/within.ts";
import { delegatesOf } from "../testing/delegates.ts";
import { eventually, startService, type TestService } from "../testing/service.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService({ env: { OUTPOST_QUEUE_MAX: "20", OUTPOST_QUEUE_MAX_ACCOUNT: "30" } });
  await s.ask("PUT", "/v1/organizations/o1", { body: { spec: {} } });
  for (const id of ["p1", "p2"]) await s.ask("PUT", `/v1/projects/${id}?org=o1`, { body: { spec: {} } });
}, 60_000);
afterAll(() => s?.stop());
const { replica, create, task, take, end, tokenOf } = delegatesOf(() => s);

test("a task shows everything that it was asked for, and who asked", async () => {
  const asked = {
    name: "first",
    selectors: ["nobody"],
    timeoutSeconds: 5,
    maxAttempts: 2,
    idempotent: true,
    queueTimeoutSeconds: 60,
    retryOn: ["Failed"],
    retryDelaySeconds: 1,
  };
  const made = await create(asked);
  expect(made).toMatchObject({ ...asked, state: "Queued", requestedBy: "key:admin", attempts: [] });
  expect(await task(made.id)).toMatchObject(asked);
  await s.ask("POST", `/v1/tasks/${made.id}/cancel`);
});

test.each<[string, object, string]>([
  ["a kind that there is not", { kind: "shell.runs", params: {} }, "/kind"],
  ["parameters that do not fit", { kind: "shell.run", params: {} }, "/params/script"],
  ["a reference in a script", { kind: "shell.run", params: { script: "echo ${secret:env/A}" } }, "/params/script"],
])("%s is refused at once", async (_, body, pointer) => {
  const answer = await s.ask("POST", "/v1/tasks", { body });
  expect([Math.floor(answer.status / 100), answer.body.pointer]).toEqual([4, pointer]);
});

test("a failed task is tried again after its delay, by another worker if there is one; each attempt has its worker and reason", async () => {
  const [a, b] = [await replica("a", { spec: { tags: ["retry"] } }), await replica("b", { spec: { tags: ["retry"] } })];
  const { id } = await create({ selectors: ["retry"], retryOn: ["Failed"], retryDelaySeconds: 1, maxAttempts: 2 });
  const first = await take(a);
  await end(a, first, { outcome: "failed", reason: "ExitCode" });
  const waiting = await task(id);
  expect(waiting).toMatchObject({ state: "Queued", attempts: [{ number: 1, reason: "ExitCode" }] });
  expect(Date.parse(waiting.notBefore!)).toBeGreaterThan(Date.now() - 1_000);
  // The one that failed it asks as well, and does not get it.
  const [onA, second] = await Promise.all([a.exchange({ wait: 4, free: 1 }), take(b)]);
  expect([onA.tasks, second.attempt]).toEqual([[], 2]);
  await end(b, second, { outcome: "failed", reason: "ExitCode" });
  expect((await task(id)).state).toBe("Failed");
  expect((await task(id)).attempts.map((t) => t.worker.split("/")[0])).toEqual(["a", "b"]);

  const again = await s.ask("POST", `/v1/tasks/${id}/retry`);
  expect([again.status, again.body]).toMatchObject([
    201,
    { state: "Queued", retryOf: id, selectors: ["retry"], maxAttempts: 2, attempts: [] },
  ]);
  expect((await s.ask("POST", `/v1/tasks/${again.body.id}/retry`)).body.code).toBe("conflict");
  await s.ask("POST", `/v1/tasks/${again.body.id}/cancel`);
});

test("lists are filtered by state and kind", async () => {
  const ids = async (query: string) =>
    (await s.ask("GET", `/v1/tasks?${query}`)).body.items.map((t: { state: string }) => t.state);
  expect(new Set(await ids("state=Cancelled"))).toEqual(new Set(["Cancelled"]));
  expect(await ids("state=Cancelled&kind=git.clone")).toEqual([]);
});

test("a full queue refuses by name, says when to come back, and takes tasks again when there is room", async () => {
  const made = [];
  for (let i = 0; i < 20; i++) made.push(await create({ selectors: ["nobody"] }, "?org=o1&project=p1"));
  const full = await s.ask("POST", "/v1/tasks?org=o1&project=p1", {
    body: { kind: "shell.run", params: { script: "true" } },
  });
  expect([full.status, full.body.code, full.headers.get("retry-after")]).toEqual([429, "queue_full", "10"]);
  // The account's bound is reached by other scopes.
  for (let i = 0; i < 10; i++) made.push(await create({ selectors: ["nobody"] }, "?org=o1&project=p2"));
  const account = await s.ask("POST", "/v1/tasks?org=o1&project=p2", {
    body: { kind: "shell.run", params: { script: "true" } },
  });
  expect(account.body.detail).toMatch(/^30 tasks wait in the account/);
  for (const [i, { id }] of made.entries())
    await s.ask("POST", `/v1/tasks/${id}/cancel?org=o1&project=${i < 20 ? "p1" : "p2"}`);
  expect((await create({}, "?org=o1&project=p1")).state).toBe("Queued");
});

test("within 10 s a task that nobody takes says why, with one reason for each worker, and ends at its queue timeout with the last of them", async () => {
  const busy = await replica("busy", { spec: { capacity: 1, tags: ["x"] } });
  await create({ selectors: ["busy"] });
  const held = await take(busy);
  await replica("paused", { spec: { tags: ["x"], paused: true } });
  await replica("kinds", { spec: { tags: ["x"], kinds: ["git.clone"] } });
  await replica("tags");
  const full = await replica("full", { spec: { tags: ["x"] } });
  await full.exchange({ headroom: { full: "DiskFull" } });
  const away = await replica("away", { spec: { tags: ["x"] } });
  await s.db.query("update workers set connected = false where worker = $1", [away.worker]);
  const from = Date.now();
  const { id } = await create({ selectors: ["x"], queueTimeoutSeconds: 300 });
  const seen = await task(id);
  expect(Date.now() - from).toBeLessThan(within(10_000));
  const reasons = Object.fromEntries(seen.explanation!.map((e) => [e.worker.split("/")[0], e.reason.split(":")[0]]));
  expect(reasons).toMatchObject({
    busy: "Full",
    paused: "Paused",
    kinds: "KindNotAllowed",
    tags: "SelectorMismatch",
    full: "DiskFull",
    away: "Disconnected",
  });
  expect(seen.message).toMatch(/^(None of \d+ workers can|The only worker cannot) take it: /);
  await s.db.query(
    "update tasks set created_at = created_at - interval '301 s', queued_at = queued_at - interval '301 s' where id = $1",
    [id],
  );
  const ended = await eventually("it ends", async () => ((await task(id)).state === "TimedOut" ? task(id) : undefined));
  expect([ended.reason, ended.message]).toEqual([
    "NoWorkerInTime",
    expect.stringMatching(/within 300 s\. (None of \d+ workers|The only worker)/),
  ]);
  await end(busy, held);
}, 60_000);

test("where no delegate serves, the task says that", async () => {
  const other = await startService();
  try {
    const { id } = (await other.ask("POST", "/v1/tasks", { body: { kind: "shell.run", params: { script: "true" } } }))
      .body;
    expect((await other.ask("GET", `/v1/tasks/${id}`)).body).toMatchObject({
      message: expect.stringMatching(/^There is no delegate/),
      explanation: [],
    });
  } finally {
    await other.stop();
  }
});

test("a paused delegate takes nothing from then on, also in a poll that waits already", async () => {
  const w = await replica("pause-me");
  const poll = w.exchange({ wait: 6, free: 1 });
  await eventually("it waits", async () => s.running.services.dispatchers.of("default").size > 0);
  await s.ask("PUT", "/v1/delegates/pause-me", { body: { spec: { paused: true } } });
  const { id } = await create({ selectors: ["pause-me"] });
  expect((await poll).tasks).toEqual([]);
  await s.ask("PUT", "/v1/delegates/pause-me", { body: { spec: {} } });
  const leased = await take(w);
  expect(leased.task).toBe(id);
  await end(w, leased);
}, 30_000);

test("the metrics tell how much waits, for how long, and name no scope", async () => {
  const { id } = await create({ selectors: ["nobody"] }, "?org=o1&project=p1");
  const text = await eventually("it is counted", async () => {
    const { text } = await s.ask("GET", "/metrics", { key: undefined });
    return /outpost_tasks_queued\{level="project"\} [1-9]/.test(text) && text;
  });
  expect(text).toMatch(/outpost_tasks_oldest_wait_seconds\{level="project"\}/);
  expect(text).toMatch(/outpost_task_leases_total\{kind="shell.run"\} [1-9]/);
  expect(text).toMatch(/outpost_tasks_ended_total\{kind="shell.run",state="Succeeded"\} [1-9]/);
  expect(text).not.toMatch(/o1|p1/);
  await s.ask("POST", `/v1/tasks/${id}/cancel?org=o1&project=p1`);
});

describe("tokens of a delegate", () => {
  test("a revoked token ends the sessions of who enrolled with it within 5 s, and nothing is leased to them", async () => {
    const { id, token } = await (async () => {
      await s.ask("PUT", "/v1/delegates/cut", { body: { spec: {} } });
      return tokenOf("cut");
    })();
    const kept = await replica("cut");
    const w = await replica("cut", { token });
    const poll = w.exchange({ wait: 20, free: 1 }).then(
      () => "answered",
      (error: Error) => error.message,
    );
    await eventually("it waits", async () => s.running.services.dispatchers.of("default").size > 0);
    const from = performance.now();
    expect((await s.ask("DELETE", `/v1/delegates/cut/tokens/${id}`)).status).toBe(204);
    expect(await poll).toMatch(/session_expired/);
    expect(performance.now() - from).toBeLessThan(within(5_000));
    expect((await w.call("heartbeat", { leases: [] })).status).toBe(401);
    expect((await w.tryOpen()).body.code).toBe("worker_revoked");
    await create({ selectors: ["cut"] });
    const leased = await take(kept);
    await end(kept, leased);
  }, 30_000);

  test("a rotated token goes on for the overlap, then nobody enrols with it; who did goes on", async () => {
    await s.ask("PUT", "/v1/delegates/turn", { body: { spec: {} } });
    const old = await tokenOf("turn");
    const early = await replica("turn", { token: old.token });
    const next = await s.ask("POST", `/v1/delegates/turn/tokens/${old.id}/rotate`, { body: { overlap: "2s" } });
    expect(next.status).toBe(201);
    await replica("turn", { token: old.token });
    await replica("turn", { token: next.body.token });
    await eventually("the old one ends", () =>
      replica("turn", { token: old.token }).then(
        () => false,
        () => true,
      ),
    );
    expect((await early.call("heartbeat", { leases: [] })).status).toBe(200);
    expect((await s.ask("POST", `/v1/delegates/turn/tokens/${old.id}/rotate`, { body: {} })).body.code).toBe(
      "conflict",
    );
  }, 30_000);
});
