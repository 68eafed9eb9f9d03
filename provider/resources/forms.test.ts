import { BAD } from "../../openapi/rules/testing/bad.ts";
import { BASES } from "../../openapi/rules/testing/bases.ts";
import { GOOD } from "../../openapi/rules/testing/good.ts";
import { pathOf } from "../client/problem.ts";
import { pipeline } from "../generated/pipeline.ts";
import { Diagnostics } from "../schema/diagnostics.ts";
import { blank } from "../schema/plan.ts";
import { print } from "../value/path.ts";
import { Unknown, type Value, type ValueMap } from "../value/value.ts";
import { createResource } from "./crud/resource.ts";
import { appProject } from "./nouns/app-project.ts";
import { application } from "./nouns/application.ts";
import { applicationSet } from "./nouns/application-set.ts";
import { cluster } from "./nouns/cluster.ts";
import { fromSpec } from "./spec.ts";

const RESOURCES = {
  applications: application,
  applicationsets: applicationSet,
  appprojects: appProject,
  clusters: cluster,
  pipelines: createResource(pipeline),
};

function configOf(collection: keyof typeof RESOURCES, spec: object): ValueMap {
  const { attributes } = RESOURCES[collection].schema;
  const local = Object.fromEntries(
    Object.entries(attributes).filter(([name]) => !["status", "id", "uid", "generation"].includes(name)),
  );
  return new Map([
    ...blank(attributes),
    ...fromSpec(local, JSON.parse(JSON.stringify({ ...BASES[collection], ...spec })), null),
  ]);
}

async function validate(collection: keyof typeof RESOURCES, config: ValueMap): Promise<Diagnostics> {
  const diagnostics = new Diagnostics();
  await RESOURCES[collection].validate!(config, diagnostics);
  return diagnostics;
}

test.each(BAD.map((one) => [one.name, one] as const))(
  "the provider refuses %s when it validates, at its attribute",
  async (_, bad) => {
    const { attributes } = RESOURCES[bad.collection].schema;
    const { list } = await validate(bad.collection, configOf(bad.collection, bad.spec));
    const place = print(pathOf(attributes, bad.pointer) ?? []);
    expect(list.map(({ path, detail }) => [print(path ?? []), detail])).toContainEqual([
      place,
      expect.stringMatching(bad.detail),
    ]);
  },
);

test.each(
  GOOD.map(
    ([collection, spec], i) => [`${collection} ${i}: ${JSON.stringify(spec).slice(0, 80)}`, collection, spec] as const,
  ),
)("the provider takes %s", async (_, collection, spec) => {
  expect((await validate(collection, configOf(collection, spec))).list).toEqual([]);
});

test("values that are unknown at plan time are left to the service", async () => {
  const config = configOf("applications", { syncPolicy: { syncOptions: ["CreateNamespace=true"] } });
  const policy = new Map(config.get("sync_policy") as ValueMap).set("sync_options", [
    new Unknown(),
    "CreateNamespaces=true",
  ]);
  expect((await validate("applications", new Map(config).set("sync_policy", policy))).list).toMatchObject([
    { detail: expect.stringContaining("Did you mean `CreateNamespace=true`?") },
  ]);
  expect((await validate("applications", new Map(config).set("sync_policy", new Unknown()))).list).toEqual([]);
});

test("kinds of a source of which all but one may become null are left to the service", async () => {
  const config = configOf("applications", {});
  const source = config.get("source") as ValueMap;
  const unset = new Unknown();
  const plugin = new Map<string, unknown>([["name", "p"]]);
  const parameters = [
    new Map([
      ["name", "n"],
      ["string", unset],
      ["array", unset],
      ["map", null],
    ] as never),
  ];
  const of = (more: object) =>
    validate("applications", new Map(config).set("source", new Map([...source, ...Object.entries(more)])));
  expect((await of({ helm: unset, kustomize: unset })).list).toEqual([]);
  expect((await of({ plugin: plugin.set("parameters", parameters) })).list).toEqual([]);
});

test("a number that JSON cannot hold is left to the schema, which says where it is", async () => {
  for (const text of ['{"a":1E400}', '{"a":9007199254740993}', '{"a":0.3333333333333333333333333333}']) {
    const config = configOf("applications", {
      source: { repoUrl: "https://git.example/a.git", path: "x", helm: { valuesObject: {} } },
    });
    const source = new Map(config.get("source") as ValueMap);
    source.set("helm", new Map(source.get("helm") as ValueMap).set("values_object", text));
    expect((await validate("applications", config.set("source", source))).list).toEqual([]);
  }
});

test("a fault inside JSON text says where it is", async () => {
  const [bad] = BAD.filter((one) => one.name === "a misspelt field of a template");
  const { list } = await validate("applicationsets", configOf("applicationsets", bad!.spec));
  expect(list[0]!.detail).toBe("At `spec.projct`: There is no field `projct` here. Did you mean `project`?");
});

test.each([
  ["the reserved id", { id: "in-cluster", server: "https://k.example" }, "id", /always means the agent's own cluster/],
  [
    "credentials for the agent's own cluster",
    { id: "c", server: "https://KUBERNETES.default.svc:443/", credentials: {} },
    "credentials",
    /own cluster/,
  ],
])(
  "the provider refuses a cluster with %s",
  async (_, { credentials, ...spec }: Record<string, unknown>, place, detail) => {
    const config = configOf("clusters", spec).set("id", spec.id as string);
    if (credentials) config.set("credentials", new Map());
    const { list } = await validate("clusters", config);
    expect(list.map(({ path, detail }) => [print(path ?? []), detail])).toContainEqual([
      place,
      expect.stringMatching(detail),
    ]);
  },
);

test("templates of a language that is not known yet are left to the service", async () => {
  const config = configOf("applicationsets", {}).set("template", '{"metadata":{"name":"{{name}}-x"},"spec":{}}');
  const of = async (go: Value) => (await validate("applicationsets", new Map(config).set("go_template", go))).list;
  expect(await of(true)).toMatchObject([{ detail: expect.stringContaining("no template function `name`") }]);
  expect(await of(false)).toEqual([]);
  expect(await of(new Unknown())).toEqual([]);
});
