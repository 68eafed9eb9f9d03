import { compileJq, deletePaths, type Path, pathsOf } from "./jq.ts";

const document = {
  metadata: { name: "web", annotations: { "a.example/x": "1", keep: "2" } },
  webhooks: [
    { name: "one", clientConfig: { caBundle: "A", url: "u" } },
    { name: "two", clientConfig: { caBundle: "B" } },
  ],
  spec: {
    replicas: 3,
    containers: [
      {
        name: "app",
        env: [
          { name: "A", value: "1" },
          { name: "B_INJECTED", value: "2" },
        ],
      },
      { name: "istio-proxy", image: "proxy:1" },
    ],
  },
};

// Each as a jq of the ecosystem answers `[path(…)]`.
test.each<[string, unknown]>([
  [".", [[]]],
  [".spec.replicas", [["spec", "replicas"]]],
  [
    ".webhooks[].clientConfig.caBundle",
    [
      ["webhooks", 0, "clientConfig", "caBundle"],
      ["webhooks", 1, "clientConfig", "caBundle"],
    ],
  ],
  [
    ".webhooks[]?.name",
    [
      ["webhooks", 0, "name"],
      ["webhooks", 1, "name"],
    ],
  ],
  [".nothing[]?.name", []],
  [".nothing[].name", []],
  ["first(.[])", [["metadata"]]],
  ['[.metadata.annotations[]] as $all | .spec | select($all[0] == "1") | .replicas', [["spec", "replicas"]]],
  ["first(.webhooks[1].clientConfig, .spec[]) | .[]?", [["webhooks", 1, "clientConfig", "caBundle"]]],
  ["first(.webhooks[0][])", [["webhooks", 0, "clientConfig"]]],
  // An error ends the whole expression, and a question mark forgives one step.
  [".spec.replicas, .nothing[].name?", []],
  [".nothing[] // .spec.replicas", []],
  [".nothing[]? // .spec.replicas", [["spec", "replicas"]]],
  [".nothing // .spec.replicas", [["spec", "replicas"]]],
  ['.spec | select(.replicas | ltrimstr("a") == 3)', []],
  ['.metadata | select(.name | rtrimstr("eb") == "w") | .name', [["metadata", "name"]]],
  [".spec.replicas, .nothing[]?.name?", [["spec", "replicas"]]],
  [".spec.replicas, (.nothing[].name)?", [["spec", "replicas"]]],
  [".spec.replicas, .nothing[][1:]?", []],
  [".nothing.name", [["nothing", "name"]]],
  ['.metadata.annotations."a.example/x"', [["metadata", "annotations", "a.example/x"]]],
  ['.metadata.annotations["a.example/x"]', [["metadata", "annotations", "a.example/x"]]],
  ['.["spec"].replicas', [["spec", "replicas"]]],
  [".webhooks[0]", [["webhooks", 0]]],
  [".webhooks[-1].name", [["webhooks", 1, "name"]]],
  [".webhooks[1:]", [["webhooks", 1]]],
  ['.spec.containers[] | select(.name == "istio-proxy")', [["spec", "containers", 1]]],
  ['.spec.containers[] | select(.name != "app" and (.image | startswith("proxy")))', [["spec", "containers", 1]]],
  ['.spec.containers[] | select(.name | test("^istio-.*$")) | .image', [["spec", "containers", 1, "image"]]],
  ['.spec.containers[].env[]? | select(.name | endswith("_INJECTED"))', [["spec", "containers", 0, "env", 1]]],
  ['.spec.containers[] | select(.env // [] | any(.name == "A")).name', [["spec", "containers", 0, "name"]]],
  [
    ".spec | .replicas, .containers[1].image",
    [
      ["spec", "replicas"],
      ["spec", "containers", 1, "image"],
    ],
  ],
  ['.. | select(type == "string" and . == "B")', [["webhooks", 1, "clientConfig", "caBundle"]]],
  [
    '.. | objects | select(has("caBundle")) | .caBundle',
    [
      ["webhooks", 0, "clientConfig", "caBundle"],
      ["webhooks", 1, "clientConfig", "caBundle"],
    ],
  ],
  ["if .spec.replicas > 2 then .spec.replicas else empty end", [["spec", "replicas"]]],
  [".spec.containers | first | .name", [["spec", "containers", 0, "name"]]],
  [".spec.containers[] | select((.env | length) == 2) | .env", [["spec", "containers", 0, "env"]]],
  [
    '.metadata.annotations | .["keep", "a.example/x"]',
    [
      ["metadata", "annotations", "keep"],
      ["metadata", "annotations", "a.example/x"],
    ],
  ],
  // A slice is one value with the places of its items.
  [".spec.containers[1:][].image", [["spec", "containers", 1, "image"]]],
  [
    ".webhooks[:1][].name, .webhooks[1:][0].name",
    [
      ["webhooks", 0, "name"],
      ["webhooks", 1, "name"],
    ],
  ],
  [".webhooks[0:][1:] | .[0].name", [["webhooks", 1, "name"]]],
  [".webhooks[-1:]", [["webhooks", 1]]],
  [".nothing[1:]", []],
  [".spec.replicas, .nothing[1:][]", []],
  ['.webhooks["a":]', []],
  ['getpath(["spec", "replicas"])', [["spec", "replicas"]]],
  [
    'getpath(["spec", "containers", 1, "image"], ["spec", "nothing", "deep"])',
    [
      ["spec", "containers", 1, "image"],
      ["spec", "nothing", "deep"],
    ],
  ],
  ['getpath("spec")', []],
  ["limit(1; .webhooks[].name)", [["webhooks", 0, "name"]]],
  ["limit(0; .webhooks[].name)", []],
  ['first(.webhooks[].name, error("not reached"))', [["webhooks", 0, "name"]]],
  ['.spec.containers[] | select(.name | IN("istio-proxy", "other"))', [["spec", "containers", 1]]],
  ['select(IN(.webhooks[].name; "two")).spec.replicas', [["spec", "replicas"]]],
  ['"istio-proxy" as $name | .spec.containers[] | select(.name == $name) | .image', [["spec", "containers", 1, "image"]]],
  [
    ".webhooks[0].name as $a | .webhooks[1].name as $b | .webhooks[] | select(.name == ($a, $b)) | .name",
    [
      ["webhooks", 0, "name"],
      ["webhooks", 1, "name"],
    ],
  ],
  ["1 as $x | (2 as $x | .spec) | select($x == 1) | .replicas", [["spec", "replicas"]]],
  ["try .metadata.name[] catch empty", []],
  [".spec.replicas, (try .metadata.name[] catch empty)", [["spec", "replicas"]]],
  ['.spec.replicas, (try error("x") catch select(. == "other"))', [["spec", "replicas"]]],
  // An error of what comes after is not the error of what is tried.
  ["(.spec.replicas)? | .x", []],
  ["label $out | .webhooks[] | ., break $out | .name", [["webhooks", 0, "name"]]],
  ["label $out | (.webhooks[].name | ., break $out)", [["webhooks", 0, "name"]]],
  [
    "label $a | (label $a | (.spec.replicas, break $a)), .metadata.name",
    [
      ["spec", "replicas"],
      ["metadata", "name"],
    ],
  ],
  ["[.spec.replicas]", []],
  [".metadata.name[]", []],
])("path(%s)", (expression, want) => {
  const program = compileJq(expression);
  if (typeof program === "string") throw new Error(program);
  expect(pathsOf(program, document)).toEqual(want);
});

