import { readConfig } from "../../server/agent/plugin/config.ts";
import { APPLICATIONS_ELSEWHERE } from "../../server/agent/rbac.ts";
import { helmTemplate, type Manifest } from "../generate/manifests.ts";
import {
  agent,
  all,
  boundTo,
  chart,
  contains,
  delegate,
  env,
  helm,
  images,
  type Json,
  names,
  one,
  pod,
} from "./testing.ts";

const everything = {
  split: agent({ token: "t" }),
  all: agent({ token: "t", mode: "all" }),
  namespaced: agent({ namespaced: true }),
  delegate: delegate({ token: "t", initScript: "true", permissions: { level: "cluster-admin" } }),
};

test.each(Object.entries(everything))(
  "every pod is restricted: not root, read-only, no capabilities (%s)",
  (_, manifests) => {
    const deployments = all(manifests, "Deployment");
    expect(deployments.length).toBeGreaterThan(0);
    for (const deployment of deployments) {
      const spec = pod(deployment);
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: "RuntimeDefault" },
      });
      for (const container of [...spec.containers, ...(spec.initContainers ?? [])]) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          runAsNonRoot: true,
          capabilities: { drop: ["ALL"] },
        });
        expect(container.resources.limits.memory).toBeDefined();
        // What is read-only needs a place for temporary files.
        expect(container.volumeMounts).toContainEqual({ name: "tmp", mountPath: "/tmp" });
        expect(container.volumeMounts.every((m: Json) => spec.volumes.some((v: Json) => v.name === m.name))).toBe(true);
      }
      for (const container of spec.containers)
        expect([container.startupProbe, container.livenessProbe, container.readinessProbe]).not.toContain(undefined);
      expect(deployment.spec.template.metadata.labels).toMatchObject(deployment.spec.selector.matchLabels);
      expect(
        all(manifests, "PodDisruptionBudget").some((p) =>
          contains(deployment.spec.selector.matchLabels, p.spec.selector.matchLabels),
        ),
      ).toBe(true);
    }
  },
);

test("applications in other namespaces: a Role in each that is named, a ClusterRole for patterns, and the controller is told", () => {
  const added = (values: Json) =>
    boundTo(agent(values), "outpost-agent-controller").filter(
      (r) => r.metadata.name === "outpost-agent-applications:spot",
    );
  const named = added({ namespaced: true, applicationNamespaces: ["team-a", "team-b", "spot"] });
  expect(named.map((r) => [r.kind, r.metadata.namespace])).toEqual([
    ["Role", "team-a"],
    ["Role", "team-b"],
  ]);
  for (const role of [...named, ...added({ applicationNamespaces: ["team-a", "team-*"] })])
    expect(role.rules).toEqual(APPLICATIONS_ELSEWHERE);
  expect(added({ applicationNamespaces: ["team-a", "team-*"] }).map((r) => [r.kind, r.metadata.namespace])).toEqual([
    ["ClusterRole", undefined],
  ]);
  expect(added({})).toEqual([]);
  for (const [mode, name] of [
    ["split", "outpost-agent-controller"],
    ["all", "outpost-agent"],
  ]) {
    const told = env(one(agent({ mode, applicationNamespaces: ["team-a", "/^x/"] }), "Deployment", name!));
    expect(told).toMatchObject({
      OUTPOST_APPLICATION_NAMESPACES: "team-a,/^x/",
      OUTPOST_APPLICATIONSET_NAMESPACES: "team-a,/^x/",
    });
    const silent = env(one(agent({ mode }), "Deployment", name!));
    // Then a ConfigMap says it: an empty text would say none.
    expect(silent).not.toHaveProperty("OUTPOST_APPLICATION_NAMESPACES");
  }
  expect(() => agent({ applicationNamespaces: ["a,b"] })).toThrow(/applicationNamespaces/);
});

test("mode decides the Deployments", () => {
  expect(names(everything.split, "Deployment")).toEqual([
    "outpost-agent",
    "outpost-agent-controller",
    "outpost-agent-redis",
    "outpost-agent-repo-server",
  ]);
  expect(names(everything.all, "Deployment")).toEqual(["outpost-agent"]);
  expect(names(everything.all, "Service")).toEqual([]);
  expect(pod(one(everything.all, "Deployment", "outpost-agent")).containers[0].args).toEqual(["agent", "--all"]);
  const args = all(everything.split, "Deployment").map((d) => [
    d.metadata.name,
    pod(d).containers[0].command ?? pod(d).containers[0].args,
  ]);
  expect(Object.fromEntries(args)).toEqual({
    "outpost-agent": ["agent"],
    "outpost-agent-controller": ["controller"],
    "outpost-agent-repo-server": ["repo-server"],
    "outpost-agent-redis": ["redis-server"],
  });
  expect(names(agent({ redis: { enabled: false, url: "rediss://cache:6380" } }), "Deployment")).not.toContain(
    "outpost-agent-redis",
  );
});

