import { application } from "../generated/application.ts";
import { cluster } from "../generated/cluster.ts";
import { print } from "../value/path.ts";
import { unknown, type Value, type ValueMap } from "../value/value.ts";
import { Diagnostics } from "./diagnostics.ts";
import { blank } from "./plan.ts";
import { validate } from "./validate.ts";

const faults = (schema: typeof application.schema, given: Record<string, Value>): string[] => {
  const config = new Map([...blank(schema.attributes), ...Object.entries(given)]);
  const diagnostics = new Diagnostics();
  validate(schema, config, diagnostics, { writeOnly: true });
  return diagnostics.list.map(({ summary, path }) => `${summary}: ${path && print(path)}`);
};
const object = (given: Record<string, Value>): ValueMap => new Map(Object.entries(given));

test("null for what is required is refused at every depth, and what is not known yet is not", () => {
  expect(faults(cluster.schema, { id: null, agent: unknown, server: null })).toEqual([
    "Missing value: id",
    "Missing value: server",
  ]);
  const parameter = object({ name: "p", value: null, force_string: null });
  const helm = object({ parameters: [parameter] });
  const source = object({ repo_url: "https://git.example.com/a.git", helm });
  expect(faults(application.schema, { id: "x", agent: "a", source, destination: object({}) })).toEqual([
    "Missing value: source.helm.parameters[0].value",
  ]);
});

test("null within a list, set or map is refused at its place", () => {
  expect(
    faults(application.schema, {
      id: "x",
      agent: "a",
      destination: object({}),
      source: object({ helm: object({ value_files: ["a", null] }) }),
      labels: object({ a: "1", b: null, c: unknown }),
    }),
  ).toEqual(["Missing element: source.helm.value_files[1]", 'Missing element: labels["b"]']);
  expect(
    faults(cluster.schema, { id: "c", agent: "a", server: "https://a.example", namespaces: ["a", null] }),
  ).toHaveLength(1);
});
