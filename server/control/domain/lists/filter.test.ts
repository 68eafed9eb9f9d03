import { Problem } from "../problem.ts";
import { parseFilter } from "./filter.ts";

const one = (text: string) => {
  const [term, ...more] = parseFilter(text);
  expect(more).toEqual([]);
  return [term!.operator, term!.values, term!.paths[0]!.join("/")];
};

describe("a filter is read term by term", () => {
  for (const [text, ...want] of [
    ["spec.agent=prod", "=", ["prod"], "spec/agent"],
    ["agent=prod", "=", ["prod"], "spec/agent"],
    ["spec.description=a=b", "=", ["a=b"], "spec/description"],
    ["health!=Healthy", "!=", ["Healthy"], "status/health/status"],
    ["id~web", "~", ["web"], "id"],
    ["id in (web, api)", "in", ["web", "api"], "id"],
    ["id in(web)", "in", ["web"], "id"],
    ["sync not in (Synced,Unknown)", "not in", ["Synced", "Unknown"], "status/sync/status"],
    ["owner exists", "exists", [], "found/owner/name"],
    ["status.reportedAt missing", "missing", [], "status/reportedAt"],
    ["labels.app.kubernetes.io/part-of=shop", "=", ["shop"], "spec/labels/app.kubernetes.io/part-of"],
    ['spec.description="a, (b) \\"c\\" \\\\"', "=", ['a, (b) "c" \\'], "spec/description"],
    ["spec.description=", "=", [""], "spec/description"],
  ] as const)
    test(text, () => expect(one(text)).toEqual(want));

  test("several terms must all hold", () =>
    expect(parseFilter("health!=Healthy,id in (a,b),agent=x").map((t) => t.operator)).toEqual(["!=", "in", "="]));
  test("no text is not a term", () =>
    expect([parseFilter(undefined), parseFilter(""), parseFilter("  ")]).toEqual([[], [], []]));
});

describe("what is not a filter is refused, with the term", () => {
  for (const [text, says] of [
    ["uid=1", "`uid` is not a field"],
    ["web", "`web` is not a term"],
    ["id=a,,id=b", "`` is not a term"],
    ["id in (a", "A bracket is not closed"],
    ["id=a)", "A bracket has no partner"],
    ["id in ((a))", "A bracket has no partner"],
    ['id="a', "A quote is not closed"],
    ['id=a"b"', "Put the whole value in double quotes"],
    ["constructor=1", "`constructor` is not a field"],
    ["labels.=1", "`labels.` is not a field"],
    ["spec=1", "`spec` is not a field"],
    [`id in (${"a,".repeat(200)}a)`, "the bound is 200"],
    ["id=a,".repeat(32).concat("id=a"), "the bound is 32"],
  ] as const)
    test(text.slice(0, 30), () => {
      let told: unknown;
      try {
        parseFilter(text);
      } catch (error) {
        told = error;
      }
      expect(told).toBeInstanceOf(Problem);
      expect((told as Problem).message).toContain(says);
    });
});
