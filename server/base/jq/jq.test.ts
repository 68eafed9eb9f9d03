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
  [
    '"istio-proxy" as $name | .spec.containers[] | select(.name == $name) | .image',
    [["spec", "containers", 1, "image"]],
  ],
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

// Values of expressions, each as the ecosystem's jq answers.
test.each<[expression: string, want: unknown[]]>([
  ['"a\\(1 + 1)b\\("c" + "\\(3)")"', ["a2bc3"]],
  ['"\\(1, 2) \\(3, 4)"', ["1 3", "2 3", "1 4", "2 4"]],
  ['@base64 "x\\("a,b")", ("eGE=" | @base64d)', ["xYSxi", "xa"]],
  [
    '["a", 1, "b\\"c"] | @csv, @tsv, @sh, @json, @html',
    ['"a",1,"b""c"', 'a\t1\tb"c', "'a' 1 'b\"c'", '["a",1,"b\\"c"]', "[&quot;a&quot;,1,&quot;b\\&quot;c&quot;]"],
  ],
  ['"a b/é" | @uri', ["a%20b%2F%C3%A9"]],
  [
    "{a: (1, 2), b: (3, 4)} | [.a, .b]",
    [
      [1, 3],
      [1, 4],
      [2, 3],
      [2, 4],
    ],
  ],
  ['{"x": 1, ("y"): 2, "z\\(1)": 3, if: 4}', [{ x: 1, y: 2, z1: 3, if: 4 }]],
  ["1 as $x | {$x, y: $x}", [{ x: 1, y: 1 }]],
  [".metadata | {name}", [{ name: "web" }]],
  [
    "[[1, 2], [3, 4]] | .[] as [$a, $b] | {a: $a, b: $b}",
    [
      { a: 1, b: 2 },
      { a: 3, b: 4 },
    ],
  ],
  ["{a: {b: [7]}} as {a: {b: [$x]}} | $x", [7]],
  ['{a: 1, k: 2} as {$a, ("k"): $b, "c": $c} | [$a, $b, $c]', [[1, 2, null]]],
  ['try ("text" as [$a] | $a) catch "no list"', ["no list"]],
  ["reduce (1, 2, 3) as $i (0; . + $i)", [6]],
  ["reduce ([1, 2], [3, 4]) as [$a, $b] (0; . + $a * $b)", [14]],
  ["reduce (1, 2) as $i (5; empty)", [5]],
  ["[foreach (1, 2, 3) as $i (0; . + $i)]", [[1, 3, 6]]],
  [
    "[foreach (1, 2) as $i (0; . + $i; [$i, .])]",
    [
      [
        [1, 1],
        [2, 3],
      ],
    ],
  ],
  ["1 as $x | reduce (2, 3) as $x (0; . + $x) | . + $x", [6]],
  [
    "{a: 1, b: null} | to_entries, with_entries(select(.value != null)), map_values(tostring)",
    [
      [
        { key: "a", value: 1 },
        { key: "b", value: null },
      ],
      { a: 1 },
      { a: "1", b: "null" },
    ],
  ],
  ['[{name: "a", value: 1}, {k: "b", v: 2}, {key: false}] | try from_entries catch "bad"', ["bad"]],
  ['[{name: "a", value: 1}, {k: "b", v: 2}] | from_entries', [{ a: 1, b: 2 }]],
  ["[3, 1, 2] | sort, min, max, add, reverse, first, last, (. - [1])", [[1, 2, 3], 1, 3, 6, [2, 1, 3], 3, 2, [3, 2]]],
  [
    "[{a: 2}, {a: 1, b: 1}, {a: 1}] | sort_by(.a), group_by(.a), unique_by(.a), min_by(.a), max_by(.a)",
    [
      [{ a: 1, b: 1 }, { a: 1 }, { a: 2 }],
      [[{ a: 1, b: 1 }, { a: 1 }], [{ a: 2 }]],
      [{ a: 1, b: 1 }, { a: 2 }],
      { a: 1, b: 1 },
      { a: 2 },
    ],
  ],
  [
    "[1, [2, [3]]] | flatten, flatten(1)",
    [
      [1, 2, 3],
      [1, 2, [3]],
    ],
  ],
  [
    "[range(3)], [range(1; 3)], [range(5; 0; -2)]",
    [
      [0, 1, 2],
      [1, 2],
      [5, 3, 1],
    ],
  ],
  [
    '{a: [1]} | [paths], [paths(type == "number")], [path(.a[0], .b)]',
    [[["a"], ["a", 0]], [["a", 0]], [["a", 0], ["b"]]],
  ],
  [
    '[1, {a: 2}] | walk(if type == "number" then . + 1 else . end), del(.[0]), (. | tojson)',
    [[2, { a: 3 }], [{ a: 2 }], '[1,{"a":2}]'],
  ],
  [
    '"a,b,a" | index("a"), rindex("a"), indices("a"), split(","), (. / ","), .[2:], .[0]',
    [0, 4, [0, 4], ["a", "b", "a"], ["a", "b", "a"], "b,a", "a"],
  ],
  [
    '[" x " | trim, ltrim, rtrim], ("10" | tonumber), ({b: 1, a: 2} | tojson), ("[1]" | fromjson)',
    [["x", "x ", " x"], 10, '{"a":2,"b":1}', [1]],
  ],
  [
    "[limit(2; 1, 2, 3)], nth(1; 1, 2, 3), [skip(1; 1, 2)], isempty(empty), last(1, 2), any(1, 2; . > 1), all(1, 2; . > 1)",
    [[1, 2], 2, [2], true, 2, true, false],
  ],
  [
    "[1 | until(. > 50; . * 2)], [1 | while(. < 5; . * 2)], [2 | recurse(if . < 4 then . + 1 else empty end)]",
    [[64], [1, 2, 4], [2, 3, 4]],
  ],
  [
    '"ab" * 2, ({a: {b: 1}} * {a: {c: 2}}), (5 % 3), (try (1 / 0) catch "zero"), ({a: 1} + {b: 2})',
    ["abab", { a: { b: 1, c: 2 } }, 2, "zero", { a: 1, b: 2 }],
  ],
  // Functions of one's own: parts are not values until they are used, a sign makes one a value.
  ["def f(g): g | g; 3 | f(. + 1)", [5]],
  ["def f($a; $b): $a + $b; f((1, 2); (10, 20))", [11, 21, 12, 22]],
  ["def fac: if . <= 1 then 1 else . * (. - 1 | fac) end; 5 | fac", [120]],
  ["1 as $x | def f: $x; 2 as $x | f, $x", [1, 2]],
  ["def f: def g: 1; g + 1; f, (def g: 5; g + f)", [2, 7]],
  ['def map(f): "mine"; [1] | map(.)', ["mine"]],
  ["def r(f): ., (f | r(f)); [1 | r(if . < 4 then . + 1 else empty end)]", [[1, 2, 3, 4]]],
  ["def f(g): [path(g)]; f(.spec.replicas)", [[["spec", "replicas"]]]],
  // Regular expressions, in Go's syntax.
  [
    '"Foo bar foo" | [match("foo"; "gi").offset], test("FOO"), test("FOO"; "i"), [scan("[a-z]+")]',
    [[0, 8], false, true, ["oo", "bar", "foo"]],
  ],
  [
    '"a1b" | match("(?<l>[a-z])(?P<d>\\\\d)?(x)?")',
    [
      {
        offset: 0,
        length: 2,
        string: "a1",
        captures: [
          { offset: 0, length: 1, string: "a", name: "l" },
          { offset: 1, length: 1, string: "1", name: "d" },
          { offset: -1, length: 0, string: null, name: null },
        ],
      },
    ],
  ],
  ['"a1b22" | capture("(?<l>[a-z])(?<d>\\\\d+)"), [capture("(?<d>\\\\d+)"; "g").d]', [{ l: "a", d: "1" }, ["1", "22"]]],
  [
    '"a1b22" | sub("\\\\d+"; "-"), gsub("(?<d>\\\\d+)"; "<\\(.d)>"), [gsub("\\\\d"; "x", "y")]',
    ["a-b22", "a<1>b<22>", ["axbxx", "aybyy"]],
  ],
  [
    '"a, b,c" | [splits(", *")], split(", *"; null), gsub("^"; ">"), gsub(""; "-")',
    [["a", "b", "c"], ["a", "b", "c"], ">a, b,c", "-a-,- -b-,-c-"],
  ],
  [
    '"o\\nl" | test("o.l"), test("o.l"; "m"), (try test("a"; "x") catch "flag"), (try test("(?=a)") catch "look")',
    [false, true, "flag", "look"],
  ],
  // Assignments.
  [
    "{a: 1} | .a = 2, .a += 3, .a |= . * 5, .b //= 7, (.a = (8, 9))",
    [{ a: 2 }, { a: 4 }, { a: 5 }, { a: 1, b: 7 }, { a: 8 }, { a: 9 }],
  ],
  [
    "[1, 2, 3] | .[1:] = [9], .[-1] |= 0, (.[] | select(. == 2)) |= empty, map(. - 1)",
    [
      [1, 9],
      [1, 2, 0],
      [1, 3],
      [0, 1, 2],
    ],
  ],
  [
    'null | .a[1].b = 1, setpath(["x", 0]; 2), (try (.[-1] = 1) catch "none")',
    [{ a: [null, { b: 1 }] }, { x: [2] }, "none"],
  ],
  [
    '{a: [1, 2], b: 3} | delpaths([["a", 0], ["b"]]), pick(.a[1]), del(.a[0], .a[0])',
    [{ a: [2] }, { a: [null, 2] }, { a: [2], b: 3 }],
  ],
  ["[[1, {a: 2}] | tostream]", [[[[0], 1], [[1, "a"], 2], [[1, "a"]], [[1]]]]],
  // The first pattern that fits.
  ["[[1, 2]], {a: 3} | . as [[$x]] ?// {a: $x} | $x", [1, 3]],
  ['[[3]] | .[] as [$a] ?// $a | if ($a | type) == "number" then error("x") else $a end', [[3]]],
  ["1 // 2 as $x | $x", [1]],
  ["[65, 233] | implode", ["Aé"]],
  [
    "[limit(3; repeat(1))], ([1, 3] | bsearch(3), bsearch(2)), [[1, 2], [3]] | tojson",
    ["[1,1,1]", "1", "-2", "[[1,2],[3]]"],
  ],
  [
    "[[1, 2], [3]] | [combinations]",
    [
      [
        [1, 3],
        [2, 3],
      ],
    ],
  ],
  ["infinite, nan | tojson", ["1.7976931348623157e+308", "null"]],
  ["[1, 2] < [1, 3], ({a: 1} < {b: 0}), ([] < {}), (null < false)", [true, true, true, true]],
])("value of %s", (expression, want) => {
  // A value is read by way of the place that its text names.
  const program = compileJq(`.probe[${expression} | tojson]`);
  if (typeof program === "string") throw new Error(program);
  const found = pathsOf(program, { ...document, probe: {} }) as Path[];
  expect(found.map((path) => JSON.parse(String(path[1])))).toEqual(want);
});

