import { areNames, listsNamespace } from "./namespaces.ts";

test.each<[string[], string, boolean]>([
  [["team-a"], "team-a", true],
  [["team-a"], "team-ab", false],
  [["team-*"], "team-a", true],
  [["team-{a,b}"], "team-b", true],
  [["*"], "anything", true],
  [["/^team-(a|b)$/"], "team-b", true],
  [["/^team-(a|b)$/"], "my-team-b", false],
  [["/eam/"], "team-b", true],
  [["other", "/^t.*-b$/"], "team-b", true],
  // What is no expression fits nothing, and neither does what would not end.
  [["/(/"], "team-a", false],
  [["/^(a+)+$/"], `${"a".repeat(60)}b`, false],
  [["//"], "team-a", false],
  [["!team-a"], "team-b", false],
  [[], "team-a", false],
])("%j and %s: %s", (patterns, namespace, listed) => {
  expect(listsNamespace(patterns, namespace)).toBe(listed);
});

test("a name is told from a pattern", () => {
  expect(areNames(["team-a", "b2"])).toBe(true);
  for (const one of ["team-*", "/a/", "{a,b}", "", "A", "a_b"]) expect(areNames(["a", one])).toBe(false);
});
