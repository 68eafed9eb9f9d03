import { RBAC } from "../../server/agent/rbac.ts";
import { helmTemplate, type Manifest } from "../generate/manifests.ts";
import { agent, all, boundTo, chart, delegate, helm, type Json, names, one, pod } from "./testing.ts";

// What the charts let each program do. test/faults/rights.test.ts has the same roles judged by a real API server.
const rights = (manifests: Manifest[], account: string) => {
  const rules = (kind: string) =>
    boundTo(manifests, account)
      .filter((role) => role.kind === kind)
      .flatMap((role) => role.rules)
      .sort(byText);
  return { own: rules("Role"), managed: rules("ClusterRole") };
};
const sorted = ({ own, managed }: { own: Json[]; managed: Json[] }) => ({
  own: [...own].sort(byText),
  managed: [...managed].sort(byText),
});
const ACCOUNTS = {
  link: "outpost-agent",
  controller: "outpost-agent-controller",
  "repo-server": "outpost-agent-repo-server",
} as const;

test.each(Object.entries(ACCOUNTS))(
  "the roles grant what the program asks for, and nothing more: %s",
  (program, account) => {
    expect(rights(agent(), account)).toEqual(sorted(RBAC[program as keyof typeof ACCOUNTS]));
  },
);

test("in one process the agent has the link's rights and the controller's", () => {
  const { link, controller } = RBAC;
  const both = { own: [...link.own, ...controller.own], managed: [...link.managed, ...controller.managed] };
  expect(rights(agent({ mode: "all" }), "outpost-agent")).toEqual(sorted(both));
});

test("namespaced: every program has Roles in its namespace, and of the cluster only the UID of kube-system", () => {
  const manifests = agent({ namespaced: true });
  expect(rights(manifests, "outpost-agent")).toEqual(
    sorted({ own: RBAC.link.own, managed: RBAC.link.managed.slice(0, 1) }),
  );
  const { own, managed } = RBAC.controller;
  expect(rights(manifests, "outpost-agent-controller")).toEqual(sorted({ own: [...own, ...managed], managed: [] }));
  expect(all(manifests, "Role").map((role) => role.metadata.namespace)).toEqual(["spot", "spot", "spot"]);
  expect(names(agent({ namespaced: true, rbac: { clusterUid: false } }), "ClusterRole")).toEqual([]);
});

test("controller.rules replace the default of everything, and leave what the controller needs in its own namespace", () => {
  const rules = [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["*"] }];
  expect(rights(agent({ controller: { rules } }), "outpost-agent-controller")).toEqual(
    sorted({ own: RBAC.controller.own, managed: rules }),
  );
});

const NEVER = ["escalate", "bind", "impersonate", "*"];
const VARIANTS: [string, Manifest[]][] = [
  ["split", agent({ token: "t" })],
  ["all", agent({ mode: "all" })],
  ["namespaced", agent({ namespaced: true })],
  ["all, namespaced", agent({ mode: "all", namespaced: true })],
  ["shards", agent({ controller: { shards: 3 } })],
  ["named namespaces", agent({ applicationNamespaces: ["team-a"] })],
  ["any namespace", agent({ applicationNamespaces: ["team-*"] })],
  ["without reads", agent({ link: { readObjects: false } })],
  ["delegate", delegate({ token: "t" })],
  ["delegate, cluster-admin", delegate({ permissions: { level: "cluster-admin" } })],
  ["delegate, namespace-admin", delegate({ permissions: { level: "namespace-admin" } })],
  ["namespace", helmTemplate(helm, chart("outpost-namespace"), "n", "default", { name: "spot" })],
];

test.each(VARIANTS)(
  "only the controller's role has wildcards or acts as others, and no role names a subresource to connect to: %s",
  (_, manifests) => {
    for (const role of [...all(manifests, "Role"), ...all(manifests, "ClusterRole")]) {
      const wide = role.metadata.name.split(":")[0] === "outpost-agent-controller";
      for (const { apiGroups, resources, verbs, resourceNames } of role.rules) {
        const rule = `${role.metadata.name}: ${resources} ${verbs}`;
        expect([
          rule,
          resources.filter((one: string) => one.includes("/") && !/^applicationsets\/status$/.test(one)),
        ]).toEqual([rule, []]);
        if (wide) continue;
        expect([
          rule,
          [...apiGroups, ...resources].includes("*"),
          verbs.filter((verb: string) => NEVER.includes(verb)),
        ]).toEqual([rule, false, []]);
        // Secrets only by a Role, which is one namespace's.
        expect([rule, role.kind === "ClusterRole" && resources.includes("secrets")]).toEqual([rule, false]);
        expect([
          rule,
          role.kind === "ClusterRole" && !resourceNames && apiGroups.some((group: string) => group !== "argoproj.io"),
        ]).toEqual([rule, false]);
      }
    }
  },
);

test("without its own role a delegate is bound to roles of Kubernetes alone, and by default to none", () => {
  const bound = (level: string | undefined) =>
    delegate(level ? { permissions: { level } } : {}).flatMap((m: Json) =>
      m.roleRef ? [`${m.kind} ${m.roleRef.name}`] : [],
    );
  expect([undefined, "none", "namespace-admin", "cluster-viewer", "cluster-admin"].map(bound)).toEqual([
    [],
    [],
    ["RoleBinding admin"],
    ["ClusterRoleBinding view"],
    ["ClusterRoleBinding cluster-admin"],
  ]);
});

