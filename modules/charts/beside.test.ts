import { LINK_ELSEWHERE, RBAC } from "../../server/agent/rbac.ts";
import { agent, all, boundTo, env, type Json, names, one, pod } from "./testing.ts";

// Beside an Argo CD: `engine: none`.
const beside = agent({ engine: "none", token: "t" });

test("beside Argo CD there are the link and the reader: no definitions, controller, repo server or Redis", () => {
  expect(names(beside, "Deployment")).toEqual(["outpost-agent", "outpost-agent-reader"]);
  expect(names(beside, "Service")).toEqual(["outpost-agent-reader"]);
  expect(names(beside, "CustomResourceDefinition")).toEqual([]);
  expect(names(beside, "NetworkPolicy")).toEqual(["outpost-agent", "outpost-agent-reader"]);
  expect(names(beside, "PodDisruptionBudget")).toEqual(["outpost-agent", "outpost-agent-reader"]);
  expect(names(beside, "ServiceAccount")).toEqual(["outpost-agent", "outpost-agent-reader"]);
  const link = one(beside, "Deployment", "outpost-agent");
  expect(env(link)).toMatchObject({
    OUTPOST_ENGINE: "none",
    OUTPOST_CONTROLLER_URL: "http://outpost-agent-reader.spot.svc:8085",
  });
  expect(Object.keys(env(link)).filter((name) => /REPO|REDIS/.test(name))).toEqual([]);
  const args = all(beside, "Deployment").map((deployment) => pod(deployment).containers[0].args);
  expect(args).toEqual([["agent"], ["reader"]]);
});

test("what the mode says makes no difference beside Argo CD, and without readObjects the link is alone", () => {
  expect(names(agent({ engine: "none", mode: "all" }), "Deployment")).toEqual(names(beside, "Deployment"));
  const alone = agent({ engine: "none", link: { readObjects: false } });
  expect(names(alone, "Deployment")).toEqual(["outpost-agent"]);
  expect(JSON.stringify(alone)).not.toMatch(/8085|reader/);
});

const rulesOf = (manifests: Json[], account: string, kind: string): Json[] =>
  boundTo(manifests, account)
    .filter((role) => role.kind === kind)
    .flatMap((role) => role.rules);

test("the reader's roles grant what it asks for and nothing more, besides Kubernetes's own role `view`", () => {
  expect(rulesOf(beside, "outpost-agent-reader", "Role")).toEqual(RBAC.reader.own);
  expect(rulesOf(beside, "outpost-agent-reader", "ClusterRole")).toEqual(RBAC.reader.managed);
  const bound = all(beside, "ClusterRoleBinding").filter((one) => one.subjects[0].name === "outpost-agent-reader");
  expect(bound.map((one) => one.roleRef.name)).toEqual(["outpost-agent-reader:spot", "view"]);
});

const VARIANTS: [string, Json[]][] = [
  ["cluster", beside],
  ["namespaced", agent({ engine: "none", namespaced: true })],
  ["other namespaces", agent({ engine: "none", applicationNamespaces: ["team-a"] })],
];
test.each(VARIANTS)(
  "nothing beside Argo CD has a wildcard, acts as others, or reads Secrets outside its namespace: %s",
  (_, manifests) => {
    const roles = [...all(manifests, "Role"), ...all(manifests, "ClusterRole")];
    expect(roles.map((role) => role.metadata.name).filter((name) => name.includes("controller"))).toEqual([]);
    for (const role of roles)
      for (const { apiGroups, resources, verbs } of role.rules) {
        expect([role.metadata.name, [...apiGroups, ...resources, ...verbs].includes("*")]).toEqual([
          role.metadata.name,
          false,
        ]);
        expect([
          role.metadata.name,
          verbs.filter((verb: string) => ["impersonate", "escalate", "bind"].includes(verb)),
        ]).toEqual([role.metadata.name, []]);
        expect([role.metadata.name, resources.some((one: string) => one.includes("/"))]).toEqual([
          role.metadata.name,
          false,
        ]);
        if (role.kind === "ClusterRole" || role.metadata.namespace !== "spot")
          expect(resources).not.toContain("secrets");
        if (role.metadata.name.includes("reader"))
          expect([role.metadata.name, verbs.filter((verb: string) => !["get", "list"].includes(verb))]).toEqual([
            role.metadata.name,
            [],
          ]);
      }
  },
);

test("namespaced, the reader has no rights outside the namespace of the release", () => {
  const manifests = agent({ engine: "none", namespaced: true });
  expect(all(manifests, "ClusterRoleBinding").map((one) => one.subjects[0].name)).toEqual(["outpost-agent"]);
  expect(all(manifests, "RoleBinding").map((one) => one.metadata.namespace)).toEqual(["spot", "spot", "spot", "spot"]);
});

test.each([["outpost"], ["none"]])(
  "the link may keep applications and sets of other namespaces, where there are to be any: engine %s",
  (engine) => {
    const added = (values: Json) =>
      boundTo(agent({ engine, ...values }), "outpost-agent").filter(
        (role) => role.metadata.name === "outpost-agent-elsewhere:spot",
      );
    expect(added({})).toEqual([]);
    const named = added({ applicationNamespaces: ["team-a", "team-b"] });
    expect(named.map((role) => [role.kind, role.metadata.namespace, role.rules])).toEqual([
      ["Role", "team-a", LINK_ELSEWHERE],
      ["Role", "team-b", LINK_ELSEWHERE],
    ]);
    expect(added({ applicationNamespaces: ["team-*"] }).map((role) => role.kind)).toEqual(["ClusterRole"]);
  },
);

test("extra rules of the reader are rules to its own role", () => {
  const rule = { apiGroups: ["example.com"], resources: ["widgets"], verbs: ["get", "list"] };
  expect(
    rulesOf(agent({ engine: "none", reader: { rules: [rule] } }), "outpost-agent-reader", "ClusterRole"),
  ).toContainEqual(rule);
});
