import { instanceOf } from "./instance.ts";
import { Places, type Scope } from "./namespace-scopes.ts";

const OWN = "outpost";
type App = { metadata: { name: string; namespace: string } };
const app = (namespace: string): App => ({ metadata: { name: "shop", namespace } });

/** A cluster with an application in each namespace, what is known of it, and what was ever forgotten. */
function world(...namespaces: string[]) {
  /** What there are no rights to watch. */
  const forbidden = new Set<string>();
  const there = namespaces.map(app);
  const known = new Map<string, App>();
  const forgotten: string[] = [];
  const open: Scope[] = [];
  const shows: ((one: App) => unknown)[] = [];
  const permitted: (() => void)[] = [];
  const places = new Places(OWN, new AbortController().signal);
  const begin = async (scope: Scope) => {
    open.push(scope);
    const waiting = forbidden.has(scope.namespace ?? "all");
    const on = places.keeping<App>(scope, {
      all: () => known.values(),
      seen: (one) => void known.set(instanceOf(one, OWN), one),
      gone: (name) => {
        forgotten.push(name);
        known.delete(name);
      },
    });
    const list = () =>
      on.replace(
        there.filter(({ metadata }) => scope.namespace === undefined || metadata.namespace === scope.namespace),
      );
    if (waiting) permitted.push(list);
    else list();
    shows.push(
      (one: App) => !scope.signal.aborted && !forbidden.has(scope.namespace ?? "all") && on.change("DELETED", one),
    );
  };
  return {
    there,
    forgotten,
    forbid: (scope: string) => void forbidden.add(scope),
    permit: () => {
      forbidden.clear();
      for (const list of permitted.splice(0)) list();
    },
    deleted: (namespace: string) => {
      there.splice(
        there.findIndex(({ metadata }) => metadata.namespace === namespace),
        1,
      );
      for (const show of shows) show(app(namespace));
    },
    own: () => places.own(begin),
    replace: (...patterns: string[]) => places.replace(patterns, begin),
    known: () => [...known.keys()].sort(),
    watched: () => open.filter(({ signal }) => !signal.aborted).map(({ namespace }) => namespace ?? "all"),
  };
}

test.each([
  ["another pattern", ["team-a", "team-*"], ["team-a", "te*"]],
  ["a pattern beside names", ["team-a", "team-b"], ["team-a", "team-b", "x-*"]],
  ["names instead of a pattern", ["team-*"], ["team-a", "team-b"]],
  ["one name more", ["team-a", "team-b"], ["team-a", "team-b", "other"]],
])("nothing is forgotten of a namespace that fits before and after: %s", async (_, before, after) => {
  const w = world(OWN, "team-a", "team-b");
  await w.own();
  await w.replace(...before);
  expect(w.known()).toEqual(["shop", "team-a_shop", "team-b_shop"]);
  await w.replace(...after);
  expect(w.known()).toEqual(["shop", "team-a_shop", "team-b_shop"]);
  expect(w.forgotten).toEqual([]);
});

test.each([
  ["names to a pattern", ["team-a", "team-b"], ["team-*"], ["team-a", "team-b", "all"], "all"],
  ["a pattern to names", ["team-*"], ["team-a", "team-b"], ["all", "team-a", "team-b"], "team-b"],
])(
  "where there are no rights for the new watch the old ones go on until there are: from %s",
  async (_, before, after, watched, forbidden) => {
    const w = world(OWN, "team-a", "team-b");
    await w.own();
    await w.replace(...before);
    w.forbid(forbidden);
    await w.replace(...after);
    expect(w.watched()).toEqual([OWN, ...watched]);
    expect(w.known()).toEqual(["shop", "team-a_shop", "team-b_shop"]);
    // What is deleted meanwhile is not kept for ever.
    w.deleted("team-b");
    expect(w.known()).toEqual(["shop", "team-a_shop"]);
    w.permit();
    expect(w.watched().sort()).toEqual([OWN, ...(after[0] === "team-*" ? ["all"] : after)].sort());
    expect(w.known()).toEqual(["shop", "team-a_shop"]);
  },
);

test("what fits no more is forgotten though the new watch has no rights, and what is wanted again is watched once", async () => {
  const w = world(OWN, "team-a", "old-c");
  await w.own();
  await w.replace("team-a", "old-c");
  w.forbid("all");
  await w.replace("team-*");
  expect([w.known(), w.watched()]).toEqual([
    ["shop", "team-a_shop"],
    [OWN, "team-a", "all"],
  ]);
  await w.replace("team-a");
  expect([w.known(), w.watched()]).toEqual([
    ["shop", "team-a_shop"],
    [OWN, "team-a"],
  ]);
});

test("what fits no more is forgotten, and what went away meanwhile; what is new is seen", async () => {
  const w = world(OWN, "team-a", "team-b", "old-c", "new-d");
  await w.own();
  await w.replace("team-*", "old-*");
  expect(w.known()).toEqual(["old-c_shop", "shop", "team-a_shop", "team-b_shop"]);
  w.there.splice(
    w.there.findIndex(({ metadata }) => metadata.namespace === "team-b"),
    1,
  );
  await w.replace("team-*", "new-*");
  expect(w.known()).toEqual(["new-d_shop", "shop", "team-a_shop"]);
  expect(w.forgotten.sort()).toEqual(["old-c_shop", "team-b_shop"]);
  expect(w.watched()).toEqual([OWN, "all"]);
  await w.replace();
  expect([w.known(), w.watched()]).toEqual([["shop"], [OWN]]);
});