test.each([
  [".spec[", /expected|unexpected/],
  [".a b", /unexpected b/],
  ['."a\\(1)"', /not supported/],
  ["input", /function input\/0 is not supported/],
  ["env.HOME | select(.x | debug)", /function env\/0 is not supported/],
  ["def f: .; f", /def is not supported/],
  ["#", /unexpected character/],
  ["$x", /\$x is not defined/],
  [".a as [$x] | $x", /expected a variable/],
  ["(1 as $x | .) | $x", /\$x is not defined/],
  ["break $out", /no label \$out/],
  [".$x", /expected a name|unexpected/],
  [`${"(".repeat(200)}.${")".repeat(200)}`, /nested too deep/],
  [`.${"a".repeat(5_000)}`, /longer than/],
])("%.40s is refused", (expression, why) => {
  expect(compileJq(expression)).toMatch(why);
});

test("an expression that does too much is stopped", () => {
  const program = compileJq("[.. | .. | .. | ..] | map(length)");
  expect(pathsOf(program as Exclude<typeof program, string>, Array(400).fill({ a: [[[[[[1], 2], 3]]]] }))).toBe("slow");
  const slow = compileJq('select(test("(a+)+$"))');
  expect(pathsOf(slow as Exclude<typeof slow, string>, `${"a".repeat(40)}b`)).toBe("slow");
});

test("an expression that names the whole document takes nothing out", () => {
  const given = { a: [1, { b: 2 }] };
  const program = compileJq("..");
  expect(deletePaths(given, pathsOf(program as Exclude<typeof program, string>, given) as Path[])).toEqual(given);
});

test.each(["[range(5)]", "[..] as $a | $a[] as $b | $a[] | empty"])("%s is bounded", (text) => {
  const program = compileJq(text);
  if (typeof program === "string") expect(program).toMatch(/not supported/);
  else expect(pathsOf(program, Array(2_000).fill({ a: [1, 2] }))).toBe("slow");
});

test("several items of a list are taken out together, and the document itself stays", () => {
  const given = { a: [1, 2, 3, 4], b: { c: 1 } };
  expect(
    deletePaths(given, [
      ["a", 0],
      ["a", 2],
      ["b", "c"],
      ["x", "y"],
      ["b", "c", "d"],
    ]),
  ).toEqual({ a: [2, 4], b: {} });
  expect(given.a).toEqual([1, 2, 3, 4]);
  deletePaths(given, [["__proto__", "toString"]]);
  expect(String({})).toBe("[object Object]");
});