test("each program knows where the others are and how to prove who it is", () => {
  const got = env(one(everything.split, "Deployment", "outpost-agent-controller"));
  expect(got).toMatchObject({
    OUTPOST_REPO_URL: "http://outpost-agent-repo-server.spot.svc:8083",
    OUTPOST_REPO_TOKEN_FILE: "/etc/outpost/repo/repo-token",
    REDIS_URL: "redis://:$(REDIS_PASSWORD)@outpost-agent-redis.spot.svc:6379/0",
    REDIS_PASSWORD: { secretKeyRef: { name: "outpost-agent-internal", key: "redis-password" } },
  });
  // $(NAME) is only replaced when NAME comes before.
  expect(Object.keys(got).indexOf("REDIS_PASSWORD")).toBeLessThan(Object.keys(got).indexOf("REDIS_URL"));
  const internal = one(everything.split, "Secret", "outpost-agent-internal").stringData;
  expect(internal["repo-token"]).toMatch(/^\w{48}$/);
  expect(new Set(Object.values(internal)).size).toBe(3);
  // The link asks the controller with a secret that the repo server does not get: charts and plugins run there.
  const link = env(one(everything.split, "Deployment", "outpost-agent"));
  expect([link.OUTPOST_CONTROLLER_URL, got.OUTPOST_READS_LISTEN]).toEqual([
    "http://outpost-agent-controller.spot.svc:8085",
    "0.0.0.0:8085",
  ]);
  const holders = all(everything.split, "Deployment").filter((d) =>
    pod(d).volumes.some((v: Json) => v.name === "reads-token"),
  );
  expect(holders.map((d) => d.metadata.name).sort()).toEqual(["outpost-agent", "outpost-agent-controller"]);
  for (const other of [agent({ link: { readObjects: false } }), everything.all])
    expect([
      JSON.stringify(other).includes("8085"),
      names(other, "Service").includes("outpost-agent-controller"),
    ]).toEqual([false, false]);
  const external = env(
    one(agent({ redis: { enabled: false, url: "rediss://cache:6380" } }), "Deployment", "outpost-agent"),
  );
  expect(external.REDIS_URL).toBe("rediss://:$(REDIS_PASSWORD)@cache:6380");
});

test("names that YAML would take for numbers stay names", () => {
  const values = {
    endpoint: "https://o.example",
    image: { pullSecrets: ["1"] },
    link: { serviceAccount: { name: "0x1" } },
    token: "1e3",
  };
  const manifests = helmTemplate(helm, chart("outpost-agent"), "123", "123", values);
  expect(new Set(manifests.map((m) => m.metadata.namespace))).toEqual(new Set(["123", undefined]));
  const spec = pod(one(manifests, "Deployment", "outpost-agent"));
  expect([spec.imagePullSecrets, spec.serviceAccountName]).toEqual([[{ name: "1" }], "0x1"]);
  for (const deployment of all(manifests, "Deployment"))
    expect(Object.values(deployment.spec.template.metadata.annotations).every((v) => typeof v === "string")).toBe(true);
});

test("the identity's Secret is rendered without data, so that an upgrade leaves the agent's keys alone", () => {
  for (const manifests of [everything.split, everything.all, agent()]) {
    expect(Object.keys(one(manifests, "Secret", "outpost-agent-identity"))).toEqual([
      "apiVersion",
      "kind",
      "metadata",
      "type",
    ]);
  }
});

test("a token Secret only when a token is given, and pods that start without it", () => {
  expect(one(everything.split, "Secret", "outpost-agent-token").stringData).toEqual({ token: "t" });
  expect(names(agent(), "Secret")).toEqual(["outpost-agent-identity", "outpost-agent-internal"]);
  expect(env(one(agent(), "Deployment", "outpost-agent")).OUTPOST_TOKEN.secretKeyRef).toEqual({
    name: "outpost-agent-token",
    key: "token",
    optional: true,
  });
  const mine = agent({ token: "t", existingTokenSecret: { name: "mine", key: "k" } });
  expect(names(mine, "Secret")).not.toContain("outpost-agent-token");
  expect(env(one(mine, "Deployment", "outpost-agent")).OUTPOST_TOKEN.secretKeyRef).toMatchObject({
    name: "mine",
    key: "k",
  });
});

