import { FunctionFault, type Provider, type Resource } from "../protocol/provider.ts";
import type { Attributes, Schema } from "../schema/attribute.ts";
import { objectOf } from "../schema/type.ts";
import { dynamic, list, number, string } from "../value/type.ts";
import { Dynamic, isMap, stringField, Unknown, type Value, type ValueMap } from "../value/value.ts";

/** The attributes of a bed inside a garden: each presence once, inside every nesting. */
const bed: Attributes = {
  plant: { type: "string", presence: "required", rules: { pattern: "^[a-z]+$" } },
  rows: { type: "number", presence: "either", default: 1, rules: { integer: true, minimum: 1, maximum: 9 } },
  note: { type: "string", presence: "optional" },
  tag: { type: "string", presence: "computed", stable: true },
};

export const gardenSchema: Schema = {
  version: 1,
  description: "A resource with everything that the framework can do.",
  attributes: {
    id: { type: "string", presence: "required", replace: true, rules: { pattern: "^[a-z][a-z0-9-]*$", maxLength: 20 } },
    title: { type: "string", presence: "optional" },
    size: { type: "number", presence: "either", default: 10 },
    soil: { type: "string", presence: "either" },
    kind: { type: "string", presence: "either", default: "open", replace: true, rules: { enum: ["open", "glass"] } },
    labels: { type: ["map", "string"], presence: "optional" },
    colors: { type: ["set", "string"], presence: "optional", rules: { each: { maxLength: 9 } } },
    layout: { type: "string", presence: "optional", rules: { json: "object" } },
    anything: { type: "dynamic", presence: "optional" },
    front: {
      nesting: "single",
      attributes: { ...bed, fence: { type: "string", presence: "optional", replace: true } },
      presence: "optional",
    },
    beds: { nesting: "list", attributes: bed, presence: "optional" },
    pots: { nesting: "set", attributes: bed, presence: "optional" },
    rooms: { nesting: "map", attributes: bed, presence: "optional" },
    gate: {
      nesting: "single",
      attributes: { code: { type: "string", presence: "optional", writeOnly: true, sensitive: true } },
      presence: "optional",
      writeOnly: true,
    },
    gate_version: { type: "string", presence: "optional" },
    secret: { type: "string", presence: "optional", sensitive: true },
    patience: { type: "string", presence: "optional", local: true, rules: { duration: true } },
    uid: { type: "string", presence: "computed", stable: true },
    revision: { type: "number", presence: "computed" },
  },
};

export interface Garden {
  /** What the service holds, by id; tests change it to make drift. */
  readonly store: Map<string, ValueMap>;
  /** What write-only values arrived with. */
  readonly codes: string[];
  /** Names of the calls, in order. */
  readonly calls: string[];
  /** Set by a test to break the next call in some way. */
  fault:
    | { create?: "error" | "throw" | "after" | "hang" | "null" | "wrong" | "unknown"; read?: "unknown" | "secret" }
    | undefined;
  readonly provider: Provider;
}

/** Fills what the service decides: tags of beds, soil, uid and revision. */
function settle(attributes: Attributes, planned: ValueMap, revision: number): ValueMap {
  const out: ValueMap = new Map();
  for (const [name, a] of Object.entries(attributes)) {
    const value = planned.get(name) ?? null;
    if (a.writeOnly) out.set(name, null);
    else if (value instanceof Unknown && name === "revision") out.set(name, revision);
    else if (value instanceof Unknown) out.set(name, name === "soil" ? "loam" : `${name}-${revision}`);
    else if (!a.attributes || value === null) out.set(name, value);
    else if (a.nesting === "single") out.set(name, settle(a.attributes, value as ValueMap, revision));
    else if (isMap(value))
      out.set(name, new Map([...value].map(([k, v]) => [k, settle(a.attributes!, v as ValueMap, revision)])));
    else
      out.set(
        name,
        (value as Value[]).map((v) => settle(a.attributes!, v as ValueMap, revision)),
      );
  }
  return out;
}

