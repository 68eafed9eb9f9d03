import { agent } from "../generated/agent.ts";
import { application } from "../generated/application.ts";
import { project } from "../generated/project.ts";
import type { Attributes } from "../schema/attribute.ts";
import { objectOf } from "../schema/type.ts";
import { equal } from "../value/equal.ts";
import { fromJson, type Json } from "../value/json.ts";
import type { ValueMap } from "../value/value.ts";
import { importId, reference } from "./functions.ts";
import { importForm, parseImportId, resolveReference } from "./scope.ts";
import { fromSpec, toSpec } from "./spec.ts";

const attributes: Attributes = Object.fromEntries(
  application.spec.map((name) => [name, application.schema.attributes[name]!]),
);
const value = (json: object): ValueMap => fromJson(objectOf(attributes), json as Json) as ValueMap;

const base = { agent: "prod", argo_project: "default", revision_history_limit: 10, destination: { namespace: "web" } };
test.each([
  ["names", { ...base, source: { repo_url: "https://a.b/c" } }, { source: { repoUrl: "https://a.b/c" } }],
  [
    "JSON text as an object",
    { ...base, source: { helm: { values_object: '{ "b": 1,  "a": [1.50] }' } } },
    { source: { helm: { valuesObject: { b: 1, a: [1.5] } } } },
  ],
  [
    "maps and lists",
    { ...base, labels: { "a/b": "1" }, source: { kustomize: { images: ["x=y"] } } },
    { labels: { "a/b": "1" }, source: { kustomize: { images: ["x=y"] } } },
  ],
  [
    "an empty list as it is",
    { ...base, source: { helm: { value_files: [] } } },
    { source: { helm: { valueFiles: [] } } },
  ],
  ["an empty object as it is", { ...base, sync_policy: { automated: {} } }, { syncPolicy: { automated: {} } }],
] as [string, object, object][])("%s: what is sent comes back as the same value", (_name, given, sent) => {
  const before = value(given);
  const json = toSpec(attributes, before);
  expect(json).toEqual({
    agent: "prod",
    argoProject: "default",
    revisionHistoryLimit: 10,
    destination: { namespace: "web" },
    ...sent,
  });
  expect(equal(objectOf(attributes), fromSpec(attributes, json, before), before)).toBe(true);
});

test.each([
  ["a missing field of the service, with a default", base, { agent: "prod", destination: { namespace: "web" } }, {}],
  ["a removed empty list", { ...base, info: [] }, { agent: "prod", destination: { namespace: "web" } }, { info: null }],
  ["an added empty list", base, { agent: "prod", destination: { namespace: "web" }, info: [] }, { info: [] }],
  [
    "a removed empty object",
    { ...base, sync_policy: { automated: {} } },
    { agent: "prod", destination: { namespace: "web" }, syncPolicy: {} },
    { sync_policy: {} },
  ],
  [
    "an added empty object",
    base,
    { agent: "prod", destination: { namespace: "web" }, syncPolicy: {} },
    { sync_policy: {} },
  ],
  [
    "an added empty JSON object",
    { ...base, source: { helm: {} } },
    { agent: "prod", destination: { namespace: "web" }, source: { helm: { valuesObject: {} } } },
    { source: { helm: { values_object: "{}" } } },
  ],
  [
    "another value",
    base,
    { agent: "prod", destination: { namespace: "other" } },
    { destination: { namespace: "other" } },
  ],
  [
    "a removed value",
    { ...base, labels: { a: "1" } },
    { agent: "prod", destination: { namespace: "web" } },
    { labels: null },
  ],
] as [string, object, object, object][])("reading: %s", (_name, prior, json, differs) => {
  const before = value(prior);
  expect(equal(objectOf(attributes), fromSpec(attributes, json, before), value({ ...prior, ...differs }))).toBe(true);
});

test.each([
  [application, "web", { id: "web" }],
  [application, "team/web", { id: "web", org: "team" }],
  [application, "team/shop/web", { id: "web", org: "team", project: "shop" }],
  [project, "team/shop", { id: "shop", org: "team" }],
  [project, "shop", undefined],
  [application, "a/b/c/d", undefined],
  [application, "Web", undefined],
  [application, "", undefined],
] as const)("%#: an import id is read", (noun, text, want) => {
  const found = parseImportId(noun, text);
  expect(found && { ...found, collection: undefined }).toEqual(
    want && { org: undefined, project: undefined, collection: undefined, ...want },
  );
});

test("references are followed from where they stand", () => {
  const from = { collection: "applications", id: "a", org: "team", project: "shop" };
  expect(resolveReference("agents", "prod", from)).toEqual({
    collection: "agents",
    id: "prod",
    org: "team",
    project: "shop",
  });
  expect(resolveReference("agents", "org.prod", from)).toEqual({ collection: "agents", id: "prod", org: "team" });
  expect(resolveReference("agents", "account.prod", from)).toEqual({
    collection: "agents",
    id: "prod",
    org: undefined,
  });
  expect([importForm(application), importForm(project), importForm(agent)]).toEqual([
    "[org/[project/]]id",
    "org/id",
    "[org/[project/]]id",
  ]);
});

test("functions", () => {
  expect(reference.call(["account", "prod"])).toBe("account.prod");
  expect(reference.call([null, "prod"])).toBe("prod");
  expect(() => reference.call(["team", "prod"])).toThrow("must be `account`");
  expect(importId.call(["team", null, "web"])).toBe("team/web");
  expect(() => importId.call([null, "shop", "web"])).toThrow("without an organisation");
});
