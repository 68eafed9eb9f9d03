import { compileJq, deletePaths, pathsOf } from "./jq.ts";

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
