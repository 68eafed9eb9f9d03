import { readFileSync } from "node:fs";
import { parseKubeconfig } from "../../server/kube/config.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, settings, synced, value, type World, world } from "./engine-world.ts";

/** What becomes of kinds that the agent's account may not list, as `resource.respectRBAC` of `argocd-cm` says it. */
const GROUP = "rbac.authorization.k8s.io";
const SERVICE: Resource = { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true };
const of = (kind: string, plural: string): Resource => ({
  group: GROUP,
  version: "v1",
  kind,
  plural,
  namespaced: false,
});
let w: World;
beforeAll(async () => {
  w = await world();
  const metadata = { name: "narrow" };
  const apiVersion = `${GROUP}/v1`;
  const rules = [
    { apiGroups: [""], resources: ["configmaps", "secrets", "namespaces"], verbs: ["*"] },
    { apiGroups: ["argoproj.io"], resources: ["*"], verbs: ["*"] },
    // All but to list and to watch them.
    { apiGroups: [""], resources: ["services"], verbs: ["get", "create", "patch", "update", "delete"] },
  ];
  value(await w.client.create(of("ClusterRole", "clusterroles"), { apiVersion, kind: "ClusterRole", metadata, rules }));
  const roleRef = { apiGroup: GROUP, kind: "ClusterRole", name: "narrow" };
  const subjects = [{ kind: "User", name: "narrow", apiGroup: GROUP }];
  value(
    await w.client.create(of("ClusterRoleBinding", "clusterrolebindings"), {
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata,
      roleRef,
      subjects,
    }),
  );
  await w.restart({ config: { ...parseKubeconfig(readFileSync(w.api.kubeconfig, "utf8")), impersonate: "narrow" } });
}, 90_000);
afterAll(() => w?.stop(), 30_000);

const service = (color: string) => `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: None, selector: {color: ${color}}, ports: [{port: 80}]}
`;
const color = async (namespace: string) => (await w.object(SERVICE, namespace, "web"))?.spec.selector.color;
const row = (app: Awaited<ReturnType<World["get"]>>) => app.status?.resources?.find(({ kind }) => kind === "Service");

test.each(["normal", "strict"])(
  "%s: objects of a kind that may not be listed are asked for one by one, synced, pruned and deleted",
  async (how) => {
    await settings(w, "argocd-cm", {});
    await w.git.createRepository(how, { files: { "conf.yaml": configMap("conf", {}), "web.yaml": service("blue") } });
    await w.app(how, { repo: how }, { finalizers: ["resources-finalizer.argocd.argoproj.io/background"] });
    await w.until(how, (app) => row(app)?.status === "Unknown", "Unknown without the setting");
    expect(await color(how)).toBeUndefined();
    await settings(w, "argocd-cm", { "resource.respectRBAC": how });
    await w.until(how, (app) => synced(app) && row(app)?.status === "Synced", "synced");
    expect(await color(how)).toBe("blue");
    // No event tells of it: the next look finds it.
    value(await w.client.mergePatch(SERVICE, how, "web", { spec: { selector: { color: "red" } } }));
    await w.refresh(how);
    await w.settled(async () => (await color(how)) === "blue", "healed");
    await w.git.commit(how, { "web.yaml": "" }, "without it");
    await w.refresh(how);
    await w.settled(async () => (await color(how)) === undefined, "pruned");
    await w.git.commit(how, { "web.yaml": service("blue") }, "with it");
    await w.refresh(how);
    await w.until(how, (app) => synced(app) && row(app)?.status === "Synced", "synced once more");
    // A program that has just begun knows of it by the status alone.
    await w.restart({ config: { ...parseKubeconfig(readFileSync(w.api.kubeconfig, "utf8")), impersonate: "narrow" } });
    value(await w.client.delete(RESOURCES.application, w.namespace, how));
    await w.settled(
      async () => (await w.object(CONFIG_MAP, how, "conf")) === undefined && (await color(how)) === undefined,
      "deleted",
    );
  },
);
