import { again, done, later, type Outcome, stop } from "../../../base/outcome.ts";
import type { WorkerObject } from "../../../link/exchange.ts";
import { SILENT } from "../../../link/log.ts";
import { Inbox } from "./inbox.ts";

const object = (generation: number, more: Partial<WorkerObject> = {}): WorkerObject => ({
  worker: "w",
  collection: "applications",
  key: "-/-/a",
  uid: "u1",
  generation,
  op: "put",
  spec: {},
  ...more,
});
const inboxes: Inbox[] = [];
afterEach(() => {
  for (const inbox of inboxes.splice(0)) inbox.stop();
});

function start(handle: (object: WorkerObject, n: number) => Outcome<undefined> | Promise<Outcome<undefined>>) {
  const reports: unknown[][] = [];
  const calls: number[] = [];
  const inbox = new Inbox({
    handle: async (given) => handle(given, calls.push(given.generation)),
    report: ({ key }, { generation, outcome, reason }) => reports.push([key, generation, outcome, reason]),
    log: SILENT,
  });
  inboxes.push(inbox);
  return { inbox, reports, calls };
}
const until = async (what: () => boolean) => {
  const end = Date.now() + 30_000;
  while (!what()) {
    if (Date.now() > end) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

test("acknowledges what was done", async () => {
  const { inbox, reports } = start(() => done(undefined));
  inbox.put(object(3));
  inbox.put(object(4, { uid: "u2", key: "-/-/b", op: "delete" }));
  await until(() => reports.length === 2);
  expect(reports).toEqual([
    ["-/-/a", 3, "applied", undefined],
    ["-/-/b", 4, "deleted", undefined],
  ]);
  expect(inbox.size).toBe(0);
});
test("of what comes while one is in work only the newest is done", async () => {
  let go = () => {};
  const { inbox, reports, calls } = start(async (_object, n) => {
    if (n === 1) await new Promise<void>((resolve) => (go = resolve));
    return done(undefined);
  });
  expect([
    inbox.put(object(1)),
    inbox.put(object(1)),
    inbox.put(object(2)),
    inbox.put(object(5)),
    inbox.put(object(4)),
  ]).toEqual([true, false, true, true, false]);
  go();
  await until(() => reports.length === 1);
  expect([calls, reports]).toEqual([[1, 5], [["-/-/a", 5, "applied", undefined]]]);
});
test("what may pass is tried again, and what waits is looked at again at once when something has changed", async () => {
  const answers = [again("Conflict", ""), later(60_000, "Deleting", "")];
  const { inbox, reports, calls } = start((_object, n) => answers[n - 1] ?? done(undefined));
  inbox.put(object(1));
  await until(() => calls.length === 2);
  expect(reports).toEqual([]);
  await until(() => inbox.poke("applications", "u1") && calls.length === 3);
  await until(() => reports.length === 1);
});
test("a refusal is reported once, and does not hold up the others", async () => {
  const { inbox, reports } = start((given) => (given.uid === "u1" ? stop("AlreadyExists", "taken") : done(undefined)));
  inbox.put(object(1));
  inbox.put(object(1, { uid: "u2", key: "-/-/b" }));
  await until(() => reports.length === 2);
  expect(reports).toContainEqual(["-/-/a", 1, "refused", "AlreadyExists"]);
  expect(inbox.put(object(1))).toBe(true);
});
test("a defect is tried three times, then set aside and said", async () => {
  const { inbox, reports, calls } = start(() => {
    throw new Error("a defect");
  });
  inbox.put(object(1));
  await until(() => reports.length === 1);
  expect([calls.length, reports]).toEqual([3, [["-/-/a", 1, "refused", "InternalError"]]]);
});
test("a thousand others are done while one is a defect, and a newer delivery of it is tried anew", async () => {
  const { inbox, reports, calls } = start((given) => {
    if (given.uid === "poison" && given.generation === 7) throw new Error("a defect");
    return done(undefined);
  });
  for (let i = 0; i < 500; i++) inbox.put(object(1, { uid: `a${i}`, key: `-/-/a${i}` }));
  inbox.put(object(7, { uid: "poison", key: "-/-/poison" }));
  for (let i = 0; i < 500; i++) inbox.put(object(1, { uid: `b${i}`, key: `-/-/b${i}` }));
  await until(() => reports.length === 1_001);
  expect(reports.filter(([, , outcome]) => outcome !== "applied")).toEqual([
    ["-/-/poison", 7, "refused", "InternalError"],
  ]);
  expect(calls.filter((generation) => generation === 7)).toHaveLength(3);
  inbox.put(object(8, { uid: "poison", key: "-/-/poison" }));
  await until(() => reports.length === 1_002);
  expect([reports.at(-1), inbox.size]).toEqual([["-/-/poison", 8, "applied", undefined], 0]);
});