test("only the link and the controller have a token of the Kubernetes API; a delegate has one when it has rights", () => {
  const tokens = (manifests: Manifest[]) =>
    Object.fromEntries(
      all(manifests, "Deployment").map((d) => [
        d.metadata.name,
        [pod(d).automountServiceAccountToken, pod(d).serviceAccountName],
      ]),
    );
  const manifests = agent({ token: "t" });
  expect(tokens(manifests)).toEqual({
    "outpost-agent": [true, "outpost-agent"],
    "outpost-agent-controller": [true, "outpost-agent-controller"],
    "outpost-agent-repo-server": [false, "outpost-agent-repo-server"],
    "outpost-agent-redis": [false, "outpost-agent-redis"],
  });
  const subjects = manifests.flatMap((m: Json) => m.subjects ?? []).map((s: Json) => s.name);
  expect(new Set(subjects)).toEqual(new Set(["outpost-agent", "outpost-agent-controller"]));
  for (const account of all(manifests, "ServiceAccount"))
    expect([account.metadata.name, account.automountServiceAccountToken]).toEqual([
      account.metadata.name,
      ["outpost-agent", "outpost-agent-controller"].includes(account.metadata.name),
    ]);
  expect(tokens(delegate())["outpost-delegate-d"]![0]).toBe(false);
  expect(tokens(delegate({ permissions: { level: "cluster-viewer" } }))["outpost-delegate-d"]![0]).toBe(true);
});

test.each(VARIANTS)("no Pod shares anything with its node or mounts a token in another way: %s", (_, manifests) => {
  for (const deployment of all(manifests, "Deployment")) {
    const spec = pod(deployment);
    expect([spec.hostNetwork, spec.hostPID, spec.hostIPC]).toEqual([undefined, undefined, undefined]);
    const kinds = spec.volumes.map((volume: Json) => Object.keys(volume).find((key) => key !== "name"));
    expect(kinds.filter((kind: string) => !["emptyDir", "secret", "configMap"].includes(kind))).toEqual([]);
    // The program itself may not be changed by what it runs.
    for (const { volumeMounts } of spec.containers)
      for (const { name, readOnly } of volumeMounts)
        expect([
          name,
          readOnly === true || spec.volumes.find((volume: Json) => volume.name === name).emptyDir !== undefined,
        ]).toEqual([name, true]);
  }
});

const ports = (rules: Json[]): string[] => rules.flatMap((rule) => rule.ports.map(({ port }: Json) => String(port)));

test("by default only the agent's own programs reach each other's ports, and Redis calls nothing", () => {
  const manifests = agent();
  const policy = (name: string) => one(manifests, "NetworkPolicy", name).spec;
  const ingress = Object.fromEntries(
    names(manifests, "NetworkPolicy").map((name) => [name, ports(policy(name).ingress)]),
  );
  expect(ingress).toEqual({
    "outpost-agent": ["health"],
    "outpost-agent-controller": ["reads", "health"],
    "outpost-agent-redis": ["redis"],
    "outpost-agent-repo-server": ["repo", "health"],
  });
  expect(policy("outpost-agent-controller").ingress[0].from[0].podSelector.matchLabels).toMatchObject({
    "app.kubernetes.io/component": "agent",
  });
  const clients = (name: string) => policy(name).ingress[0].from[0].podSelector.matchExpressions[1].values;
  expect(clients("outpost-agent-repo-server")).toEqual(["agent", "controller"]);
  expect(clients("outpost-agent-redis")).toEqual(["agent", "controller", "repo-server"]);
  expect(policy("outpost-agent-redis")).toMatchObject({ policyTypes: ["Ingress", "Egress"], egress: [] });
  expect(policy("outpost-agent").policyTypes).toEqual(["Ingress"]);
  for (const deployment of all(manifests, "Deployment"))
    expect(policy(deployment.metadata.name).podSelector.matchLabels).toEqual(deployment.spec.selector.matchLabels);
  expect(names(agent({ networkPolicy: { enabled: false } }), "NetworkPolicy")).toEqual([]);
  const mesh = [{ ports: [{ port: 15008 }] }];
  for (const { spec } of all(agent({ networkPolicy: { ingress: mesh } }), "NetworkPolicy"))
    expect(spec.ingress).toContainEqual(mesh[0]);
  expect(one(delegate(), "NetworkPolicy", "outpost-delegate-d").spec).toMatchObject({
    policyTypes: ["Ingress"],
    ingress: [],
  });
});

test("with egress rules each program calls only what it needs and what is added, and the repo server no metadata address", () => {
  const more = (port: number) => [{ ports: [{ port }] }];
  const egress = { enabled: true, link: more(1), controller: more(2), repoServer: more(3) };
  const allowed = (manifests: Manifest[]) =>
    Object.fromEntries(all(manifests, "NetworkPolicy").map((m) => [m.metadata.name, ports(m.spec.egress).join(" ")]));
  const split = agent({ networkPolicy: { egress } });
  expect(allowed(split)).toEqual({
    "outpost-agent": "53 53 6379 8083 8085 443 6443 1",
    "outpost-agent-controller": "53 53 6379 8083 443 6443 2",
    "outpost-agent-redis": "",
    "outpost-agent-repo-server": "53 53 6379 443 80 22 3",
  });
  expect(allowed(agent({ mode: "all", networkPolicy: { egress } }))).toEqual({
    "outpost-agent": "53 53 443 80 22 443 6443 1 2 3",
  });
  expect(JSON.stringify(one(split, "NetworkPolicy", "outpost-agent-repo-server").spec.egress)).toContain(
    "169.254.0.0/16",
  );
});

function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}