test.each([
  [".spec[", /expected|unexpected/],
  [".a b", /unexpected b/],
  ["input", /function input\/0 is not supported/],
  ["env.HOME | select(.x | debug)", /function env\/0 is not supported/],
  ["def f: .; g", /function g\/0 is not supported/],
  ["def f(g): g; f", /function f\/0 is not supported/],
  ["def f: .", /expected ;/],
  ["def f(: .; f", /expected a name/],
  [". as $a ?// . | .", /expected \[|expected {/],
  [".a = .b = .c", /unexpected =/],
  ["now", /function now\/0 is not supported/],
  ["$ENV.HOME", /\$ENV is not defined/],
  ["#", /unexpected character/],
  ['"a', /a text is not ended/],
  ['"\\(1"', /not ended/],
  ['"\\(1 2)"', /unexpected 2/],
  ["@nothing", /not a format/],
  ["{a:1", /expected }/],
  ["reduce .[] as $x (0)", /expected ;/],
  [". as [$a | 1", /expected ]/],
  ["$x", /\$x is not defined/],
  [".a as [x] | .", /expected a variable/],
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

test.each([
  "[range(1e9)]",
  "reduce range(1e5) as $i ([]; . + [$i])",
  "[range(2e5)] - [range(2e5)]",
  "[range(9e4)] as $a | $a | indices($a[1:])",
  "[range(2e3) | [.]] + [[range(1e5)]] | transpose",
  "[limit(9e5; repeat(1))]",
  "def f: f; f",
  "def f(g): f(g | g); f(.)",
  "def f: [., .] | f; f",
  '"a" | def f: . + . | f; f',
  "[repeat(1)]",
  "[combinations(30)]",
  ".[999999999] = 1",
  '[range(1e5) | tostring | gsub("[0-9]"; "xx")]',
  "reduce range(1e5) as $i (.; .[$i] = 1)",
  "until(false; .)",
  "[..] as $a | $a[] as $b | $a[] | empty",
])("%s is bounded", (text) => {
  const program = compileJq(text);
  if (typeof program === "string") throw new Error(program);
  expect(pathsOf(program, Array(2_000).fill({ a: [1, 2] }))).toBe("slow");
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

// Each took seconds to hours, in which nothing else runs; `true` where the answer is there, and `false` where it does too much.
test.each<[string, object, boolean]>([
  ['select([.x | match("a"; "g").offset] | length > 0)', { x: `${"x".repeat(89)}a`.repeat(9_000) }, true],
  ['select(.x | indices("a") | length > 0)', { x: "xa".repeat(40_000) }, true],
  ["select([range(20000) as $i | .x | length] | any)", { x: "x".repeat(900_000) }, false],
  ["select([range(20000) as $i | .x[0:1]] | any)", { x: "x".repeat(900_000) }, false],
  ["select([range(20000) as $i | .x | fromjson?] | any)", { x: `[${"1,".repeat(400_000)}` }, false],
  ['select([range(4500) as $i | .x | test("(y+)+z")] | any)', { x: "y".repeat(16) }, false],
])("what %s takes is bounded", (text, document, want) => {
  const before = process.cpuUsage();
  const paths = pathsOf(compileJq(text) as Exclude<ReturnType<typeof compileJq>, string>, document);
  const { user, system } = process.cpuUsage(before);
  expect(paths).toEqual(want ? [[]] : "slow");
  expect((user + system) / 1_000).toBeLessThan(1_500);
});

// Of jq's manual.
test.each<[string, unknown]>([
  ["contains({foo: 12, bar: [{barp: 12}]})", { foo: 12, bar: [1, 2, { barp: 12, blip: 13 }] }],
  ['[match(["foo", "ig"]).offset] == [0, 8]', "foo bar FOO"],
  ['[match("(a)?b"; "g").captures[0].offset] == [-1, 2]', "b ab"],
  ["(. * -1) == 0", 0],
])("%s holds", (text, document) => {
  expect(pathsOf(compileJq(`select(${text})`) as Exclude<ReturnType<typeof compileJq>, string>, document)).toEqual([
    [],
  ]);
});
