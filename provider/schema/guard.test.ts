import { gardenSchema } from "../testing/garden.ts";
import { Unknown, unknown, type Value, type ValueMap } from "../value/value.ts";
import type { Attributes } from "./attribute.ts";
import { Diagnostics } from "./diagnostics.ts";
import { guardApply, guardPlan, guardSchema, guardState } from "./guard.ts";
import { plan } from "./plan.ts";
import { objectOf } from "./type.ts";

const words = (check: (d: Diagnostics) => void): string[] => {
  const diagnostics = new Diagnostics();
  check(diagnostics);
  return diagnostics.list.map((d) => d.detail.replace(/^x: /, "").replace(/ Please report this\.$/, ""));
};
const config = (set: Record<string, Value> = {}): ValueMap =>
  new Map([...objectOf(gardenSchema.attributes).fields.keys()].map((name) => [name, set[name] ?? null]));
const base = {
  id: "a",
  title: "t",
  front: new Map<string, Value>([
    ["plant", "rose"],
    ["rows", null],
    ["note", null],
    ["tag", null],
    ["fence", null],
  ]),
};
const planned = plan(gardenSchema, config(base), null);
const result = (set: Record<string, Value> = {}): ValueMap => {
  const out = new Map(plan(gardenSchema, config(base), null));
  for (const [name, value] of out) if (value instanceof Unknown) out.set(name, name === "revision" ? 1 : "known");
  out.set("front", new Map([...(out.get("front") as ValueMap), ["tag", "known"]]));
  for (const [name, value] of Object.entries(set)) out.set(name, value);
  return out;
};

test.each([
  ["nothing", {}, []],
  ["a name with capitals", { aB: { type: "string", presence: "optional" } }, ["`aB` is not a lower-case name."]],
  [
    "a default of a required attribute",
    { a: { type: "string", presence: "required", default: "x" } },
    ["`a` has a default, which only a value that the user may leave out can have."],
  ],
  [
    "a computed write-only attribute",
    { a: { type: "string", presence: "computed", writeOnly: true } },
    ["`a` is write-only and cannot be computed."],
  ],
  [
    "write-only inside a set",
    {
      a: {
        nesting: "set",
        presence: "optional",
        attributes: { b: { type: "string", presence: "optional", writeOnly: true } },
      },
    },
    ["`a.b` is write-only and cannot be inside a set."],
  ],
  [
    "a child of a write-only attribute",
    {
      a: {
        nesting: "single",
        presence: "optional",
        writeOnly: true,
        attributes: { b: { type: "string", presence: "optional" } },
      },
    },
    ["`a.b` is inside a write-only attribute and must be write-only too."],
  ],
  [
    "dynamic inside a list",
    { a: { nesting: "list", presence: "optional", attributes: { b: { type: "dynamic", presence: "optional" } } } },
    ["`a.b` is dynamic and cannot be inside a collection."],
  ],
  ["no type", { a: { presence: "optional" } }, ["`a` needs a type or nested attributes, and not both."]],
  ["an invalid type", { a: { type: "text", presence: "optional" } }, ['`a` has no valid type: not a type: "text".']],
] as [string, Attributes, string[]][])("a schema is refused for %s", (_name, attributes, want) => {
  expect(words((d) => guardSchema("x", { attributes }, d))).toEqual(want);
});

test.each([
  ["the framework's own plan", {}, null, []],
  [
    "another value than the configured one",
    { title: "u" },
    null,
    ["`title` was planned with another value than the configured one."],
  ],
  [
    "unknown for a configured value",
    { title: unknown },
    null,
    ["`title` was planned with another value than the configured one."],
  ],
  [
    "null for a computed value of a new object",
    { uid: null },
    null,
    ["`uid` is computed and was planned as null for a new object; it must be unknown or final."],
  ],
  [
    "a value nobody configured",
    { secret: "s" },
    null,
    ["`secret` is not configured, has no computed value, and was planned all the same."],
  ],
  [
    "a write-only value",
    { gate: new Map([["code", "s"]]) },
    null,
    ["`gate` is write-only and must be null in the plan."],
  ],
  ["an unknown stable value on update", { uid: unknown }, result(), ["`uid` is stable and was planned as unknown."]],
  ["an attribute beyond the schema", { other: "x" }, null, ["`other` is not in the schema."]],
  [
    "a nested value",
    { front: new Map([...(planned.get("front") as ValueMap), ["plant", "fern"]]) },
    null,
    ["`front.plant` was planned with another value than the configured one."],
  ],
] as [string, Record<string, Value>, Value, string[]][])("a plan is checked for %s", (_name, set, prior, want) => {
  const own = prior === null ? planned : plan(gardenSchema, config(base), prior as ValueMap);
  expect(
    words((d) => guardPlan("x", gardenSchema, config(base), prior, new Map([...own, ...Object.entries(set)]), d)),
  ).toEqual(want);
});

test("a plan of nothing is refused", () => {
  expect(words((d) => guardPlan("x", gardenSchema, config(base), null, null, d))).toEqual([
    "it was planned for absence although the configuration wants it.",
  ]);
});

test.each([
  ["an honest result", result(), []],
  ["no state", null, ["it was created or updated and has no state."]],
  ["a changed value", result({ title: "u" }), ["`title` has another value after apply than was planned."]],
  [
    "null where an empty map was not planned",
    result({ labels: new Map() }),
    ["`labels` has another value after apply than was planned."],
  ],
  ["an unknown left over", result({ uid: unknown }), ["`uid` is still unknown after apply."]],
  [
    "a stored secret",
    result({ gate: new Map([["code", "s"]]) }),
    ["`gate` is write-only and must be null in the state."],
  ],
] as [string, Value, string[]][])("an apply is checked for %s", (_name, state, want) => {
  expect(words((d) => guardApply("x", gardenSchema, planned, state, d))).toEqual(want);
});

test("a deleted object has no state, and a refinement that was planned must hold", () => {
  expect(words((d) => guardApply("x", gardenSchema, null, result(), d))).toEqual([
    "it was deleted and still has a state.",
  ]);
  const promised = new Map([...planned, ["uid", new Unknown({ notNull: true, prefix: "uid-" })] as const]);
  expect(words((d) => guardApply("x", gardenSchema, promised, result(), d))).toEqual([
    "`uid` was promised to start with another text.",
  ]);
  expect(words((d) => guardState("x", gardenSchema, result({ size: unknown }), d))).toEqual([
    "`size` is still unknown after apply.",
  ]);
});
