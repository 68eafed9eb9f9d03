import { KubeClient } from "../../kube/client.ts";
import type { KubeObject } from "../../kube/object.ts";
import { TENANT } from "../project/tenant.ts";
import type { Application } from "./application.ts";
import { Destinations } from "./destination.ts";

const home = new KubeClient({ server: "https://127.0.0.1:1", namespace: "default" });
const signal = new AbortController().signal;
afterAll(() => home.close());

interface Cluster {
  name: string;
  server: string;
  tenant?: string;
  config?: object;
  namespaces?: string;
}
const encode = (text: string) => Buffer.from(text).toString("base64");
const secret = ({ name, server, tenant, config = {}, namespaces }: Cluster, number = 0): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: `cluster-${number}-${name}`,
    uid: `${number}`,
    ...(tenant ? { annotations: { [TENANT]: tenant } } : {}),
  },
  data: {
    name: encode(name),
    server: encode(server),
    config: encode(JSON.stringify(config)),
    ...(namespaces ? { namespaces: encode(namespaces) } : {}),
  },
});
const app = (destination: object, tenant?: string) =>
  ({
    metadata: { name: "web", annotations: tenant ? { [TENANT]: tenant } : {} },
    spec: { destination },
  }) as unknown as Application;

/** Where an application goes: the cluster's name, `home` in front when it is the agent's own client, or the reason why not. */
async function where(clusters: Cluster[], destination: object, tenant?: string): Promise<string> {
  const all = new Destinations({ home, own: "outpost-agent", namespaces: [], changed: () => undefined, signal });
  try {
    all.replace(clusters.map(secret));
    const found = await all.find(app(destination, tenant));
    if (found.kind !== "done") return found.reason;
    const { client, name, managed, server } = found.value;
    return client === home ? ["home", name, server, ...managed].join(" ") : `${name} ${server}`;
  } finally {
    await all.close();
  }
}

const HOME = "https://kubernetes.default.svc";
const PLAIN_HOME = `home in-cluster ${HOME}`;
const EVIL = { insecure: true, proxyUrl: "http://evil.example:3128" };
const evil = (server: string, more: Partial<Cluster> = {}): Cluster => ({
  name: "evil",
  server,
  tenant: "b/-",
  config: { bearerToken: "t", proxyUrl: EVIL.proxyUrl, tlsClientConfig: { insecure: true } },
  ...more,
});

const SPELLINGS = [
  HOME,
  `${HOME}/`,
  `${HOME}:443`,
  "https://KUBERNETES.default.SVC",
  "https://kubernetes.default.svc.",
  "https://kubernetes.default.svc.cluster.local",
  "https://kubernetes.default",
  "https://kubernetes",
  "http://kubernetes.default.svc",
  "https://a:b@kubernetes.default.svc",
  "https://%6bubernetes.default.svc",
];

test.each(SPELLINGS)("no Secret replaces the agent's own cluster: %s", async (spelling) => {
  for (const tenant of [undefined, "a/shop", "b/-"]) {
    for (const destination of [{ name: "in-cluster" }, { server: HOME }, { server: spelling }]) {
      for (const clusters of [
        [evil(spelling)],
        [evil(spelling), evil(HOME, { name: "evil-2", tenant: "c/-" })],
        [evil(spelling, { name: "in-cluster" })],
        [evil(spelling, { name: "in-cluster", tenant: "a/shop" })],
        [evil("https://evil.example", { name: "in-cluster" })],
      ])
        expect([destination, await where(clusters, destination, tenant)]).toEqual([destination, PLAIN_HOME]);
    }
  }
});

