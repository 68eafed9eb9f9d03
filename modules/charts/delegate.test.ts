import { spawnSync } from "node:child_process";
import { parse } from "yaml";
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
    (m) => [
      all(m, "Deployment")[0].spec.replicas,
      all(m, "HorizontalPodAutoscaler")[0].spec.metrics.map((x: Json) => x.resource.name),
    ],
    [undefined, ["cpu", "memory"]],
  ],
  [
    "grace",
    { terminationGracePeriodSeconds: 60 },
    (m) => pod(all(m, "Deployment")[0]).terminationGracePeriodSeconds,
    60,
  ],
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
  [
    "a proxy that wants a password",
    { proxy: { httpsProxy: "http://p:1", credentialsSecret: { name: "p", passwordKey: "pw" } } },
    (m) => {
      const { HTTPS_PROXY, OUTPOST_PROXY_USER, OUTPOST_PROXY_PASSWORD } = env(all(m, "Deployment")[0]);
      return [HTTPS_PROXY, OUTPOST_PROXY_USER.secretKeyRef, OUTPOST_PROXY_PASSWORD.secretKeyRef];
    },
    [
      "http://$(OUTPOST_PROXY_USER):$(OUTPOST_PROXY_PASSWORD)@p:1",
      { name: "p", key: "username" },
      { name: "p", key: "pw" },
    ],
  ],
  [
    "settings file",
    { config: { sources: { a: { type: "vault" } } } },
    (m) => [
      all(m, "ConfigMap")[0].data["delegate.yaml"],
      env(all(m, "Deployment")[0]).OUTPOST_CONFIG_FILE,
      mounts(m)["/etc/outpost/config"],
      Object.keys(all(m, "Deployment")[0].spec.template.metadata.annotations),
    ],
    [
      "sources:\n  a:\n    type: vault",
      "/etc/outpost/config/delegate.yaml",
      "config",
      expect.arrayContaining(["outpost.dev/config"]),
    ],
  ],
  [
    "Secrets for tasks",
    { secretsFrom: ["db", { name: "x", folder: "other" }] },
    (m) => [
      mounts(m)["/etc/outpost/secrets/db"],
      mounts(m)["/etc/outpost/secrets/other"],
      pod(all(m, "Deployment")[0]).volumes.flatMap((v: Json) => v.secret?.secretName ?? []),
    ],
    ["secrets-0", "secrets-1", ["db", "x"]],
  ],
  [
    "Secrets for tasks of scopes below",
    {
      secretsFrom: ["own", { name: "db", scopes: ["payments"] }, { name: "x", folder: "other", scopes: ["*"] }],
      config: { capacity: 2, sources: { env: { scopes: [] } } },
    },
    (m) => [parse(all(m, "ConfigMap")[0].data["delegate.yaml"]), env(all(m, "Deployment")[0]).OUTPOST_CONFIG_FILE],
    [
      {
        capacity: 2,
        sources: { env: { scopes: [] }, file: { paths: { db: { scopes: ["payments"] }, other: { scopes: ["*"] } } } },
      },
      "/etc/outpost/config/delegate.yaml",
    ],
  ],
  [
    "authority, of the chart or of yours",
    { ca: { bundle: "PEM", existingSecret: { name: "mine" } } },
    (m) => [names(m, "ConfigMap"), mounts(m)["/etc/outpost/ca"], env(all(m, "Deployment")[0]).OUTPOST_CA_FILE],
    [[], "ca", "/etc/outpost/ca/ca.crt"],
  ],
  [
    "what is yours beside it",
    {
      extraEnv: [{ name: "A", value: "b" }],
      extraEnvFrom: [{ secretRef: { name: "e" } }],
      extraVolumes: [{ name: "v", emptyDir: {} }],
      extraVolumeMounts: [{ name: "v", mountPath: "/v" }],
      extraInitContainers: [{ name: "first", image: "i" }],
      extraContainers: [{ name: "side", image: "s" }],
      initScript: "true",
    },
    (m) => {
      const { containers, initContainers } = pod(all(m, "Deployment")[0]);
      const names = (list: Json[]) => list.map((c) => c.name);
      return [
        env(all(m, "Deployment")[0]).A,
        containers[0].envFrom,
        mounts(m)["/v"],
        names(containers),
        names(initContainers),
      ];
    },
    ["b", [{ secretRef: { name: "e" } }], "v", ["delegate", "side"], ["first", "init-script"]],
  ],
  [
    "where and how it runs",
    {
      nodeSelector: { a: "b" },
      tolerations: [{ key: "t" }],
      priorityClassName: "high",
      hostAliases: [{ ip: "1.2.3.4", hostnames: ["h"] }],
      dnsPolicy: "None",
      dnsConfig: { nameservers: ["1.1.1.1"] },
      strategy: { type: "Recreate" },
      topologySpread: { whenUnsatisfiable: "DoNotSchedule" },
      startupProbe: { failureThreshold: 5 },
    },
    (m) => {
      const { nodeSelector, tolerations, priorityClassName, hostAliases, dnsPolicy, dnsConfig, ...spec } = pod(
        all(m, "Deployment")[0],
      );
      return [
        { nodeSelector, tolerations, priorityClassName, hostAliases, dnsPolicy, dnsConfig },
        all(m, "Deployment")[0].spec.strategy,
        spec.topologySpreadConstraints[0].whenUnsatisfiable,
        spec.containers[0].startupProbe,
      ];
    },
    [
      {
        nodeSelector: { a: "b" },
        tolerations: [{ key: "t" }],
        priorityClassName: "high",
        hostAliases: [{ ip: "1.2.3.4", hostnames: ["h"] }],
        dnsPolicy: "None",
        dnsConfig: { nameservers: ["1.1.1.1"] },
      },
      { type: "Recreate" },
      "DoNotSchedule",
      { httpGet: { path: "/healthz", port: "health" }, periodSeconds: 2, failureThreshold: 5 },
    ],
  ],
  [
    "nobody reaches it, but for its metrics",
    { networkPolicy: { enabled: true, egress: [{ ports: [{ port: 443 }] }] } },
    (m) => [
      all(m, "NetworkPolicy")[0].spec,
      all(delegate({ networkPolicy: { enabled: true }, metrics: { annotations: true } }), "NetworkPolicy")[0].spec
        .ingress,
    ],
    [
      expect.objectContaining({
        ingress: [],
        egress: [{ ports: [{ port: 443 }] }],
        policyTypes: ["Ingress", "Egress"],
      }),
      [{ ports: [{ port: "health" }] }],
    ],
  ],
  [
    "metrics for Prometheus's operator",
    { metrics: { podMonitor: { enabled: true, labels: { team: "x" } } } },
    (m) => [
      all(m, "PodMonitor")[0].metadata.labels.team,
      all(m, "PodMonitor")[0].spec.podMetricsEndpoints[0].path,
      names(m, "Service"),
    ],
    ["x", "/metrics", []],
  ],
  [
    "no root, no capabilities, nothing to write but its volumes",
    { initScript: "true" },
    (m) => {
      const { containers, initContainers, securityContext } = pod(all(m, "Deployment")[0]);
      return [securityContext.runAsNonRoot, ...[...containers, ...initContainers].map((c: Json) => c.securityContext)];
    },
    [
      true,
      ...[1, 2].map(() => ({
        allowPrivilegeEscalation: false,
        capabilities: { drop: ["ALL"] },
        readOnlyRootFilesystem: true,
        runAsNonRoot: true,
      })),
    ],
  ],
  ["a token with a line's end", { token: "t\n" }, (m) => all(m, "Secret")[0].stringData.token, "t"],
  [
    "what the HCL module gives when nothing is asked for",
    {
      replicas: 0,
      autoscaling: { enabled: false, minReplicas: 1, maxReplicas: 1 },
      initScript: "",
      config: {},
      secretsFrom: [],
      image: { reference: "", pullSecrets: [] },
      proxy: { httpsProxy: "", noProxy: "", credentialsSecret: { name: "" } },
      ca: { bundle: "" },
      permissions: { level: "none", clusterRole: "" },
    },
    (m) => [names(m, "ConfigMap"), names(m, "HorizontalPodAutoscaler"), all(m, "Deployment")[0].spec.replicas],
    [[], [], 0],
  ],
  ["a long name", { delegate: { name: "d".repeat(63) } }, (m) => names(m, "Deployment")[0]!.length, 63],
])("delegate: %s", (_, values, look, want) => {
  expect(look(delegate(values))).toEqual(want);
});

