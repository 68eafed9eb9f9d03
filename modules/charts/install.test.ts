import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiServer, startApiServer, toolPath } from "../../test/cluster/apiserver.ts";
import { chart, helm, type Json } from "./testing.ts";

/** A real API server, without nodes: objects are accepted or refused, nothing runs. */
let server: ApiServer;
let home: string;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "outpost-charts-"));
  server = await startApiServer();
}, 90_000);
afterAll(async () => {
  await server?.stop();
  rmSync(home, { recursive: true, force: true });
});

const kubectl = toolPath("kubernetes", "kubectl");
const run = (program: string, args: string[]): string =>
  execFileSync(program, args, {
    encoding: "utf8",
    timeout: 240_000,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      HOME: home,
      KUBECONFIG: server.kubeconfig,
      HELM_CACHE_HOME: home,
      HELM_CONFIG_HOME: home,
      HELM_DATA_HOME: home,
    },
  });
const get = (...args: string[]): Json => JSON.parse(run(kubectl, ["get", ...args, "-o", "json"]));
const names = (...args: string[]): string[] => get(...args).items.map((x: Json) => x.metadata.name);
function install(release: string, name: string, namespace: string, values: object): void {
  const file = join(home, `${namespace}-${release}.json`);
  writeFileSync(file, JSON.stringify(values));
  run(helm, ["upgrade", "--install", release, chart(name), "-n", namespace, "--create-namespace", "-f", file]);
}
const uninstall = (release: string, namespace: string) => run(helm, ["uninstall", release, "-n", namespace]);
/** The API server removes a definition some moments after Helm has asked for it. */
const definitionsGone = () => run(kubectl, ["wait", "--for=delete", "crd", "--all", "--timeout=30s"]);
const secret = (namespace: string, name: string): Json => get("secret", name, "-n", namespace);

const endpoint = "https://outpost.example.com";
const everything = {
  endpoint,
  token: "ot1_first",
  agent: { id: "a" },
  networkPolicy: { enabled: true },
  proxy: { httpsProxy: "http://p:1" },
  ca: { bundle: "PEM" },
  metrics: { annotations: true },
  crds: { keep: false },
};

test("the API server takes every object of the agent, and an upgrade changes no password and no key", () => {
  install("outpost-agent", "outpost-agent", "one", everything);
  expect(names("deployments", "-n", "one")).toHaveLength(4);
  const before = secret("one", "outpost-agent-internal").data;
  // What the agent does when it enrols.
  run(kubectl, [
    "patch",
    "secret",
    "outpost-agent-identity",
    "-n",
    "one",
    "-p",
    JSON.stringify({ stringData: { identity: "keys" } }),
  ]);
  const template = (name: string) => JSON.stringify(get("deployment", name, "-n", "one").spec.template);
  const agent = template("outpost-agent");
  install("outpost-agent", "outpost-agent", "one", { ...everything, token: "", repoServer: { replicas: 2 } });
  expect(secret("one", "outpost-agent-internal").data).toEqual(before);
  expect(secret("one", "outpost-agent-identity").data).toEqual({ identity: Buffer.from("keys").toString("base64") });
  // The used token is gone, and the agent is not restarted for it.
  expect(names("secrets", "-n", "one")).not.toContain("outpost-agent-token");
  expect(template("outpost-agent")).toBe(agent);
}, 60_000);

test("a second agent leaves the definitions of the first alone, also when it goes", () => {
  install("outpost-agent", "outpost-agent", "two", { endpoint, crds: { keep: false } });
  uninstall("outpost-agent", "two");
  expect(names("crd")).toEqual(["applications.argoproj.io", "applicationsets.argoproj.io", "appprojects.argoproj.io"]);
}, 60_000);

test("uninstalling leaves nothing, the agent's keys included", () => {
  uninstall("outpost-agent", "one");
  definitionsGone();
  expect(names("crd")).toEqual([]);
  for (const kind of [
    "deployments",
    "secrets",
    "configmaps",
    "roles",
    "rolebindings",
    "services",
    "poddisruptionbudgets",
    "networkpolicies",
    "serviceaccounts",
  ])
    expect([kind, names(kind, "-n", "one")]).toEqual([kind, []]);
  expect(
    [...names("clusterroles"), ...names("clusterrolebindings")].filter((name) => name.includes("outpost")),
  ).toEqual([]);
}, 60_000);

