import type { Scope } from "../domain/scope.ts";
import type { Database } from "../store/database/sql.ts";
import { writing } from "../store/database/writer.ts";
import type { SessionRow } from "../store/identity/sessions.ts";
import { ensureAccount } from "../store/store.ts";
import { onBothStores } from "../testing/database.ts";
import { openDelegate, type SessionOptions } from "../testing/sessions.ts";
import { completeTaskRow } from "./complete.ts";
import { createTaskRow, type NewTask } from "./create.ts";
import { explainTask } from "./explain.ts";
import { appendLogs, MAX_LOG_BYTES, readLogs } from "./logs.ts";
import { markAway } from "./presence.ts";
import { cancelledOf, LEASE_SECONDS, renewLeases, repeatLeases } from "./queue/lease.ts";
import { Queue } from "./queue/queue-snapshot.ts";
import { standingsOf } from "./queue/worker-state.ts";
import { attemptsOf, type TaskRow, tryFindTask, tryLockTask } from "./rows.ts";
import { sweepTasks } from "./sweep.ts";
import { settle } from "./transition.ts";

const root: Scope = { account: "a", org: "", project: "" };
const o1: Scope = { account: "a", org: "o1", project: "" };
const p1: Scope = { account: "a", org: "o1", project: "p1" };
const o2: Scope = { account: "a", org: "o2", project: "" };

