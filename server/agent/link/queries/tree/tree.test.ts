import { done, type Outcome, stop } from "../../../../base/outcome.ts";
import type { KubeObject } from "../../../../kube/object.ts";
import type { Resource } from "../../../../kube/path.ts";
import type { TaskContext } from "../task.ts";
import type { Node } from "./nodes.ts";
import { applicationTree } from "./tree.ts";

const kind = (group: string, name: string, plural: string): Resource => ({
  group,
  version: "v1",
  kind: name,
  plural,
  namespaced: true,
  verbs: ["get", "list"],
});
const KINDS = [
  kind("apps", "Deployment", "deployments"),
  kind("apps", "ReplicaSet", "replicasets"),
  kind("", "Pod", "pods"),
  kind("cert-manager.io", "Certificate", "certificates"),
  kind("", "Secret", "secrets"),
];
const object = (of: string, name: string, owner?: string): KubeObject => ({
  apiVersion: { Pod: "v1", Secret: "v1", Certificate: "cert-manager.io/v1" }[of] ?? "apps/v1",
  kind: of,
  metadata: {
    name,
    namespace: "web",
    uid: `uid-${name}`,
    ...(owner ? { ownerReferences: [{ apiVersion: "v1", kind: "X", name: owner, uid: `uid-${owner}` }] } : {}),
  },
});

/** A cluster as far as a tree asks for it: pages of 500, kinds that may not be listed, and how often it was asked. */
function world(roots: KubeObject[], objects: KubeObject[], forbidden: string[] = []) {
  const asked: string[] = [];
  const app: KubeObject = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: {
      name: "app",
      labels: { "outpost.dev/managed": "true" },
      annotations: {
        "outpost.dev/uid": "u",
        "outpost.dev/id": "app",
        "outpost.dev/scope": "default/-/-",
        "outpost.dev/generation": "1",
      },
    },
    spec: {
      source: { repoURL: "https://h/x", path: "." },
      destination: { server: "https://kubernetes.default.svc", namespace: "web" },
    },
    status: {
      resources: roots.map(({ apiVersion, kind: of, metadata: { name, namespace } }) => {
        const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
        return { group, version, kind: of, name, namespace, status: "Synced" };
      }),
    },
  };
  const client = {
    get: async (resource: Resource, _namespace: string, name: string): Promise<Outcome<KubeObject>> => {
      if (resource.kind === "Application") return done(app);
      const found = [...roots, ...objects].find((one) => one.kind === resource.kind && one.metadata.name === name);
      return found ? done(found) : stop("NotFound", name);
    },
    list: async () => done({ items: [], resourceVersion: "" }),
    json: async (
      _method: string,
      path: string,
      { query, accept }: { query: Record<string, string | number | undefined>; accept?: string },
    ) => {
      const { plural, kind: of } = KINDS.find((one) => path.endsWith(`/${one.plural}`))!;
      asked.push(`${plural}${query.labelSelector ? " ours" : ""}${accept ? " names" : ""}`);
      if (forbidden.includes(of)) return stop("Forbidden", "no");
      const all = query.labelSelector ? [] : objects.filter((one) => one.kind === of);
      const from = Number(query.continue ?? 0);
      const next = from + Number(query.limit) < all.length ? String(from + Number(query.limit)) : undefined;
      return done({ items: all.slice(from, from + Number(query.limit)), metadata: { continue: next } });
    },
    discovery: {
      find: async (group: string, _version: string, of: string) =>
        done(KINDS.find((one) => one.group === group && one.kind === of)!),
      all: async () => KINDS,
    },
  };
  const tc = { ctx: { client, namespace: "outpost-agent", account: "default" }, repo: {} } as unknown as TaskContext;
  const task = { params: { key: "-/-/app", uid: "u", name: "app" } } as unknown as Parameters<
    typeof applicationTree
  >[1];
  return {
    asked,
    tree: () =>
      applicationTree(tc, task) as Promise<Outcome<{ nodes: Node[]; truncated?: boolean; unseen?: object[] }>>,
  };
}
const shown = <T>(outcome: Outcome<T>): T => {
  if (outcome.kind !== "done") throw new Error(outcome.message);
  return outcome.value;
};

test("a tree has at most 2,000 lines, parents before children, and says that there are more", async () => {
  const pods = Array.from({ length: 3_000 }, (_, i) => object("Pod", `p${i}`, "set"));
  const { tree, asked } = world([object("Deployment", "web")], [object("ReplicaSet", "set", "web"), ...pods]);
  const { nodes, truncated } = shown(await tree());
  expect([nodes.length, truncated]).toEqual([2_000, true]);
  expect(nodes.slice(0, 3).map(({ name }) => name)).toEqual(["web", "set", "p0"]);
  // Nothing but what can come of a Deployment was listed.
  expect(new Set(asked)).toEqual(new Set(["deployments ours", "replicasets", "pods"]));
});

test("a namespace with more objects than are looked at ends the search, not the answer", async () => {
  const pods = Array.from({ length: 25_000 }, (_, i) => object("Pod", `p${i}`, "somebody's"));
  const { tree, asked } = world([object("Deployment", "web")], [object("ReplicaSet", "set", "web"), ...pods]);
  const { nodes, truncated } = shown(await tree());
  expect([nodes.map(({ name }) => name), truncated]).toEqual([["web", "set"], true]);
  expect(asked.filter((one) => one === "pods").length).toBeLessThanOrEqual(40);
});

test("what may not be listed is told, and the rest is shown", async () => {
  const { tree } = world([object("Deployment", "web")], [object("ReplicaSet", "set", "web")], ["Pod"]);
  expect(shown(await tree())).toMatchObject({
    nodes: [{ name: "web" }, { name: "set" }],
    unseen: [{ kind: "Pod", namespace: "web", reason: "Forbidden" }],
  });
});

test("below a kind that others define anything is looked for, by name first, and read when it is shown", async () => {
  const { tree, asked } = world(
    [object("Certificate", "tls")],
    [object("Secret", "tls-key", "tls"), object("Secret", "other")],
  );
  const { nodes } = shown(await tree());
  expect(nodes.map(({ kind: of, name, parents }) => [of, name, parents])).toEqual([
    ["Certificate", "tls", undefined],
    ["Secret", "tls-key", ["uid-tls"]],
  ]);
  expect(asked).toContain("secrets names");
  expect(asked).toContain("pods");
});
