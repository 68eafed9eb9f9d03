import { matchGlob } from "../../base/lang/glob.ts";
import { asArgoReads } from "./argo-glob.ts";

// What github.com/gobwas/glob, with which Argo CD matches, makes of each.
test.each<[pattern: string, fitting: string[], others: string[]]>([
  ["team-[a-c]", ["team-b"], ["team-d", "team--"]],
  ["team-[!a-c]", ["team-d"], ["team-b"]],
  ["team-[^a]", ["team-a", "team-^"], ["team-b"]],
  ["team-[ab-d]", ["team-a", "team-b", "team-d", "team--"], ["team-c"]],
  ["team-[!^a]", ["team-b"], ["team-a", "team-^"]],
  ["team-[^]", ["team-^"], ["team-a"]],
  ["team-[a-z0-9]", [], ["team-a", "team-1"]],
  ["team-[]", [], ["team-[]", "team-"]],
  ["team-[a", [], ["team-a", "team-[a"]],
  ["team-[c-a]", [], ["team-b"]],
  ["team-\\[a\\]", ["team-[a]"], ["team-a"]],
  ["team-[\\*]", ["team-*"], ["team-a", "team-\\"]],
  ["team\\", ["team"], ["team\\"]],
  ["{a,b}-*", ["a-1", "b-2"], ["c-1"]],
])("%s", (pattern, fitting, others) => {
  const read = asArgoReads(pattern);
  const found = [...fitting, ...others].filter((text) => read !== undefined && matchGlob(read, text));
  expect(found).toEqual(fitting);
});