onBothStores("tasks", (stores) => {
  let db: Database;
  let now: Date;
  beforeEach(async () => {
    now = new Date("2030-01-01T00:00:00Z");
    db = await stores().open(() => now);
    await ensureAccount(db, "a");
  });
  const pass = (seconds: number) => {
    now = new Date(now.getTime() + seconds * 1_000);
  };

  const delegate = (id: string, scope: Scope = root, options: SessionOptions = {}) =>
    openDelegate(db, id, scope, options);
  const create = (change: Partial<NewTask> = {}) =>
    db.transaction((tx) =>
      createTaskRow(tx, {
        ...root,
        kind: "shell.run",
        params: { script: "true" },
        selectors: [],
        timeoutSeconds: 600,
        maxAttempts: 3,
        idempotent: true,
        ...change,
      }),
    );
  /** One look of one worker, as a replica that knows nothing yet has it. */
  const lease = (s: SessionRow, free = 10) =>
    db.transaction(async (tx) => {
      const again = await repeatLeases(tx, s);
      const { offer } = (await standingsOf(tx, "a", [s])).get(s.session)!;
      offer.room = Math.min(offer.room, free - again.length);
      const { leased } = await new Queue("a").pass(tx, [offer]);
      return [...again, ...leased.map((l) => l.task)];
    });
  const renew = (s: SessionRow, leases: { task: string; fence: number }[]) =>
    db.transaction((tx) => renewLeases(tx, s, leases));
  const complete = (s: SessionRow, task: string, fence: number, outcome: "succeeded" | "failed" = "succeeded") =>
    completeTaskRow(clocked(db), s, task, { fence, outcome }).then((ended) => ended?.state);
  const find = async (id: string): Promise<TaskRow> => (await tryFindTask(db, "a", id))!;
  // Transactions see the fake clock, plain statements do not.
  const sweep = () => sweepTasks(clocked(db), "a").then((ended) => ended.map((e) => e.state));

  /** What runs outside a transaction gets one here, and with it the fake clock. */
  function clocked(real: Database): Database {
    return { ...real, query: (text, params) => real.transaction((tx) => tx.query(text, params)) };
  }

  test("a task goes to one of many who ask at once, and each task to somebody", async () => {
    const workers = await Promise.all(["w1", "w2", "w3", "w4"].map((id) => delegate(id)));
    for (let i = 0; i < 20; i++) await create();
    const got = (await Promise.all(workers.flatMap((w) => [lease(w, 3), lease(w, 3)]))).flat();
    const ids = got.map((t) => t.task);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBe(20);
  });

  describe("who may take a task", () => {
    const cases: [
      string,
      {
        worker: Parameters<typeof delegate>[1];
        options?: Parameters<typeof delegate>[2];
        task: Partial<NewTask>;
        want: boolean;
      },
    ][] = [
      ["a delegate of the account, a task of the account", { worker: root, task: root, want: true }],
      ["a delegate of the account, a task of a project", { worker: root, task: p1, want: true }],
      ["a delegate of the organisation, a task of its project", { worker: o1, task: p1, want: true }],
      ["a delegate of the project, a task of it", { worker: p1, task: p1, want: true }],
      ["a delegate of the organisation, a task of the account", { worker: o1, task: root, want: false }],
      ["a delegate of the project, a task of its organisation", { worker: p1, task: o1, want: false }],
      ["a delegate of another organisation", { worker: o2, task: p1, want: false }],
      [
        "all tags",
        { worker: root, options: { tags: ["linux", "gpu"] }, task: { selectors: ["linux", "gpu"] }, want: true },
      ],
      [
        "one tag missing",
        { worker: root, options: { tags: ["linux"] }, task: { selectors: ["linux", "gpu"] }, want: false },
      ],
      ["its own id as tag", { worker: root, task: { selectors: ["d"] }, want: true }],
      ["a kind it cannot run", { worker: root, options: { capabilities: ["git.clone"] }, task: {}, want: false }],
      ["a question to an agent", { worker: root, task: { agentUid: "x" }, want: false }],
    ];
    test.each(cases)("%s", async (_, { worker, options, task, want }) => {
      const w = await delegate("d", worker, options);
      await create(task);
      expect((await lease(w)).length).toBe(want ? 1 : 0);
    });
  });

  test("a lease lasts 13 s by the store's clock, and each renewal as long again", async () => {
    const w = await delegate("w");
    const { id } = await create();
    await lease(w);
    for (let i = 0; i < 10; i++) {
      pass(LEASE_SECONDS - 1);
      expect(await renew(w, [{ task: id, fence: 1 }])).toEqual([]);
      expect(await sweep()).toEqual([]);
    }
    pass(LEASE_SECONDS + 1);
    expect(await renew(w, [{ task: id, fence: 1 }])).toEqual([id]);
    expect(await sweep()).toEqual(["Queued"]);
  });

  test("a lost idempotent task goes to another instance first, with a higher fence, until its attempts are used up", async () => {
    const [w1, w2] = [await delegate("w1"), await delegate("w2")];
    const { id } = await create({ maxAttempts: 2 });
    await lease(w1);
    pass(LEASE_SECONDS + 1);
    await sweep();
    expect(await find(id)).toMatchObject({ state: "Queued", reason: "WorkerLost", attempt: 1 });
    expect(await lease(w1)).toEqual([]);
    expect(await lease(w2)).toMatchObject([{ task: id, fence: 2, attempt: 2 }]);
    pass(LEASE_SECONDS + 1);
    expect(await sweep()).toEqual(["Failed"]);
    expect(await find(id)).toMatchObject({ reason: "AttemptsExhausted" });
    expect(attemptsOf(await find(id))).toMatchObject([
      { number: 1, worker: "w1/i", reason: "WorkerLost" },
      { number: 2, worker: "w2/i", reason: "AttemptsExhausted" },
    ]);
  });

  test("the same instance gets it back when no other takes it", async () => {
    const w = await delegate("w");
    await create();
    await lease(w);
    pass(LEASE_SECONDS + 1);
    await sweep();
    expect(await lease(w)).toEqual([]);
    pass(11);
    expect(await lease(w)).toMatchObject([{ fence: 2 }]);
  });

  test("a task that is not idempotent is never run twice: it ends as Unknown", async () => {
    const w = await delegate("w");
    const { id } = await create({ idempotent: false });
    await lease(w);
    pass(LEASE_SECONDS + 1);
    expect(await sweep()).toEqual(["Unknown"]);
    expect(await lease(w)).toEqual([]);
    await expect(complete(w, id, 1)).rejects.toMatchObject({ code: "stale_fence" });
    expect((await find(id)).state).toBe("Unknown");
  });

  describe("a late worker is refused by the fence", () => {
    const late: [string, (old: SessionRow, id: string) => Promise<unknown>][] = [
      ["result", (old, id) => complete(old, id, 1)],
      [
        "log",
        (old, id) => db.transaction((tx) => appendLogs(tx, old, id, { fence: 1, first: 1, lines: [{ text: "late" }] })),
      ],
      ["result with a guessed fence", (old, id) => complete(old, id, 2)],
      ["result with a number that is none", (old, id) => complete(old, id, 1e300)],
    ];
    test.each(late)("%s", async (_, act) => {
      const [old, next] = [await delegate("w1"), await delegate("w2")];
      const { id } = await create();
      await lease(old);
      pass(2 * LEASE_SECONDS);
      await sweep();
      await lease(next);
      await expect(act(old, id)).rejects.toMatchObject({ code: "stale_fence" });
      expect(await renew(old, [{ task: id, fence: 1 }])).toEqual([id]);
      await complete(next, id, 2);
      expect((await find(id)).state).toBe("Succeeded");
    });
    test("also when nobody has noticed yet that the lease ran out", async () => {
      const w = await delegate("w");
      const { id } = await create();
      await lease(w);
      pass(LEASE_SECONDS + 1);
      await expect(complete(w, id, 1)).rejects.toMatchObject({ code: "stale_fence" });
    });
  });

  test("the same result twice is fine, another worker's is not", async () => {
    const [w, other] = [await delegate("w1"), await delegate("w2")];
    const { id } = await create();
    await lease(w);
    expect(await complete(w, id, 1)).toBe("Succeeded");
    expect(await complete(w, id, 1)).toBeUndefined();
    await expect(complete(other, id, 1)).rejects.toMatchObject({ code: "stale_fence" });
  });

  test("a lease whose answer got lost is handed out again to the same session, with the same fence, until the worker shows that it has it", async () => {
    const w = await delegate("w");
    const { id } = await create();
    await lease(w);
    expect(await lease(w)).toEqual([]);
    pass(4);
    expect(await lease(w)).toMatchObject([{ task: id, fence: 1 }]);
    await renew(w, [{ task: id, fence: 1 }]);
    pass(4);
    expect(await lease(w)).toEqual([]);
  });

  test("cancel: in the queue at once; while it runs the worker is told, and its loss ends it as cancelled", async () => {
    const w = await delegate("w");
    const cancel = (id: string) =>
      db.transaction(async (tx) => settle(tx, (await tryLockTask(tx, "a", id))!, { type: "cancel" }));
    const queued = await create();
    expect(await cancel(queued.id)).toBe("Cancelled");
    expect(await lease(w)).toEqual([]);
    const running = await create();
    await lease(w);
    expect(await cancel(running.id)).toBe("Running");
    expect(await db.transaction((tx) => cancelledOf(tx, w))).toEqual([running.id]);
    pass(LEASE_SECONDS + 1);
    expect(await sweep()).toEqual(["Cancelled"]);
    expect(await cancel(running.id)).toBeUndefined();
  });

  test("a task that outlives its timeout under a worker that goes on renewing is ended", async () => {
    const w = await delegate("w");
    const { id } = await create({ timeoutSeconds: 30 });
    await lease(w);
    for (let t = 0; t < 42; t += 7) {
      pass(7);
      await renew(w, [{ task: id, fence: 1 }]);
    }
    expect(await sweep()).toEqual(["TimedOut"]);
    expect(await renew(w, [{ task: id, fence: 1 }])).toEqual([id]);
  });

  describe("logs", () => {
    const lines = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => ({ text: `line ${from + i}` }));
    const append = (s: SessionRow, id: string, fence: number, first: number, chunk: { text: string }[]) =>
      db.transaction((tx) => appendLogs(tx, s, id, { fence, first, lines: chunk }));

    test("each line is kept once and in order, whatever is sent again", async () => {
      const w = await delegate("w");
      const { id } = await create();
      await lease(w);
      expect(await append(w, id, 1, 1, lines(1, 3))).toBe(3);
      expect(await append(w, id, 1, 1, lines(1, 3))).toBe(3);
      expect(await append(w, id, 1, 2, lines(2, 4))).toBe(5);
      expect(await append(w, id, 1, 9, lines(9, 1))).toBe(5);
      const log = await readLogs(db, await find(id), 0);
      expect(log.items.map((l) => `${l.seq} ${l.text}`)).toEqual([1, 2, 3, 4, 5].map((n) => `${n} line ${n}`));
      expect(log.complete).toBe(false);
      await completeTaskRow(clocked(db), w, id, { fence: 1, outcome: "succeeded", lastLog: 5 });
      expect((await readLogs(db, await find(id), 3)).items).toHaveLength(2);
      expect((await readLogs(db, await find(id), 5)).complete).toBe(true);
    });
    test("a second attempt counts from one again and its lines follow the first one's", async () => {
      const [w1, w2] = [await delegate("w1"), await delegate("w2")];
      const { id } = await create();
      await lease(w1);
      await append(w1, id, 1, 1, lines(1, 2));
      pass(LEASE_SECONDS + 1);
      await sweep();
      await lease(w2);
      expect(await append(w2, id, 2, 1, lines(1, 2))).toBe(2);
      expect((await readLogs(db, await find(id), 0)).items.map((l) => l.text)).toEqual([
        "line 1",
        "line 2",
        "line 1",
        "line 2",
      ]);
    });
    test("a log is bounded, and says so once", async () => {
      const w = await delegate("w");
      const { id } = await create();
      await lease(w);
      await db.query("update tasks set log_bytes = $2 where id = $1", [id, MAX_LOG_BYTES - 100]);
      expect(await append(w, id, 1, 1, [{ text: "x".repeat(20) }, { text: "y".repeat(200) }, { text: "z" }])).toBe(3);
      expect(await append(w, id, 1, 4, [{ text: "more" }])).toBe(4);
      expect((await readLogs(db, await find(id), 0)).items.map((l) => l.text[0])).toEqual(["x", "["]);
    });
  });

  test("nobody takes it: one reason for each worker the asker may know of", async () => {
    const busy = await delegate("busy", root, { capacity: 1 });
    await create();
    await lease(busy, 1);
    await delegate("wrong-tag", root, { tags: ["linux"] });
    await delegate("wrong-kind", root, { tags: ["gpu"], capabilities: [] });
    await delegate("elsewhere", o2, { tags: ["gpu"] });
    const task = await create({ ...o1, selectors: ["gpu"] });
    await db.query("update workers set connected = false where id = 'wrong-kind'");
    const reasons = (scope: Scope) =>
      explainTask(db, task, scope).then((rows) =>
        Object.fromEntries(rows.map((r) => [r.worker.split("/")[0], r.reason.split(":")[0]])),
      );
    expect(await reasons(root)).toEqual({
      busy: "SelectorMismatch",
      "wrong-tag": "SelectorMismatch",
      "wrong-kind": "Disconnected",
      elsewhere: "OutOfScope",
    });
    expect(await reasons(o1)).toEqual({
      busy: "SelectorMismatch",
      "wrong-tag": "SelectorMismatch",
      "wrong-kind": "Disconnected",
    });
  });

  test("a silent worker counts as away after 15 s", async () => {
    const w = await delegate("w");
    await writing(db, "a", (tx) => tx.query("update objects set status = '{\"connected\": true}' where id = 'w'"));
    pass(14);
    expect(await markAway(clocked(db), "a")).toBe(0);
    pass(2);
    expect(await markAway(clocked(db), "a")).toBe(1);
    const [object] = await db.query("select status from objects where uid = $1", [w.objectUid]);
    expect(object!.status.connected).toBe(false);
  });
});