const mounts = (m: Manifest[]): Record<string, string> =>
  Object.fromEntries(pod(all(m, "Deployment")[0]).containers[0].volumeMounts.map((v: Json) => [v.mountPath, v.name]));

test("a namespace is restricted and cannot hold its own release", () => {
  const render = (namespace: string) =>
    helmTemplate(helm, chart("outpost-namespace"), "n", namespace, { name: "spot" });
  expect(
    render("default").map((m) => [m.kind, m.metadata.name, m.metadata.labels!["pod-security.kubernetes.io/enforce"]]),
  ).toEqual([["Namespace", "spot", "restricted"]]);
  expect(() => render("spot")).toThrow(/stored in another namespace/);
});

test.each<[string, string, object, RegExp]>([
  ["no endpoint", "outpost-agent", {}, /endpoint is required/],
  ["a mistyped value", "outpost-agent", { endpoint: "https://o", endpont: "x" }, /endpont/],
  ["a mistyped nested value", "outpost-agent", { endpoint: "https://o", repoServer: { replica: 2 } }, /replica/],
  ["a wrong mode", "outpost-agent", { endpoint: "https://o", mode: "both" }, /mode/],
  ["credentials in the endpoint", "outpost-agent", { endpoint: "https://a:b@o" }, /endpoint/],
  [
    "no address of an external Redis",
    "outpost-agent",
    { endpoint: "https://o", redis: { enabled: false } },
    /redis.url is required/,
  ],
  ["no name", "outpost-delegate", { endpoint: "https://o" }, /delegate.name is required/],
  [
    "custom without a role",
    "outpost-delegate",
    { endpoint: "https://o", delegate: { name: "d" }, permissions: { level: "custom" } },
    /clusterRole is required/,
  ],
  [
    "two sign-ins for a proxy",
    "outpost-delegate",
    {
      endpoint: "https://o",
      delegate: { name: "d" },
      proxy: { httpsProxy: "http://a:b@p:1", credentialsSecret: { name: "p" } },
    },
    /not in both/,
  ],
  [
    "a mistyped probe",
    "outpost-delegate",
    { endpoint: "https://o", delegate: { name: "d" }, livenessProbe: { period: 1 } },
    /period/,
  ],
  [
    "a wrong level",
    "outpost-delegate",
    { endpoint: "https://o", delegate: { name: "d" }, permissions: { level: "root" } },
    /level/,
  ],
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