/** A provider called `garden`, with one resource, data source, ephemeral resource and function, over a map in memory. */
export function createGarden(): Garden {
  const store = new Map<string, ValueMap>();
  const codes: string[] = [];
  const calls: string[] = [];
  let revision = 0;
  const { attributes } = gardenSchema;
  const save = (planned: ValueMap, config: ValueMap): ValueMap => {
    const code = stringField(config.get("gate") ?? null, "code");
    if (code !== undefined) codes.push(code);
    const state = settle(attributes, planned, ++revision);
    store.set(stringField(state, "id")!, state);
    return state;
  };
  const plot: Resource = {
    schema: gardenSchema,
    validate: (config, diagnostics) => {
      if (stringField(config, "title") === "weeds")
        diagnostics.error("No weeds", "A garden of weeds is not allowed.", [{ attr: "title" }]);
    },
    create: async ({ planned, config }, context) => {
      calls.push("create");
      const { create } = garden.fault ?? {};
      if (create === "throw") throw new Error("the spade broke");
      if (create === "error") {
        context.diagnostics.error("No room", "There is no room for this garden.", [
          { attr: "beds" },
          { index: 0 },
          { attr: "plant" },
        ]);
        return null;
      }
      const state = save(planned, config);
      if (create === "null") return null;
      if (create === "wrong") return new Map([...state, ["title", "another"]]);
      if (create === "unknown") return new Map([...state, ["uid", new Unknown()]]);
      if (create === "after" || create === "hang") {
        context.checkpoint(planned);
        if (create === "after") throw new Error("it rained");
        await new Promise((_resolve, reject) =>
          context.signal.addEventListener("abort", () => reject(context.signal.reason)),
        );
      }
      return state;
    },
    read: async (state) => {
      calls.push("read");
      const found = store.get(stringField(state, "id")!);
      if (!found) return null;
      if (garden.fault?.read === "unknown") return new Map([...found, ["title", new Unknown()]]);
      return new Map([...found, ["patience", state.get("patience") ?? null]]);
    },
    update: async ({ planned, config }) => {
      calls.push("update");
      return save(planned, config);
    },
    delete: async (state) => {
      calls.push("delete");
      store.delete(stringField(state, "id")!);
    },
    import: async (id) => {
      calls.push("import");
      const found = store.get(id);
      return found
        ? new Map([...objectOf(attributes).fields.keys()].map((name) => [name, name === "id" ? id : null]))
        : null;
    },
    upgrade: {
      0: (state) => ({ ...state, title: state.name ?? null }),
    },
  };
  const garden: Garden = {
    store,
    codes,
    calls,
    fault: undefined,
    provider: {
      name: "garden",
      version: "0.0.1",
      schema: { attributes: { owner: { type: "string", presence: "optional" } } },
      configure: (config) => ({ owner: stringField(config, "owner") ?? "nobody" }),
      resources: { garden_plot: () => plot },
      dataSources: {
        garden_owner: () => ({
          schema: { attributes: { name: { type: "string", presence: "computed" } } },
          read: async (_config, context) => new Map([["name", ((await context.client()) as { owner: string }).owner]]),
        }),
      },
      ephemeralResources: {
        garden_key: () => ({
          schema: {
            attributes: {
              door: { type: "string", presence: "required" },
              key: { type: "string", presence: "computed", sensitive: true },
            },
          },
          open: async (config) => {
            calls.push("open");
            const door = stringField(config, "door")!;
            return {
              result: new Map([...config, ["key", `key-of-${door}`]]),
              private: { door },
              renewAt: new Date(Date.now() + 3_600_000),
            };
          },
          close: async (lease) => {
            calls.push(`close ${(lease as { door: string }).door}`);
          },
        }),
      },
      functions: {
        repeat: () => ({
          summary: "Repeats a text",
          description: "Repeats a text `times` times.",
          parameters: [
            { name: "text", type: string, description: "The text." },
            { name: "times", type: number, description: "How often." },
          ],
          variadic: { name: "more", type: dynamic, description: "Shown as it is." },
          returns: list(string),
          call: ([text, times, ...more]) => {
            if ((times as number) < 0) throw new FunctionFault("must not be negative", 1);
            return [
              (text as string).repeat(times as number),
              ...more.map((m) => (m instanceof Dynamic ? String(m.value) : "?")),
            ];
          },
        }),
      },
    },
  };
  return garden;
}
