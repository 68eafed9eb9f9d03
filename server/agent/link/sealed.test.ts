import { readFileSync } from "node:fs";
import { jest } from "@jest/globals";
import { generateSealKeys, seal } from "../../../openapi/seal.ts";
import { type ApiServer, startApiServer } from "../../../test/cluster/apiserver.ts";
import { Secret } from "../../base/secret.ts";
import { KubeClient } from "../../kube/client.ts";
import { parseKubeconfig } from "../../kube/config.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { WorkerObject } from "../../link/exchange.ts";
import { clusters } from "../appset/generators/clusters.ts";
import { clusterWorld } from "../appset/world/cluster-world.ts";
import type { AgentContext } from "./context.ts";
import { putCluster } from "./deliveries/cluster.ts";
import { putRepository } from "./deliveries/repository.ts";

/** From the envelope that a client sealed to the Secret that Argo CD would read. */
jest.setTimeout(180_000);
let api: ApiServer;
let client: KubeClient;
let ctx: AgentContext;
let publicKey: string;
beforeAll(async () => {
  api = await startApiServer();
  client = new KubeClient(parseKubeconfig(readFileSync(api.kubeconfig, "utf8")));
  const keys = await generateSealKeys();
  publicKey = keys.publicKey;
  const log = { debug() {}, info() {}, warn() {}, error() {} } as unknown as AgentContext["log"];
  ctx = { client, namespace: "default", account: "acme", sealSeed: new Secret(keys.privateKey), log };
});
afterAll(async () => {
  await client?.close();
  await api?.stop();
});

async function object(
  collection: "repositories" | "clusters",
  id: string,
  generation: number,
  spec: object,
  credentials?: object,
) {
  const context = { account: "acme", collection, id };
  const sealed =
    credentials && (await seal({ id: "k", publicKey }, context, { ...spec }, credentials as Record<string, unknown>));
  const key = `-/-/${id}`;
  return {
    collection,
    key,
    uid: `uid-${id}`,
    generation,
    spec: { agent: "one", ...spec },
    ...(sealed ? { sealed } : {}),
  } as unknown as WorkerObject;
}

async function fields(name: string): Promise<Record<string, string>> {
  const listed = await client.json<{ items: KubeObject[] }>("GET", "/api/v1/namespaces/default/secrets");
  const found = listed.kind === "done" ? listed.value.items.find((one) => one.metadata.name.includes(name)) : undefined;
  return Object.fromEntries(
    Object.entries(found?.data ?? {}).map(([field, value]) => [field, Buffer.from(String(value), "base64").toString()]),
  );
}

test("identities in clouds become the fields by which Argo CD knows them, and a secret does not move to another sign-in", async () => {
  const url = "https://dev.azure.com/o/p/_git/r";
  const azure = { clientId: "c", tenantId: "t", activeDirectoryEndpoint: "https://login.microsoftonline.us" };
  const secret = { azureServicePrincipalClientSecret: "s" };
  expect(
    await putRepository(ctx, await object("repositories", "azure", 1, { url, azureServicePrincipal: azure }, secret)),
  ).toMatchObject({
    kind: "done",
  });
  expect(await fields("azure")).toMatchObject({
    url,
    azureServicePrincipalClientId: "c",
    azureServicePrincipalTenantId: "t",
    azureServicePrincipalClientSecret: "s",
    azureActiveDirectoryEndpoint: "https://login.microsoftonline.us",
  });
  const moved = { url, azureServicePrincipal: { clientId: "c", tenantId: "t" } };
  expect(await putRepository(ctx, await object("repositories", "azure", 2, moved))).toMatchObject({
    kind: "stop",
    reason: "CredentialsRequired",
  });
  expect(
    await putRepository(ctx, await object("repositories", "azure", 3, { url, useAzureWorkloadIdentity: true })),
  ).toMatchObject({
    kind: "done",
  });
  const own = await fields("azure");
  expect(own.useAzureWorkloadIdentity).toBe("true");
  expect(own).not.toHaveProperty("azureServicePrincipalClientSecret");
  const google = { gcpServiceAccountKey: '{"type":"service_account"}' };
  expect(
    await putRepository(ctx, await object("repositories", "google", 1, { url: "https://h/x" }, google)),
  ).toMatchObject({
    kind: "done",
  });
  expect(await fields("google")).toMatchObject(google);
});

test("a cluster's ways to sign in become its config, and what was kept for another way is gone", async () => {
  const spec = { server: "https://x.eks.amazonaws.com", caData: "pem" };
  const config = async () => JSON.parse((await fields("eks")).config!) as Record<string, unknown>;
  expect(await putCluster(ctx, await object("clusters", "eks", 1, spec, { bearerToken: "canary" }))).toMatchObject({
    kind: "done",
  });
  const awsAuth = { clusterName: "prod", roleArn: "arn:aws:iam::123456789012:role/x", profile: "p" };
  expect(
    await putCluster(ctx, await object("clusters", "eks", 2, { ...spec, awsAuth, proxyUrl: "http://proxy:1" })),
  ).toMatchObject({
    kind: "done",
  });
  expect(await config()).toEqual({
    awsAuthConfig: { clusterName: "prod", roleARN: "arn:aws:iam::123456789012:role/x", profile: "p" },
    proxyUrl: "http://proxy:1",
    tlsClientConfig: { insecure: false, caData: Buffer.from("pem").toString("base64") },
  });
  const exec = {
    command: "aws",
    args: ["eks"],
    env: { AWS_PROFILE: "p" },
    apiVersion: "client.authentication.k8s.io/v1beta1",
    installHint: "h",
  };
  expect(await putCluster(ctx, await object("clusters", "eks", 3, { ...spec, exec }))).toMatchObject({ kind: "done" });
  expect(await config()).toMatchObject({ execProviderConfig: exec });
  expect(JSON.stringify(await config())).not.toMatch(/canary|awsAuth/);
});

test("a cluster's labels are those that a generator selects by, and one that is taken out is gone", async () => {
  const secrets = async () => {
    const listed = await client.json<{ items: KubeObject[] }>("GET", "/api/v1/namespaces/default/secrets");
    return listed.kind === "done"
      ? listed.value.items.filter(({ metadata }) => metadata.name.includes("labelled"))
      : [];
  };
  const chosen = async (selector: object) => {
    const found = await secrets();
    const world = clusterWorld({
      home: client,
      namespace: "default",
      repo: {} as never,
      access: () => ({}) as never,
      clusters: () => found,
    });
    const params = await clusters({ selector } as never, { world, how: { goTemplate: true } } as never);
    return params.kind === "done" ? params.value.map((one) => one.get("name")) : params;
  };
  const spec = { server: "https://labelled.example" };
  const labels = { env: "prod", "argocd.argoproj.io/secret-type": "repository", "outpost.dev/managed": "false" };
  expect(await putCluster(ctx, await object("clusters", "labelled", 1, { ...spec, labels }))).toMatchObject({
    kind: "done",
  });
  expect((await secrets())[0]!.metadata.labels).toEqual({
    env: "prod",
    "argocd.argoproj.io/secret-type": "cluster",
    "outpost.dev/managed": "true",
  });
  expect(await chosen({ matchLabels: { env: "prod" } })).toEqual(["labelled"]);
  expect(await chosen({ matchLabels: { env: "test" } })).toEqual([]);
  expect(await putCluster(ctx, await object("clusters", "labelled", 2, spec))).toMatchObject({ kind: "done" });
  expect(await chosen({ matchLabels: { env: "prod" } })).toEqual([]);
});
