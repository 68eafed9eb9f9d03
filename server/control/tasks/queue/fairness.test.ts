import { within } from "../../../../test/within.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Database } from "../../store/database/sql.ts";
import type { SessionRow } from "../../store/identity/sessions.ts";
import { ensureAccount } from "../../store/store.ts";
import { postgresStores, type TestStore } from "../../testing/database.ts";
import { openDelegate } from "../../testing/sessions.ts";
import { completeTaskRow } from "../complete.ts";
import { createTaskRow } from "../create.ts";
import { tryFindTask } from "../rows.ts";
import { Dispatcher } from "./dispatcher.ts";

const root: Scope = { account: "a", org: "", project: "" };
const project = (id: string): Scope => ({ account: "a", org: "o", project: id });
const SLOTS = 8;
const TASK_MS = 25;

let stores: TestStore;
let db: Database;
let dispatcher: Dispatcher;
let stop: AbortController;
let working: Promise<unknown>;
beforeAll(async () => {
  stores = await postgresStores();
}, 120_000);
afterAll(() => stores?.stop());
beforeEach(async () => {
  db = await stores.open();
  await ensureAccount(db, "a");
  stop = new AbortController();
  dispatcher = new Dispatcher(db, "a", (error) => {
    throw error;
  });
});
afterEach(async () => {
  stop.abort();
  await working;
  await dispatcher.close();
});

/** Workers that do one task after the other, each for a while. */
async function work(): Promise<void> {
  const sessions = await Promise.all(Array.from({ length: SLOTS }, (_, i) => openDelegate(db, `w${i}`, root)));
  const loop = async (session: SessionRow) => {
    while (!stop.signal.aborted)
      for (const task of (await dispatcher.ask({ session, free: 1 }, stop.signal)).tasks) {
        await new Promise((resolve) => setTimeout(resolve, TASK_MS));
        await completeTaskRow(db, session, task.task, { fence: task.fence, outcome: "succeeded" });
      }
  };
  working = Promise.all(sessions.map(loop));
}

const create = (scope: Scope, selectors: string[] = []) =>
  db.transaction((tx) =>
    createTaskRow(tx, {
      ...scope,
      kind: "shell.run",
      params: { script: "true" },
      selectors,
      timeoutSeconds: 600,
      maxAttempts: 1,
      idempotent: false,
    }),
  );

/** 10,000 tasks like this one. */
async function flood(scope: Scope, selectors: string[] = []): Promise<void> {
  const { id } = await create(scope, selectors);
  await db.query(
    `insert into tasks (account, id, org, project, kind, params, selectors, timeout_seconds, max_attempts, idempotent, shape, state, created_at, queued_at)
     select account, id || '-' || n, org, project, kind, params, selectors, timeout_seconds, max_attempts, idempotent, shape, state, created_at, queued_at
     from tasks, generate_series(1, 9999) n where id = $1`,
    [id],
  );
}

/** How long each of some tasks waits, queued one after the other. */
async function waits(scope: Scope, count: number): Promise<number[]> {
  const found: number[] = [];
  for (let i = 0; i < count; i++) {
    const { id } = await create(scope);
    for (;;) {
      const task = await tryFindTask(db, "a", id);
      if (task?.startedAt) {
        found.push(task.startedAt.getTime() - task.createdAt.getTime());
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  return found.sort((x, y) => x - y);
}

test("10,000 tasks of one project do not delay another's by more than its share: p99 within the time of some tasks", async () => {
  await flood(project("many"));
  await work();
  const found = await waits(project("few"), 100);
  // Its share is half of the slots, so the next one that is free is its own: a task's time and what giving it out takes. In a queue
  // without shares it would wait for all that came before: 10,000 × 25 ms / 8 = 31 s.
  expect(found[98]).toBeLessThan(within(2_000));
  const [row] = await db.query("select count(*)::int n from tasks where project = 'many' and state = 'Succeeded'");
  expect(row!.n).toBeGreaterThan(50);
}, 120_000);

test("10,000 tasks that nobody can take stand in nobody's way, in their own scope neither", async () => {
  await flood(project("p"), ["nobody"]);
  await work();
  const found = await waits(project("p"), 50);
  expect(found[48]).toBeLessThan(within(2_000));
}, 120_000);
