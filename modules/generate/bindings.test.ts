import { generateBindings } from "./bindings.ts";
import type { Attribute, ProviderSchema } from "./schema.ts";

const attributes: Record<string, Attribute> = {
  id: { type: "string", required: true, description: "Who it is. */ alert()" },
  count_of_it: { type: "number", optional: true },
  on: { type: "bool", optional: true, computed: true },
  tags: { type: ["set", "string"], optional: true },
  labels: { type: ["map", "string"], optional: true },
  secret: {
    nested_type: { nesting_mode: "single", attributes: { key: { type: "string", optional: true, write_only: true } } },
    optional: true,
    write_only: true,
  },
  parts: {
    nested_type: { nesting_mode: "list", attributes: { size: { type: "number", required: true } } },
    optional: true,
  },
  status: {
    nested_type: { nesting_mode: "single", attributes: { phase: { type: "string", computed: true } } },
    computed: true,
  },
};
const schema: ProviderSchema = {
  provider: { block: { attributes: { endpoint: { type: "string", optional: true } } } },
  resource_schemas: { acme_big_thing: { block: { attributes } } },
  data_source_schemas: {
    acme_big_thing: { block: { attributes: { id: attributes.id!, status: attributes.status! } } },
  },
  ephemeral_resource_schemas: {
    acme_key: { block: { attributes: { token: { type: "string", computed: true, sensitive: true } } } },
  },
};

test("one file for each resource, data source and ephemeral resource, as the goldens", () => {
  const files = generateBindings(schema, "example/acme");
  expect(Object.keys(files).sort()).toEqual([
    "big-thing.ts",
    "data-big-thing.ts",
    "ephemeral-key.ts",
    "index.ts",
    "provider.ts",
  ]);
  expect(files).toMatchSnapshot();
});

test("a description cannot end its comment", () => {
  expect(generateBindings(schema, "example/acme")["big-thing.ts"]).not.toContain("*/ alert");
});
