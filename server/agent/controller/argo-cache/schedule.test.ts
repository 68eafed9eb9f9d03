import { Schedule } from "./schedule.ts";
import { SharedLists } from "./shared-lists.ts";

const HOUR = 3_600;
function made() {
  const clock = { now: 1_000_000 };
  return { clock, schedule: new Schedule(HOUR, () => clock.now) };
}
const NONE = new Set<string>();
const write = (schedule: Schedule, name: string, unsettled = false) => {
  schedule.begin(name);
  schedule.written(name, { unsettled });
};

test("a burst of changes is one write, and no application is written more often than once a second", () => {
  const { clock, schedule } = made();
  for (let i = 0; i < 5; i++) schedule.changed("a");
  expect(schedule.next(NONE)).toEqual({ inMs: 200 });
  clock.now += 200;
  expect(schedule.next(NONE)).toEqual({ name: "a" });
  write(schedule, "a");
  schedule.changed("a");
  expect(schedule.next(NONE)).toEqual({ inMs: 1_000 });
});

test("a change while it is written is written once more", () => {
  const { clock, schedule } = made();
  schedule.changed("a");
  clock.now += 200;
  schedule.begin("a");
  schedule.changed("a");
  clock.now += 5_000;
  schedule.written("a", { unsettled: false });
  expect(schedule.next(NONE)).toEqual({ name: "a" });
});

test("an application in transition is written again at growing intervals, and a change starts the intervals over", () => {
  const { clock, schedule } = made();
  const waits: number[] = [];
  for (let i = 0; i < 6; i++) {
    write(schedule, "a", true);
    const { inMs } = schedule.next(NONE);
    waits.push(inMs!);
    clock.now += inMs!;
  }
  expect(waits).toEqual([2_000, 5_000, 15_000, 60_000, 300_000, 300_000]);
  schedule.changed("a");
  write(schedule, "a", true);
  expect(schedule.next(NONE)).toEqual({ inMs: 2_000 });
});

test("entries are written again before they expire, and all of them when they are lost", () => {
  const { clock, schedule } = made();
  write(schedule, "a");
  write(schedule, "b");
  const { inMs } = schedule.next(NONE);
  expect(inMs).toBeGreaterThan(900_000);
  expect(inMs).toBeLessThanOrEqual(1_200_000);
  schedule.lost();
  clock.now += 10;
  expect(schedule.next(NONE)).toEqual({ name: "a" });
  expect(schedule.next(new Set(["a"]))).toEqual({ name: "b" });
});

test("a list is shared by applications that changed before it began, and by no other", async () => {
  const lists = new SharedLists();
  let asked = 0;
  const list = async () => ({ items: [], truncated: ++asked > 99 });
  const before = Date.now();
  await lists.since(before)("pods", list);
  await lists.since(before)("pods", list);
  expect(asked).toBe(1);
  await lists.since(Date.now() + 1)("pods", list);
  expect(asked).toBe(2);
});