test("definitions that are kept outlive the release and are taken up by the next", () => {
  install("outpost-agent", "outpost-agent", "one", { endpoint });
  uninstall("outpost-agent", "one");
  expect(names("crd")).toHaveLength(3);
  install("outpost-agent", "outpost-agent", "one", { endpoint, crds: { keep: false } });
  uninstall("outpost-agent", "one");
  definitionsGone();
  expect(names("crd")).toEqual([]);
}, 60_000);

test("the API server takes every object of the delegate; without a new token it keeps the one it has", () => {
  const values = {
    endpoint,
    delegate: { name: "d", tags: ["x"] },
    autoscaling: { enabled: true, memory: 80 },
    networkPolicy: { enabled: true, egress: [{ ports: [{ port: 443, protocol: "TCP" }] }] },
    initScript: "true",
    ca: { bundle: "PEM" },
    config: { logLevel: "debug" },
    secretsFrom: ["db"],
    proxy: { httpsProxy: "http://p:1", credentialsSecret: { name: "p" } },
    extraEnvFrom: [{ configMapRef: { name: "e" } }],
    extraInitContainers: [{ name: "first", image: "i" }],
    extraContainers: [{ name: "side", image: "s" }],
    hostAliases: [{ ip: "1.2.3.4", hostnames: ["h"] }],
    dnsPolicy: "None",
    dnsConfig: { nameservers: ["1.1.1.1"] },
    strategy: { type: "Recreate" },
    topologySpread: { whenUnsatisfiable: "DoNotSchedule" },
  };
  install("d", "outpost-delegate", "one", { ...values, token: "ot1_first", permissions: { level: "cluster-viewer" } });
  install("d", "outpost-delegate", "one", { ...values, permissions: { level: "namespace-admin" } });
  expect(Buffer.from(secret("one", "outpost-delegate-d-token").data.token, "base64").toString()).toBe("ot1_first");
  expect([
    names("clusterrolebindings").filter((name) => name.includes("outpost")),
    names("rolebindings", "-n", "one"),
  ]).toEqual([[], ["outpost-delegate-d"]]);
  uninstall("d", "one");
  expect(names("secrets", "-n", "one")).toEqual([]);
}, 60_000);

test("a namespace is made by a release that is stored elsewhere", () => {
  install("ns", "outpost-namespace", "default", { name: "spot" });
  expect(get("namespace", "spot").metadata.labels["pod-security.kubernetes.io/enforce"]).toBe("restricted");
  uninstall("ns", "default");
  // No controller runs here that would finish the deletion.
  expect(get("namespace", "spot").status.phase).toBe("Terminating");
});

test.each([[true], [false]])(
  "one upgrade leaves the work to an Argo CD, and one takes it back: no definition, Application or key is lost (crds.keep %s)",
  (keep) => {
    const namespace = `switch-${keep}`;
    const values = { ...everything, crds: { keep } };
    const switchTo = (engine: string) => install("outpost-agent", "outpost-agent", namespace, { ...values, engine });
    switchTo("outpost");
    run(kubectl, ["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
    const app = {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Application",
      metadata: { name: "shop", namespace },
      spec: { destination: {}, project: "default" },
    };
    const file = join(home, "shop.json");
    writeFileSync(file, JSON.stringify(app));
    run(kubectl, ["apply", "-f", file]);
    run(kubectl, [
      "patch",
      "secret",
      "outpost-agent-identity",
      "-n",
      namespace,
      "-p",
      JSON.stringify({ stringData: { identity: "keys" } }),
    ]);
    const state = () => ({
      app: get("application", "shop", "-n", namespace).metadata.uid,
      definitions: get("crd").items.map((one: Json) => one.metadata.uid),
      passwords: secret(namespace, "outpost-agent-internal").data,
      identity: secret(namespace, "outpost-agent-identity").data,
    });
    const before = state();
    switchTo("none");
    expect(names("deployments", "-n", namespace)).toEqual(["outpost-agent", "outpost-agent-reader"]);
    expect(state()).toEqual(before);
    switchTo("none");
    expect(state()).toEqual(before);
    switchTo("outpost");
    expect(names("deployments", "-n", namespace)).toHaveLength(4);
    expect(state()).toEqual(before);
    uninstall("outpost-agent", namespace);
    if (keep) run(kubectl, ["delete", "crd", "--all"]);
    definitionsGone();
  },
  240_000,
);
