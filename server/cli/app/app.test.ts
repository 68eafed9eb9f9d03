import { colours } from "../../base/colour.ts";
import { person } from "../testing.ts";
import { diffText } from "./diff.ts";
import { parseResource } from "./resource-name.ts";
import { drawTree } from "./tree.ts";

const plain = colours(false);
const head = {
  uid: "u",
  generation: 2,
  version: "7",
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
};
const app = (status: object) => ({ ...head, id: "web", spec: { agent: "prod", destination: {} }, status });
const event = (object: object, id: number) => `id: ${id}\nevent: put\ndata: ${JSON.stringify(object)}\n\n`;

const node = (kind: string, name: string, uid: string, parents?: string[], more: object = {}) => ({
  version: "v1",
  kind,
  name,
  uid,
  ...(parents ? { parents } : {}),
  ...more,
});

test("a tree is drawn with each object below the one it came of", () => {
  const tree = {
    nodes: [
      node("ConfigMap", "settings", "c", undefined, { status: "Synced" }),
      node("Deployment", "web", "d", undefined, { group: "apps", status: "OutOfSync", health: "Progressing" }),
      node("Job", "migrate", "j", undefined, { group: "batch", hook: true }),
      node("ReplicaSet", "web-2", "r2", ["d"], { group: "apps" }),
      node("ReplicaSet", "web-1", "r1", ["d"], { group: "apps" }),
      node("Pod", "web-2-a\u001b[2J", "p", ["r2"], { health: "Healthy", info: [{ name: "ready", value: "1/1" }] }),
    ],
    orphans: [node("ConfigMap", "left", "o")],
  };
  expect(drawTree(tree as never, plain).split("\n")).toEqual([
    "RESOURCE                  SYNC       HEALTH       INFO       MESSAGE",
    "ConfigMap settings        Synced     -",
    "apps/Deployment web       OutOfSync  Progressing",
    "├─ apps/ReplicaSet web-2  -          -",
    "│  └─ Pod web-2-a\\x1b[2J  -          Healthy      ready 1/1",
    "└─ apps/ReplicaSet web-1  -          -",
    "batch/Job migrate (hook)  -          -",
    "",
    "Orphans (of the namespace, and of no application)",
    "  ConfigMap left",
  ]);
});

test("logs and events of an object that the application does not have name near candidates", async () => {
  const refusal = {
    code: "agent_refused",
    title: "x",
    status: 422,
    detail: "Deployment nope is not part of application web",
  };
  const me = person(({ operation }) =>
    operation === "getApplicationTree"
      ? {
          body: {
            nodes: [node("Deployment", "api", "d", undefined, { group: "apps" }), node("Pod", "api-1", "p", ["d"])],
          },
        }
      : { status: 422, body: refusal },
  );
  for (const verb of ["logs", "events"]) {
    const { exit, err } = await me.types("app", verb, "web", "deploy/nope");
    expect([exit, err]).toEqual([
      3,
      expect.stringContaining("application web has no Deployment nope; it has Deployment/api, Pod/api-1"),
    ]);
  }
  // The object is there, and the agent has another reason.
  expect((await me.types("app", "logs", "web", "deploy/api")).err).toContain(refusal.detail);
});

test("a circle of owners is drawn once and ends", () => {
  const tree = { nodes: [node("A", "a", "1", ["1"]), node("B", "b", "2", ["3"]), node("C", "c", "3", ["2"])] };
  expect(drawTree(tree as never, plain)).toContain("A a");
});

test("what was not looked for, and that there is more, is said beside the tree", async () => {
  const me = person(() => ({
    body: {
      nodes: [node("Pod", "p", "p")],
      truncated: true,
      unseen: [{ kind: "ReplicaSet", group: "apps", namespace: "web", reason: "Forbidden" }],
    },
  }));
  const { exit, out, err } = await me.types("app", "tree", "web");
  expect([exit, out]).toEqual([0, expect.stringContaining("Pod p")]);
  expect(err).toBe("there are more objects than are shown\nnot looked for: apps/ReplicaSet in web (Forbidden)\n");
  expect((await me.types("app", "tree", "web", "-o", "name")).out).toBe("Pod p\n");
});

test("a difference names the manager of each field", () => {
  const item = { kind: "Deployment", group: "apps", name: "web", change: "update", live: "a: 2\n", desired: "a: 1\n" };
  const fields = [
    { path: "/spec/replicas", manager: "kubectl-edit" },
    { path: "/metadata/labels/x" },
    { path: "/spec/replicas", manager: "kubectl", subresource: "scale" },
  ];
  expect(
    diffText({ ...item, fields } as never, plain)
      .split("\n")
      .slice(-3),
  ).toEqual([
    "    /spec/replicas was set by kubectl-edit",
    "    /metadata/labels/x is not set in the cluster",
    "    /spec/replicas was set by kubectl (scale)",
  ]);
});

