import { couldTake, type Shape, share, type Taker } from "./match.ts";

const account = { account: "a", org: "", project: "" };
const in_ = (org: string, project = "") => ({ account: "a", org, project });
const shape = (name: string, scope = account, change: Partial<Shape> = {}): Shape => ({
  ...scope,
  shape: name,
  kind: "shell.run",
  selectors: [],
  ...change,
});
const taker = (id: string, change: Partial<Taker> = {}): Taker => ({
  ...account,
  id,
  tags: [],
  capabilities: ["shell.run"],
  kinds: [],
  room: 1,
  load: 0,
  ...change,
});
const fair = { running: () => 0, failed: () => false };

test.each<[string, Partial<Taker>, Partial<Shape>, boolean]>([
  ["anything of its scope", {}, {}, true],
  ["below", {}, in_("o", "p"), true],
  ["above", in_("o"), {}, false],
  ["beside", in_("o"), in_("x"), false],
  ["all tags", { tags: ["x", "y"] }, { selectors: ["y", "x"] }, true],
  ["its own id", {}, { selectors: ["d"] }, true],
  ["one tag missing", { tags: ["x"] }, { selectors: ["y", "x"] }, false],
  ["a kind it may run", { kinds: ["shell.run"] }, {}, true],
  ["a kind it may not run", { kinds: ["git.clone"] }, {}, false],
  ["a kind it cannot run", { capabilities: [] }, {}, false],
])("could take: %s", (_, t, s, want) => expect(couldTake(taker("d", t), shape("s", account, s))).toBe(want));

const given = (slots: { shape: Shape }[]) => {
  const count: Record<string, number> = {};
  for (const { shape: s } of slots) count[s.shape] = (count[s.shape] ?? 0) + 1;
  return count;
};

test("a scope with many waiting tasks shares evenly with one that has few", () => {
  const waiting = [
    { shape: shape("many", in_("o", "a")), guess: 10_000 },
    { shape: shape("few", in_("o", "b")), guess: 4 },
  ];
  expect(given(share(waiting, [taker("d", { room: 8 })], fair, 100))).toEqual({ many: 4, few: 4 });
});

test("what runs already counts: the scope with less comes first until they are equal", () => {
  const waiting = [
    { shape: shape("busy", in_("o", "a")), guess: 10 },
    { shape: shape("idle", in_("o", "b")), guess: 10 },
  ];
  const running = (scope: string) => (scope === "o/a" ? 6 : 0);
  expect(given(share(waiting, [taker("d", { room: 8 })], { ...fair, running }, 100))).toEqual({ busy: 1, idle: 7 });
});

test("tasks that nobody can take stand in nobody's way", () => {
  const waiting = [
    { shape: shape("gpu", account, { selectors: ["gpu"] }), guess: 10_000 },
    { shape: shape("plain"), guess: 2 },
  ];
  expect(given(share(waiting, [taker("d", { room: 8 })], fair, 100))).toEqual({ plain: 2 });
});

test("the shapes of one scope take turns", () => {
  const waiting = [
    { shape: shape("a"), guess: 100 },
    { shape: shape("b"), guess: 100 },
  ];
  expect(given(share(waiting, [taker("d", { room: 6 })], fair, 100))).toEqual({ a: 3, b: 3 });
});

test("the least busy worker comes first, one that failed such tasks lately last, and none gets more than its room", () => {
  const workers = [taker("busy", { load: 0.5, room: 2 }), taker("bad", { room: 2 }), taker("free", { room: 2 })];
  const failed = (t: Taker) => t.id === "bad";
  const slots = share([{ shape: shape("s"), guess: 10 }], workers, { ...fair, failed }, 100);
  expect(slots.map((s) => s.taker.id)).toEqual(["free", "free", "busy", "busy", "bad", "bad"]);
});

test("many workers with room get one each before any gets two", () => {
  const workers = Array.from({ length: 10 }, (_, i) => taker(`w${i}`, { room: 5 }));
  const slots = share([{ shape: shape("s"), guess: 10 }], workers, fair, 100);
  expect(new Set(slots.map((s) => s.taker.id)).size).toBe(10);
});