test("a new token restarts the agent and nothing else", () => {
  const digests = (token: string) =>
    Object.fromEntries(
      all(
        agent({
          token,
          internal: { repoToken: "r".repeat(16), redisPassword: "p".repeat(16), readsToken: "q".repeat(16) },
        }),
        "Deployment",
      ).map((d) => [d.metadata.name, JSON.stringify(d.spec.template)]),
    );
  const [a, b] = [digests("one"), digests("two")];
  expect(Object.keys(a).filter((name) => a[name] !== b[name])).toEqual(["outpost-agent"]);
});

test.each<[string, object, (m: Manifest[]) => unknown, unknown]>([
  [
    "registry",
    { image: { registry: "r.example:5000/x", tag: "9", pullSecrets: ["reg"] } },
    (m) => [
      pod(one(m, "Deployment", "outpost-agent")).containers[0].image,
      pod(one(m, "Deployment", "outpost-agent-redis")).imagePullSecrets,
    ],
    ["r.example:5000/x/ghcr.io/outpost-gitops/outpost:9", [{ name: "reg" }]],
  ],
  [
    "digest",
    { image: { digest: `sha256:${"a".repeat(64)}` } },
    (m) => pod(one(m, "Deployment", "outpost-agent")).containers[0].image,
    `ghcr.io/outpost-gitops/outpost@sha256:${"a".repeat(64)}`,
  ],
  ["reference", { image: { reference: "h:1/r:2" } }, (m) => images(m), ["h:1/r:2"]],
  [
    "redis image",
    { redis: { image: { repository: "redis", tag: "7" } } },
    (m) => images(m),
    ["ghcr.io/outpost-gitops/outpost:0.1.0", "redis:7"],
  ],
  [
    "proxy",
    { proxy: { httpsProxy: "http://p:1", noProxy: "10.0.0.0/8" } },
    (m) => env(one(m, "Deployment", "outpost-agent")).NO_PROXY,
    "localhost,127.0.0.1,$(KUBERNETES_SERVICE_HOST),.svc,.cluster.local,10.0.0.0/8",
  ],
  ["no proxy", {}, (m) => env(one(m, "Deployment", "outpost-agent")).NO_PROXY, undefined],
  [
    "ca",
    { ca: { bundle: "PEM" } },
    (m) => [one(m, "ConfigMap", "outpost-agent-ca").data, env(one(m, "Deployment", "outpost-agent")).OUTPOST_CA_FILE],
    [{ "ca.crt": "PEM" }, "/etc/outpost/ca/ca.crt"],
  ],
  [
    "ca from a Secret",
    { ca: { existingSecret: { name: "s", key: "k" } } },
    (m) => pod(one(m, "Deployment", "outpost-agent")).volumes.find((v: Json) => v.name === "ca"),
    { name: "ca", secret: { secretName: "s", items: [{ key: "k", path: "ca.crt" }] } },
  ],
  [
    "existing internal Secret",
    { internal: { existingSecret: "mine" } },
    (m) => names(m, "Secret"),
    ["outpost-agent-identity"],
  ],
  ["no CRDs", { crds: { install: false } }, (m) => names(m, "CustomResourceDefinition"), []],
  [
    "CRDs",
    {},
    (m) => names(m, "CustomResourceDefinition"),
    ["applications.argoproj.io", "applicationsets.argoproj.io", "appprojects.argoproj.io"],
  ],
  [
    "CRDs that stay",
    {},
    (m) => all(m, "CustomResourceDefinition").map((c) => c.metadata.annotations["helm.sh/resource-policy"]),
    ["keep", "keep", "keep"],
  ],
  [
    "CRDs that go",
    { crds: { keep: false } },
    (m) => all(m, "CustomResourceDefinition").map((c) => c.metadata.annotations["helm.sh/resource-policy"]),
    [undefined, undefined, undefined],
  ],
  ["no budgets", { podDisruptionBudget: { enabled: false } }, (m) => names(m, "PodDisruptionBudget"), []],
  [
    "replicas",
    { repoServer: { replicas: 3 } },
    (m) => one(m, "Deployment", "outpost-agent-repo-server").spec.replicas,
    3,
  ],
  [
    "scheduling",
    { nodeSelector: { a: "b" }, priorityClassName: "high", controller: { nodeSelector: { c: "d" } } },
    (m) => [
      pod(one(m, "Deployment", "outpost-agent")).nodeSelector,
      pod(one(m, "Deployment", "outpost-agent-controller")).nodeSelector,
      pod(one(m, "Deployment", "outpost-agent-redis")).priorityClassName,
    ],
    [{ a: "b" }, { c: "d" }, "high"],
  ],
  [
    "scrape",
    { metrics: { annotations: true } },
    (m) => one(m, "Deployment", "outpost-agent-repo-server").spec.template.metadata.annotations["prometheus.io/port"],
    "8084",
  ],
  [
    "monitor",
    { metrics: { serviceMonitor: { enabled: true, labels: { release: "p" } } } },
    (m) => all(m, "ServiceMonitor").map((s) => s.metadata.labels.release),
    ["p"],
  ],
  [
    "environment",
    { extraEnv: [{ name: "A", value: "1" }], repoServer: { env: [{ name: "B", value: "2" }] } },
    (m) => {
      const e = env(one(m, "Deployment", "outpost-agent-repo-server"));
      return [e.A, e.B];
    },
    ["1", "2"],
  ],
  [
    "annotations and labels",
    { commonLabels: { l: "1" }, commonAnnotations: { a: "2" }, link: { annotations: { c: "3" } } },
    (m) => {
      const d = one(m, "Deployment", "outpost-agent");
      return [d.metadata.labels.l, d.metadata.annotations.a, d.spec.template.metadata.annotations.c];
    },
    ["1", "2", "3"],
  ],
  [
    "service account of the cloud",
    { repoServer: { serviceAccount: { annotations: { role: "arn" } } } },
    (m) => one(m, "ServiceAccount", "outpost-agent-repo-server").metadata.annotations.role,
    "arn",
  ],
  [
    "a service account of yours",
    { controller: { serviceAccount: { create: false, name: "sa" } } },
    (m) => [
      names(m, "ServiceAccount").includes("outpost-agent-controller"),
      pod(one(m, "Deployment", "outpost-agent-controller")).serviceAccountName,
      boundTo(m, "sa").length,
    ],
    [false, "sa", 2],
  ],
])("agent: %s", (_, values, look, want) => {
  expect(look(agent(values))).toEqual(want);
});

