import { isMetadata } from "../../../base/cloud/address.ts";
import { HOME_NAME, HOME_SERVER, isHomeAddress } from "../../../base/cloud/home-cluster.ts";
import { readJson } from "../../../base/json/nesting.ts";
import { Secret } from "../../../base/secret.ts";
import type { KubeConfig } from "../../../kube/config.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { tenantOf } from "../../project/tenant.ts";
import { skips } from "../config/skips.ts";
import { basicOf, type SignIn, tokenOf } from "./sign-in.ts";

/** A cluster as its Secret describes it. */
export interface ClusterSecret {
  /** Changes with the content, so that a new credential means a new connection. */
  id: string;
  name: string;
  server: string;
  project: string;
  /** The tenant that registered it; undefined for the agent's own scope. */
  tenant: string | undefined;
  /** Whether it describes the agent's own cluster. */
  home: boolean;
  namespaces: string[];
  clusterWide: boolean;
  skipped: boolean;
  shard?: number;
  config?: KubeConfig;
  problem?: string;
}

export function readSecret(secret: KubeObject): ClusterSecret {
  const field = (name: string) =>
    typeof secret.data?.[name] === "string" ? Buffer.from(secret.data[name], "base64").toString("utf8") : "";
  const given = field("server").trim();
  const home = isHomeAddress(given, process.env);
  // One spelling for the home cluster, so that projects judge it as what it is.
  const server = home ? HOME_SERVER : given.replace(/(?<!\/)\/+$/, "");
  const cluster: ClusterSecret = {
    id: `${server}#${secret.metadata.uid}/${secret.metadata.resourceVersion}`,
    name: field("name") || server,
    server,
    project: field("project"),
    tenant: tenantOf(secret),
    home,
    namespaces: field("namespaces")
      .split(",")
      .map((n) => n.trim())
      .filter(Boolean),
    clusterWide: true,
    skipped: skips(secret),
  };
  // A list of namespaces excludes cluster-scoped objects unless the Secret includes them.
  cluster.clusterWide = cluster.namespaces.length === 0 || field("clusterResources") === "true";
  if (/^\d{1,4}$/.test(field("shard").trim())) cluster.shard = Number(field("shard"));
  try {
    const config = readJson(field("config") || "{}") as ClusterConfig;
    const tls = config.tlsClientConfig ?? {};
    const pem = (text?: string) => (text ? Buffer.from(text, "base64").toString("utf8") : undefined);
    const key = pem(tls.keyData);
    const token = tokenOf(config, server);
    const basic = basicOf(config);
    cluster.config = {
      server: new URL(server).href.replace(/(?<!\/)\/+$/, ""),
      namespace: "default",
      ca: pem(tls.caData),
      cert: pem(tls.certData),
      key: key ? new Secret(key) : undefined,
      insecure: tls.insecure === true,
      serverName: tls.serverName || undefined,
      proxyUrl: config.proxyUrl || undefined,
      token,
      ...(basic ? { basic } : {}),
    };
    cluster.problem = home ? homeProblem(config, cluster.tenant) : identityProblem(config, cluster.tenant);
    const addresses = [cluster.config.server, ...(config.proxyUrl ? [config.proxyUrl] : [])];
    if (addresses.some((address) => isMetadata(new URL(address).hostname)))
      cluster.problem = "it leads to a refused address";
    // A proxy of another kind would just never answer.
    if (config.proxyUrl && !/^https?:$/.test(new URL(config.proxyUrl).protocol))
      cluster.problem = "its proxyUrl is neither http nor https";
  } catch {
    // The message of the parser would quote the content.
    cluster.problem = "its server is not a URL or its config no JSON";
  }
  return cluster;
}

/** Why a Secret may not describe the agent's own cluster: it is reached by the agent's own client, exactly as the agent itself reaches it. */
function homeProblem(config: ClusterConfig, tenant: string | undefined): string | undefined {
  if (tenant !== undefined)
    return `its server is the agent's own cluster, which only the agent's own scope may describe; applications name it ${HOME_NAME}`;
  const tls = config.tlsClientConfig ?? {};
  const given = Object.entries({
    bearerToken: config.bearerToken,
    username: config.username,
    password: config.password,
    awsAuthConfig: config.awsAuthConfig,
    execProviderConfig: config.execProviderConfig,
    proxyUrl: config.proxyUrl,
    insecure: tls.insecure,
    caData: tls.caData,
    certData: tls.certData,
    keyData: tls.keyData,
    serverName: tls.serverName,
  }).flatMap(([name, value]) => (value ? [name] : []));
  return given.length
    ? `its server is the agent's own cluster, which the agent reaches by its own account: remove ${given.join(", ")}`
    : undefined;
}

/** The agent's identity in a cloud opens what belongs to the agent's scope: a tenant's cluster brings credentials of its own. */
function identityProblem(
  { awsAuthConfig, execProviderConfig }: ClusterConfig,
  tenant: string | undefined,
): string | undefined {
  if (tenant === undefined || (!awsAuthConfig && !execProviderConfig)) return undefined;
  const way = awsAuthConfig ? "awsAuthConfig" : "execProviderConfig";
  return `${way} signs in with the agent's own identity, which only clusters of the agent's own scope may use: give it credentials instead`;
}

/** The `config` field of a cluster Secret. */
interface ClusterConfig extends SignIn {
  tlsClientConfig?: { insecure?: boolean; serverName?: string; caData?: string; certData?: string; keyData?: string };
}
