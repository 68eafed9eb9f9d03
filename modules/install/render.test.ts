import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments } from "yaml";
import { findHelm } from "../generate/helm.ts";
import { helmTemplate, type Manifest } from "../generate/manifests.ts";
import { fill } from "./fill.ts";
import { renderDelegateValues } from "./helm-values.ts";
import { renderAgentManifest, renderAgentValues, renderDelegateManifest } from "./render.ts";
import { slots } from "./slots.ts";
import { DEFAULT_IMAGE, type InstallValues } from "./values.ts";

const helm = findHelm();
const chart = (name: string) => fileURLToPath(new URL(`../charts/${name}`, import.meta.url));
/** Kubernetes reads YAML 1.1. */
const read = (text: string) => parseAllDocuments(text, { version: "1.1" }).map((doc) => doc.toJS() as Manifest);

const agent: InstallValues = {
  kind: "agent",
  id: "prod",
  account: "default",
  namespace: "spot",
  endpoint: "https://o.example",
  token: "ot1_a_b_c",
};
const delegate: InstallValues = { ...agent, kind: "delegate" };
const more = { image: "r.example:5000/o:9", httpsProxy: "http://p:1", noProxy: "10.0.0.0/8,x", imagePullSecret: "reg" };

test.each<[string, InstallValues]>([
  ["plain", agent],
  ["namespaced", { ...agent, mode: "namespaced" }],
  ["in one process", { ...agent, layout: "all" }],
  ["in one process, namespaced", { ...agent, layout: "all", mode: "namespaced" }],
  ["in a project, with everything", { ...agent, ...more, org: "acme", project: "web", redisImage: "redis:7" }],
  ["with shards", { ...agent, shards: 3, shardBy: "cluster", scmProviders: ["api.github.com", "git.example"] }],
  ["with shards, namespaced", { ...agent, mode: "namespaced", shards: 2 }],
  ["beside an Argo CD", { ...agent, engine: "argocd" }],
  [
    "beside an Argo CD, namespaced, with everything",
    { ...agent, ...more, engine: "argocd", mode: "namespaced", org: "acme" },
  ],
  ["with a proxy only", { ...agent, httpsProxy: "http://p:1" }],
  ["with an authority", { ...agent, caCertificate: "-----BEGIN CERTIFICATE-----" }],
  ["with an empty list of exceptions", { ...agent, httpsProxy: "http://p:1", noProxy: "" }],
  [
    "with values that YAML would take for others",
    { ...agent, token: "1e3", image: "no", imagePullSecret: "null", namespace: "123" },
  ],
])("an agent's manifest is what helm renders with its values: %s", (_, values) => {
  const got = read(renderAgentManifest(values));
  const passwords = got.find((m) => m.metadata.name === "outpost-agent-internal")?.stringData as
    | Record<string, string>
    | undefined;
  const own = { ...(parse(renderAgentValues(values)) as object), crds: { keep: false } };
  const internal = passwords
    ? {
        internal: {
          repoToken: passwords["repo-token"],
          redisPassword: passwords["redis-password"],
          readsToken: passwords["reads-token"],
        },
      }
    : {};
  const want = helmTemplate(helm, chart("outpost-agent"), "outpost-agent", values.namespace, { ...own, ...internal });
  expect(normal(got.filter((m) => m.kind !== "Namespace"))).toEqual(normal(want));
});

const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const { token: _, ...noToken } = delegate;

