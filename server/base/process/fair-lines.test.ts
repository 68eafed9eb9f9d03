import { FairLines } from "./fair-lines.ts";
import { FairSlots } from "./fair-slots.ts";

/** Takes as many as have a place. */
function drain(lines: FairLines<string>): string[] {
  const taken: string[] = [];
  for (let next = lines.next(); next; next = lines.next()) taken.push(next.item);
  return taken;
}
const fill = (lines: FairLines<string>, name: string, count: number) => {
  for (let i = 0; i < count; i++) lines.push(name, `${name}${i}`);
};

test("one name alone has all places, in the order in which it came", () => {
  const lines = new FairLines<string>(4);
  fill(lines, "a", 6);
  expect(drain(lines)).toEqual(["a0", "a1", "a2", "a3"]);
  lines.end("a");
  expect(drain(lines)).toEqual(["a4"]);
  expect(lines.waiting).toBe(1);
});

test("the most urgent of a name goes first, and not before another name's turn", () => {
  const lines = new FairLines<string>(1);
  lines.push("a", "a-late", 3);
  lines.push("a", "a-soon", 0);
  lines.push("b", "b-late", 3);
  lines.push("a", "a-soon-too", 0);
  const order: string[] = [];
  for (let next = lines.next(); next; next = lines.next()) {
    order.push(next.item);
    lines.end(next.name);
  }
  expect(order).toEqual(["a-soon", "b-late", "a-soon-too", "a-late"]);
});

test("a name with thousands waiting delays another name by no more than one place", () => {
  const lines = new FairLines<string>(8);
  fill(lines, "other", 1);
  expect(drain(lines)).toEqual(["other0"]);
  lines.end("other");
  fill(lines, "storm", 2_000);
  expect(drain(lines)).toHaveLength(6);
  // A place was left for it.
  lines.push("other", "one");
  expect(drain(lines)).toEqual(["one"]);
  // And every second place goes to it while it asks for more.
  fill(lines, "other", 3);
  lines.end("storm");
  expect(drain(lines)[0]).toBe("other0");
});

test.each([2, 4, 16, 96])("of %i places some stay free for who comes, however many names want all", (places) => {
  for (const names of [1, 2, 5]) {
    const lines = new FairLines<string>(places);
    lines.push("known", "x");
    drain(lines);
    lines.end("known");
    for (let n = 0; n < names; n++) fill(lines, `n${n}-`, 200);
    const taken = drain(lines).length;
    if (places > 3 * names) expect(taken).toBeLessThan(places);
    expect(taken).toBeGreaterThan(0);
  }
});

test("what is taken out does not come, and nothing is kept of names that are done", () => {
  const lines = new FairLines<string>(1);
  fill(lines, "a", 3);
  lines.remove("a", "a1");
  lines.remove("b", "b1");
  expect(drain(lines)).toEqual(["a0"]);
  lines.end("a");
  expect(drain(lines)).toEqual(["a2"]);
  lines.end("a");
  lines.push("a", "again");
  lines.clear();
  expect([lines.waiting, lines.next()]).toEqual([0, undefined]);
});

test("work that fails gives its slot back", async () => {
  const slots = new FairSlots(1);
  const fails = slots.run("a", () => Promise.reject(new Error("no")));
  const works = slots.run("b", async () => "b");
  await expect(fails).rejects.toThrow("no");
  expect(await works).toBe("b");
  expect(slots.waiting).toBe(0);
});
