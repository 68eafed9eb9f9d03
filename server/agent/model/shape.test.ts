import document from "../../../openapi/contract/openapi.json" with { type: "json" };
import { MadeApplication, Source } from "./generated/shapes.ts";
import { type Fields, misshapen, type Reading } from "./shape.ts";

type Schema = { $ref?: string; properties?: Record<string, Schema>; items?: Schema };
const schemas = document.components.schemas as unknown as Record<string, Schema>;
const whole = (schema: Schema): Schema => (schema.$ref ? schemas[schema.$ref.split("/").pop()!]! : schema);

/** Paths of the contract's schema that the shape does not have. */
function missing(given: Schema, shape: Fields[string] | undefined, path: string): string[] {
  const schema = whole(given);
  if (schema.items) return missing(schema.items, Array.isArray(shape) ? shape[0] : shape, path);
  if (!schema.properties || shape === "map" || shape === "list") return shape === undefined ? [path] : [];
  if (typeof shape !== "object" || Array.isArray(shape)) return [path];
  return Object.entries(schema.properties).flatMap(([name, one]) =>
    missing(one, (shape as Fields)[name], `${path}.${name}`),
  );
}

/** What the service calls otherwise, and the agent resolves. */
const RESOLVED = ["source.repository", "source.repoUrl"];

test("everything that the contract can say about a source has a shape", () => {
  expect(missing({ $ref: "ApplicationSource" }, Source, "source").filter((path) => !RESOLVED.includes(path))).toEqual(
    [],
  );
});

test.each(["syncPolicy", "ignoreDifferences", "info"])(
  "everything that the contract can say about %s has a shape",
  (name) => {
    const { spec } = MadeApplication as { spec: Fields };
    expect(missing(schemas.ApplicationSpec!.properties![name]!, spec[name], name)).toEqual([]);
  },
);

const reading: Reading = {
  isText: (value) => typeof value === "string",
  isItem: (value) => value !== null,
  maxItems: 2,
};

test.each([
  [
    "a version of Kubernetes that is a number",
    { helm: { kubeVersion: 1.3 } },
    "source.helm.kubeVersion must be a text",
  ],
  ["a namespace that is a list", { helm: { namespace: [] } }, "source.helm.namespace must be a text"],
  [
    "API versions that are a text",
    { kustomize: { apiVersions: "v1" } },
    "source.kustomize.apiVersions must be a list of texts",
  ],
  [
    "a count that is no number",
    { kustomize: { replicas: [{ name: "a", count: "two" }] } },
    "source.kustomize.replicas[0].count must be a whole number",
  ],
  ["a path that is a number", { path: 5 }, "source.path must be a text"],
  [
    "a list that is too long",
    { helm: { parameters: [{}, {}, {}] } },
    "source.helm.parameters must be a list of objects",
  ],
  [
    "a variable's flag that is a text",
    { directory: { jsonnet: { tlas: [{ name: "a", code: "yes" }] } } },
    "source.directory.jsonnet.tlas[0].code must be true or false",
  ],
  [
    "a source of the right types",
    {
      repoURL: "r",
      helm: { valuesObject: { a: [1] }, skipTests: true },
      kustomize: { replicas: [{ name: "a", count: "2" }] },
    },
    undefined,
  ],
  ["what is null", { helm: null, path: null }, undefined],
])("%s", (_, source, problem) => {
  expect(misshapen(Source, source, "source", reading)).toBe(problem);
});