test.each<[string, InstallValues]>([
  ["plain", delegate],
  [
    "with everything",
    {
      ...delegate,
      ...more,
      org: "acme",
      description: 'a: "b"',
      tags: ["x", "y"],
      caCertificate: pem,
      initScript: "a\nb",
      replicas: 3,
    },
  ],
  ["with a long id", { ...delegate, id: "d".repeat(62) }],
  ["with an authority", { ...delegate, caCertificate: pem }],
  ["with an init script", { ...delegate, initScript: "echo 'x: y'" }],
  ...["none", "namespace-admin", "cluster-viewer", "cluster-admin", "system:aggregate-to-edit"].map(
    (permissions): [string, InstallValues] => [`with the permissions ${permissions}`, { ...delegate, permissions }],
  ),
  ["with a Secret of the user's", { ...noToken, existingSecret: "mine" }],
  ["without a token", noToken],
])("a delegate's manifest is what helm renders with its values: %s", (_, values) => {
  const got = read(renderDelegateManifest(values)).filter((m) => m.kind !== "Namespace");
  const release = got[0]!.metadata.labels!["app.kubernetes.io/instance"]!;
  // Helm takes no longer names, though Kubernetes takes them as labels.
  const short = release.slice(0, 53);
  const want = helmTemplate(
    helm,
    chart("outpost-delegate"),
    short,
    "spot",
    parse(renderDelegateValues(values)) as object,
  );
  const named = JSON.stringify(want).replaceAll(
    `"app.kubernetes.io/instance":"${short}"`,
    `"app.kubernetes.io/instance":"${release}"`,
  );
  expect(normal(got)).toEqual(normal(JSON.parse(named) as Manifest[]));
});

test("nothing of the placeholders is left, and nothing is a template", () => {
  const texts = [
    renderAgentManifest(agent),
    renderAgentManifest({ ...agent, layout: "all" }),
    renderDelegateManifest(delegate),
  ];
  for (const text of [...texts, renderDelegateManifest(noToken)]) {
    expect(text).not.toMatch(/slot-|\{\{/);
    expect(text).not.toMatch(/: ?(undefined|null)$/m);
  }
});

test("the namespace comes first, definitions before what uses them", () => {
  const kinds = read(renderAgentManifest(agent)).map((m) => m.kind);
  expect(kinds.slice(0, 4)).toEqual([
    "Namespace",
    "CustomResourceDefinition",
    "CustomResourceDefinition",
    "CustomResourceDefinition",
  ]);
  expect(kinds.at(-1)).toBe("Deployment");
});

test("values cannot become structure", () => {
  const evil = 'x"\n---\nkind: Pod\nmetadata: {name: evil}\n#: &a *b';
  const got = read(renderDelegateManifest({ ...delegate, description: evil, token: evil, tags: [evil] }));
  expect(got.map((m) => m.kind)).not.toContain("Pod");
  expect(got.find((m) => m.kind === "Secret")!.stringData).toEqual({ token: evil });
});

test("a value that looks like another placeholder stays as it is", () => {
  const got = read(renderDelegateManifest({ ...delegate, description: slots.token, token: slots.endpoint }));
  expect(got.find((m) => m.kind === "Secret")!.stringData).toEqual({ token: slots.endpoint });
});

test("the same token gives the same passwords, another token others", () => {
  const passwords = (token: string) =>
    JSON.stringify(
      read(renderAgentManifest({ ...agent, token })).find((m) => m.metadata.name === "outpost-agent-internal")!
        .stringData,
    );
  expect(passwords("a")).toBe(passwords("a"));
  expect(passwords("a")).not.toBe(passwords("b"));
});

test("the image is the chart's unless another is named", () => {
  const images = (values: InstallValues) =>
    new Set([...renderAgentManifest(values).matchAll(/^\s+image: "(.*)"$/gm)].map((m) => m[1]));
  expect(images(agent)).toEqual(new Set([DEFAULT_IMAGE]));
  expect(images({ ...agent, image: "mine:1" })).toEqual(new Set(["mine:1"]));
});

test("a missing value drops the nearest list item or key, and an empty list", () => {
  const tree = {
    secrets: [{ name: slots.imagePullSecret }],
    env: [
      { name: "A", value: slots.moreNoProxy },
      { name: "B", value: "b" },
    ],
    note: slots.description,
    kept: [],
  };
  expect(fill(tree, {})).toEqual({ env: [{ name: "B", value: "b" }], kept: [] });
});

function normal(manifests: Manifest[]): unknown[] {
  return manifests
    .map(
      (m) =>
        JSON.parse(
          JSON.stringify(m).replaceAll(
            '"app.kubernetes.io/managed-by":"Helm"',
            '"app.kubernetes.io/managed-by":"outpost-manifest"',
          ),
        ) as Manifest,
    )
    .sort((a, b) => `${a.kind}/${a.metadata.name}`.localeCompare(`${b.kind}/${b.metadata.name}`));
}
