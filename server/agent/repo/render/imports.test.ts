import { importsOf } from "./imports.ts";

test.each([
  ["nothing", "{}", []],
  ["a double-quoted one", 'import "a.libsonnet"', ["a.libsonnet"]],
  ["escapes", String.raw`import "\u002fetc\/x\n"`, ["/etc/x\n"]],
  ["verbatim", `importstr @"a""b" + import @'c\\d'`, ['a"b', "c\\d"]],
  ["comments between", "import /* x */ // y\n # z\n 'a'", ["a"]],
  ["binary", "importbin'a'", ["a"]],
  ["in a comment all the same", "// import 'a'\n1", ["a"]],
  ["not computed", "import x", []],
  ["openings without end", "import /* ".repeat(10_000), []],
])("imports: %s", (_, text, want) => expect(importsOf(text)).toEqual(want));
