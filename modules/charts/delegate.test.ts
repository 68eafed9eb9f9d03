import { spawnSync } from "node:child_process";
import { helmTemplate, type Manifest } from "../generate/manifests.ts";
import { all, bindings, boundTo, chart, delegate, env, helm, type Json, names, pod } from "./testing.ts";

test.each<[string, object, (m: Manifest[]) => unknown, unknown]>([
  [
    "what users know",
    { token: "t", delegate: { name: "d", account: "acme", tags: ["a", "b"] } },
    (m) => env(all(m, "Deployment")[0]),
    expect.objectContaining({
      DELEGATE_NAME: "d",
      DELEGATE_TYPE: "KUBERNETES",
      ACCOUNT_ID: "acme",
      MANAGER_HOST_AND_PORT: "https://o.example",
      NEXT_GEN: "true",
      DELEGATE_TAGS: "a,b",
      DELEGATE_TOKEN: { secretKeyRef: { name: "outpost-delegate-d-token", key: "token", optional: true } },
    }),
  ],
  [
    "no rights by default",
    {},
    (m) => [pod(all(m, "Deployment")[0]).automountServiceAccountToken, boundTo(m, "outpost-delegate-d")],
    [false, []],
  ],
  ["namespace-admin", { permissions: { level: "namespace-admin" } }, bindings, [["RoleBinding", "admin"]]],
  ["cluster-viewer", { permissions: { level: "cluster-viewer" } }, bindings, [["ClusterRoleBinding", "view"]]],
  ["cluster-admin", { permissions: { level: "cluster-admin" } }, bindings, [["ClusterRoleBinding", "cluster-admin"]]],
  ["custom", { permissions: { level: "custom", clusterRole: "mine" } }, bindings, [["ClusterRoleBinding", "mine"]]],
  [
    "autoscaling leaves the number to it",
    { autoscaling: { enabled: true, memory: 70 } },
    (m) => [all(m, "Deployment")[0].spec.replicas, all(m, "HorizontalPodAutoscaler")[0].spec.metrics.map((x: Json) => x.resource.name)],
    [undefined, ["cpu", "memory"]],
  ],
  ["grace", { terminationGracePeriodSeconds: 60 }, (m) => pod(all(m, "Deployment")[0]).terminationGracePeriodSeconds, 60],
  [
    "init script",
    { initScript: "echo 'a: b'" },
    (m) => [all(m, "ConfigMap")[0].data["init.sh"], pod(all(m, "Deployment")[0]).initContainers[0].command],
    ["echo 'a: b'", ["sh", "-e", "/etc/outpost/init/init.sh"]],
  ],
  [
    "token of yours",
    { existingTokenSecret: { name: "mine", key: "k" } },
    (m) => [names(m, "Secret"), env(all(m, "Deployment")[0]).DELEGATE_TOKEN.secretKeyRef.name],
    [[], "mine"],
  ],
  ["a long name", { delegate: { name: "d".repeat(63) } }, (m) => names(m, "Deployment")[0]!.length, 63],
])("delegate: %s", (_, values, look, want) => {
  expect(look(delegate(values))).toEqual(want);
});

test("a namespace is restricted and cannot hold its own release", () => {
  const render = (namespace: string) => helmTemplate(helm, chart("outpost-namespace"), "n", namespace, { name: "spot" });
  expect(render("default").map((m) => [m.kind, m.metadata.name, m.metadata.labels!["pod-security.kubernetes.io/enforce"]])).toEqual([
    ["Namespace", "spot", "restricted"],
  ]);
  expect(() => render("spot")).toThrow(/stored in another namespace/);
});

test.each<[string, string, object, RegExp]>([
  ["no endpoint", "outpost-agent", {}, /endpoint is required/],
  ["a mistyped value", "outpost-agent", { endpoint: "https://o", endpont: "x" }, /endpont/],
  ["a mistyped nested value", "outpost-agent", { endpoint: "https://o", repoServer: { replica: 2 } }, /replica/],
  ["a wrong mode", "outpost-agent", { endpoint: "https://o", mode: "both" }, /mode/],
  ["credentials in the endpoint", "outpost-agent", { endpoint: "https://a:b@o" }, /endpoint/],
  ["no address of an external Redis", "outpost-agent", { endpoint: "https://o", redis: { enabled: false } }, /redis.url is required/],
  ["no name", "outpost-delegate", { endpoint: "https://o" }, /delegate.name is required/],
  [
    "custom without a role",
    "outpost-delegate",
    { endpoint: "https://o", delegate: { name: "d" }, permissions: { level: "custom" } },
    /clusterRole is required/,
  ],
  ["a wrong level", "outpost-delegate", { endpoint: "https://o", delegate: { name: "d" }, permissions: { level: "root" } }, /level/],
])("refused before anything is applied: %s", (_, name, values, message) => {
  expect(() => helmTemplate(helm, chart(name), "r", "spot", values)).toThrow(message);
});

test.each(["outpost-agent", "outpost-delegate", "outpost-namespace"])("helm lint: %s", (name) => {
  const values = JSON.stringify(
    name === "outpost-namespace"
      ? { name: "n" }
      : { endpoint: "https://o.example", ...(name === "outpost-delegate" && { delegate: { name: "d" } }) },
  );
  const ran = spawnSync(helm, ["lint", "--strict", "--kube-version", "1.30.0", chart(name), "--values", "-"], {
    input: values,
    encoding: "utf8",
  });
  expect([ran.status, ran.stdout]).toEqual([0, expect.stringContaining("0 chart(s) failed")]);
});