test("the address that Pods are told is the agent's own cluster too", async () => {
  const before = { ...process.env };
  Object.assign(process.env, { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" });
  try {
    for (const server of ["https://10.96.0.1", "https://10.96.0.1:443/", "https://0x0a600001"])
      expect(await where([evil(server)], { server }, "b/-")).toBe(PLAIN_HOME);
    expect(await where([evil("https://10.96.0.1")], { name: "evil" }, "b/-")).toBe("ClusterSecretInvalid");
  } finally {
    process.env = before;
  }
});

test.each<[string, Partial<Cluster>, string]>([
  ["limits the applications that name it", { namespaces: "web,api" }, `home limited ${HOME} web api`],
  ["takes no bearer token", { config: { bearerToken: "t" } }, "ClusterSecretInvalid"],
  ["takes no user", { config: { username: "u", password: "p" } }, "ClusterSecretInvalid"],
  ["takes no proxy", { config: { proxyUrl: "http://p" } }, "ClusterSecretInvalid"],
  [
    "takes no certificate",
    { config: { tlsClientConfig: { certData: "YQ==", keyData: "YQ==" } } },
    "ClusterSecretInvalid",
  ],
  ["takes no authority", { config: { tlsClientConfig: { caData: "YQ==" } } }, "ClusterSecretInvalid"],
  ["takes no other name", { config: { tlsClientConfig: { serverName: "evil" } } }, "ClusterSecretInvalid"],
  ["is always checked", { config: { tlsClientConfig: { insecure: true } } }, "ClusterSecretInvalid"],
  ["takes no AWS identity", { config: { awsAuthConfig: { clusterName: "c" } } }, "ClusterSecretInvalid"],
  ["takes no program", { config: { execProviderConfig: { command: "c" } } }, "ClusterSecretInvalid"],
  ["is not a tenant's to describe", { tenant: "a/-" }, "ClusterSecretInvalid"],
])("a Secret of the agent's own cluster under another name %s", async (_, more, want) => {
  const limited = { name: "limited", server: `${HOME}/`, ...more };
  expect(await where([limited], { name: "limited" }, "a/shop")).toBe(want);
  expect(await where([limited], { server: HOME }, "a/shop")).toBe(PLAIN_HOME);
});

test.each<[string, string | undefined, object, string]>([
  ["its own, by name", "a/-", { name: "prod" }, "prod https://prod.example"],
  ["its own, by address", "a/-", { server: "https://prod.example" }, "prod https://prod.example"],
  ["of the organisation above", "a/shop", { name: "prod" }, "prod https://prod.example"],
  ["of another organisation, by name", "b/-", { name: "prod" }, "ClusterNotFound"],
  ["of another organisation, by address", "b/-", { server: "https://prod.example" }, "ClusterNotFound"],
  ["of a tenant, for the agent's own scope", undefined, { server: "https://prod.example" }, "ClusterNotFound"],
  ["of the agent's scope", "b/-", { server: "https://shared.example" }, "shared https://shared.example"],
])("a tenant's application finds clusters that serve it: %s", async (_, tenant, destination, want) => {
  const clusters = [
    { name: "prod", server: "https://prod.example", tenant: "a/-" },
    { name: "shared", server: "https://shared.example" },
  ];
  expect(await where(clusters, destination, tenant)).toBe(want);
});

test("a tenant makes nobody else's destination ambiguous, and restricts nobody else's", async () => {
  const clusters = [
    { name: "prod", server: "https://prod.example" },
    {
      name: "prod",
      server: "https://prod.example/",
      tenant: "b/-",
      config: { proxyUrl: "http://evil.example" },
      namespaces: "none",
    },
  ];
  for (const destination of [{ name: "prod" }, { server: "https://prod.example" }]) {
    expect(await where(clusters, destination)).toBe("prod https://prod.example");
    expect(await where(clusters, destination, "a/shop")).toBe("prod https://prod.example");
    expect(await where(clusters, destination, "b/-")).toBe("DestinationAmbiguous");
  }
});

test("a tenant's cluster does not sign in with the agent's own identity", async () => {
  const eks = "https://abc.gr7.eu-central-1.eks.amazonaws.com";
  for (const config of [{ awsAuthConfig: { clusterName: "prod" } }, { execProviderConfig: { command: "token" } }]) {
    expect(await where([{ name: "eks", server: eks, config, tenant: "b/-" }], { name: "eks" }, "b/-")).toBe(
      "ClusterSecretInvalid",
    );
    expect(await where([{ name: "eks", server: eks, config }], { name: "eks" }, "b/-")).toBe(`eks ${eks}`);
  }
});

test("a shard is named by clusters that serve the application alone", () => {
  const all = new Destinations({ home, own: "outpost-agent", namespaces: [], changed: () => undefined, signal });
  const pinned = (cluster: Cluster, shard: string, number: number) => {
    const object = secret(cluster, number);
    return { ...object, data: { ...(object.data as object), shard: encode(shard) } } as KubeObject;
  };
  all.replace([
    pinned({ name: "prod", server: "https://prod.example", tenant: "b/-" }, "7", 1),
    pinned({ name: "prod", server: "https://prod.example" }, "2", 2),
    pinned({ name: "in-cluster", server: HOME, tenant: "b/-" }, "7", 3),
  ]);
  expect(all.shardOf(app({ name: "prod" }, "a/shop"))).toBe(2);
  expect(all.shardOf(app({ name: "in-cluster" }))).toBeUndefined();
  expect(all.shardOf(app({ server: HOME }, "b/-"))).toBeUndefined();
});
