import { instanceOf } from "./instance.ts";
import { Places, type Scope } from "./places.ts";

const OWN = "outpost";
type App = { metadata: { name: string; namespace: string } };
const app = (namespace: string): App => ({ metadata: { name: "shop", namespace } });

/** A cluster with an application in each namespace, what is known of it, and what was ever forgotten. */
function world(...namespaces: string[]) {
  const there = namespaces.map(app);
  const known = new Map<string, App>();
  const forgotten: string[] = [];
  const open: Scope[] = [];
  const places = new Places(OWN, new AbortController().signal);
  const begin = async (scope: Scope) => {
    open.push(scope);
    const on = places.keeping<App>(scope, {
      all: () => known.values(),
      seen: (one) => void known.set(instanceOf(one, OWN), one),
      gone: (name) => {
        forgotten.push(name);
        known.delete(name);
      },
    });
    on.replace(there.filter(({ metadata }) => scope.namespace === undefined || metadata.namespace === scope.namespace));
  };
  return {
    there,
    forgotten,
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