test("plugins are sidecars that share a folder of sockets with the repo server, and nothing of its credentials", () => {
  const spec = { version: "v1", generate: { command: ["cue", "export"] } };
  const plugins = [
    { name: "cue", image: "reg/cue:1", spec, env: [{ name: "A", value: "b" }] },
    { name: "old", image: "reg/old:1", command: ["/var/run/argocd/argocd-cmp-server"] },
  ];
  const manifests = agent({ repoServer: { plugins } });
  const deployment = one(manifests, "Deployment", "outpost-agent-repo-server");
  const podSpec = pod(deployment);
  const [, cue, old] = podSpec.containers;
  expect(env(deployment)).toMatchObject({
    OUTPOST_PLUGINS: "/var/run/outpost/plugins",
    OUTPOST_PLUGIN_NAMES: "cue,old",
  });
  expect([cue.image, cue.command.slice(1)]).toEqual(["reg/cue:1", ["/plugin-server/app/outpost.mjs", "plugin-server"]]);
  expect([old.image, old.command]).toEqual(["reg/old:1", ["/var/run/argocd/argocd-cmp-server"]]);
  for (const sidecar of [cue, old]) {
    const mounts = sidecar.volumeMounts.map(({ name }: Json) => name);
    expect(mounts).toContain("plugins");
    expect(mounts).not.toContain("repo-token");
    expect(mounts).not.toContain("work");
    expect(sidecar.resources.limits.memory).toBeDefined();
    expect(sidecar.securityContext).toMatchObject({ readOnlyRootFilesystem: true, runAsNonRoot: true });
    expect(sidecar.env.map(({ name }: Json) => name)).not.toContain("REDIS_PASSWORD");
    expect(sidecar.volumeMounts.every((m: Json) => podSpec.volumes.some((v: Json) => v.name === m.name))).toBe(true);
  }
  expect(podSpec.initContainers.map(({ name }: Json) => name)).toEqual(["plugin-server"]);
  const files = one(manifests, "ConfigMap", "outpost-agent-plugins").data;
  expect(Object.keys(files)).toEqual(["cue.yaml"]);
  expect(readConfig(files["cue.yaml"], "cue.yaml")).toMatchObject({ kind: "done", value: { name: "cue-v1" } });
  expect(() => agent({ mode: "all", repoServer: { plugins } })).toThrow(/need mode split/);
  expect(() => agent({ repoServer: { plugins: [{ name: "x" }] } })).toThrow(/image/);
});