test("a change of which Git's side is not known is not shown as a removal", () => {
  const item = { kind: "ConfigMap", name: "web", change: "update", live: "data: {}" } as never;
  expect(diffText(item, plain).split("\n")).toEqual([
    "~ update ConfigMap web",
    "    what Git says is not known here: `argocd app diff` shows it",
  ]);
  expect(diffText(item, plain, true)).toContain("\n    data: {}\n");
});

test("terminate waits for the end of what runs", async () => {
  const me = person(({ operation }) => {
    if (operation === "terminateApplication")
      return { status: 202, body: app({ operation: { id: "s1", phase: "Running" } }) };
    if (operation === "watch")
      return {
        type: "text/event-stream",
        body: [
          { id: "s1", phase: "Terminating" },
          { id: "s1", phase: "Failed", message: "Operation terminated" },
        ]
          .map((o, i) => event(app({ operation: o }), i))
          .join(""),
      };
    return { body: app({}) };
  });
  const { exit, err } = await me.types("app", "terminate", "web");
  expect([exit, err]).toEqual([0, expect.stringContaining("Operation terminated")]);
});

test("an action goes with its parameters; a resource shows what may be done to it", async () => {
  const live = {
    live: { kind: "Deployment" },
    actions: [{ name: "restart" }, { name: "scale", parameters: [{ name: "replicas", default: "2" }], disabled: true }],
  };
  const me = person(() => ({ body: live }));
  const did = await me.types("app", "action", "web", "apps/Deployment/shop/web", "scale", "--param", "replicas=3");
  expect(did.err).toBe("✓ scale of apps/Deployment/shop/web is done\n");
  expect(me.requests[0]!.body).toEqual({
    resource: { group: "apps", kind: "Deployment", namespace: "shop", name: "web" },
    action: "scale",
    parameters: { replicas: "3" },
  });
  const seen = await me.types("app", "resource", "web", "Service/web");
  expect([seen.out, seen.err]).toEqual(["kind: Deployment\n", "actions: restart, scale (replicas=2) [not now]\n"]);
  expect((await me.types("app", "action", "web", "nonsense", "restart")).exit).toBe(2);
  expect((await me.types("app", "action", "web", "apps/Deployment/web")).err).toContain(
    "name an action; Deployment web has",
  );
  expect((await me.types("app", "action", "web", "Pod/a", "restart", "--param", "x")).exit).toBe(2);
});

test("a revision says who, when, why and whose signature; charts and sets come as tables", async () => {
  const answers: Record<string, unknown> = {
    getApplicationRevision: {
      revision: "abc",
      author: "Ana <a@x>",
      message: "Why\n",
      tags: ["v1"],
      signature: "Good",
      signer: "Ana",
    },
    getRepositoryCharts: { items: [{ name: "web", versions: ["2.0.0", "1.0.0"] }] },
    generateApplicationSet: {
      items: [
        {
          metadata: { name: "web-a" },
          spec: { project: "p", destination: { name: "prod", namespace: "n" }, source: { path: "x" } },
        },
      ],
    },
  };
  const me = person(({ operation }) => ({ body: answers[operation!] }));
  expect((await me.types("app", "revision", "web")).out).toBe(
    "revision:   abc\nauthor:     Ana <a@x>\ntags:       v1\nsignature:  Good by Ana\nmessage:    Why\n",
  );
  expect((await me.types("repo", "charts", "r")).out).toBe("NAME  VERSIONS  NEWEST\nweb   2         2.0.0, 1.0.0\n");
  expect((await me.types("repo", "charts", "r", "web")).out).toBe("2.0.0\n1.0.0\n");
  expect((await me.types("repo", "charts", "r", "api")).exit).toBe(3);
  expect((await me.types("appset", "generate", "s")).out).toBe(
    "NAME   PROJECT  DESTINATION  REVISION  PATH\nweb-a  p        prod / n     -         x\n",
  );
});

test.each([
  ["apps/Deployment/web/api", { group: "apps", kind: "Deployment", namespace: "web", name: "api" }],
  ["Service/api", { kind: "Service", name: "api" }],
  ["networking.k8s.io/Ingress/api", { group: "networking.k8s.io", kind: "Ingress", name: "api" }],
])("parseResource %j", (given, want) => expect(parseResource(given)).toEqual(want));
