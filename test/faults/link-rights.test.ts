import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { until } from "../servers/run.ts";
import { type LinkWorld, linkWorld, must, ok } from "./link-world.ts";

const rbac = (kind: string, plural: string, namespaced: boolean): Resource => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind,
  plural,
  namespaced,
});
const ROLE = rbac("Role", "roles", true);
const BINDING = rbac("RoleBinding", "rolebindings", true);
const CLUSTER_ROLE = rbac("ClusterRole", "clusterroles", false);
const CLUSTER_BINDING = rbac("ClusterRoleBinding", "clusterrolebindings", false);
const ALL = ["get", "list", "watch", "create", "update", "patch", "delete"];
const READ = ["get", "list", "watch"];

let w: LinkWorld;
beforeAll(async () => {
  w = await linkWorld();
  const api = "rbac.authorization.k8s.io/v1";
  const subjects = [{ kind: "User", name: "limited", apiGroup: "rbac.authorization.k8s.io" }];
  const role = (verbs: string[]) => ({
    apiVersion: api,
    kind: "Role",
    metadata: { name: "agent", namespace: w.namespace },
    rules: [
      { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ALL },
      { apiGroups: ["argoproj.io"], resources: ["applications"], verbs },
    ],
  });
  must(await w.kube.create(ROLE, role(READ)));
  must(
    await w.kube.create(BINDING, {
      apiVersion: api,
      kind: "RoleBinding",
      metadata: { name: "agent", namespace: w.namespace },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "agent" },
      subjects,
    }),
  );
  must(
    await w.kube.create(CLUSTER_ROLE, {
      apiVersion: api,
      kind: "ClusterRole",
      metadata: { name: "uid" },
      rules: [{ apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"] }],
    }),
  );
  must(
    await w.kube.create(CLUSTER_BINDING, {
      apiVersion: api,
      kind: "ClusterRoleBinding",
      metadata: { name: "uid" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "uid" },
      subjects,
    }),
  );
  await w.agent.stop();
  w.startAgent({ KUBECONFIG: w.cluster.kubeconfigFor("limited") });
}, 120_000);
afterAll(() => w?.stop(), 30_000);

test("what the agent's rights do not allow is refused by name, other objects go on, and it is done once the right is there", async () => {
  await w.putApplication("first");
  const refused = await until(
    "the refusal",
    async () => {
      const app = await w.application("first");
      return app?.status.delivery?.state === "Refused" && app;
    },
    20_000,
  );
  expect(refused.status.delivery).toMatchObject({
    reason: "Forbidden",
    message: expect.stringContaining("cannot create resource"),
  });

  const spec = { agent: "one", type: "git" as const, insecure: false, url: "https://git.example.com/apps.git" };
  ok(await w.service.api.PUT("/v1/repositories/{id}", { params: { path: { id: "apps" } }, body: { spec } }));
  await until(
    "the repository",
    async () => (await w.kube.get(RESOURCES.secret, w.namespace, "repo-apps")).kind === "done",
  );

  must(
    await w.kube.mergePatch(ROLE, w.namespace, "agent", {
      rules: [{ apiGroups: ["", "argoproj.io"], resources: ["secrets", "configmaps", "applications"], verbs: ALL }],
    }),
  );
  // The agent tries again by itself each minute; here a change brings it at once.
  await w.putApplication("first", "other");
  await until("the Application", async () => (await w.cr("first"))?.spec.source.path === "other");
  await until("the delivery", async () => (await w.application("first"))?.status.delivery?.state === "Delivered");
}, 90_000);
