import type { Schemas } from "../../../openapi/client.ts";
import { validateClusterSpec } from "../../../openapi/contract/validators.js";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import type { Secret } from "../../base/secret.ts";
import type { KubeObject } from "../../kube/object.ts";
import { RESOURCES } from "../../kube/path.ts";
import type { WorkerObject } from "../../link/exchange.ts";
import type { Context } from "./context.ts";
import { fits, projectOf } from "./fits.ts";
import { type Content, putManaged } from "./managed.ts";
import { partsOf } from "./names.ts";
import { data, field, openCredentials, SECRET_TYPE } from "./secrets.ts";
import { defined } from "./spec.ts";

const CREDENTIALS = ["bearerToken", "username", "password", "clientCertData", "clientKeyData"] as const;

/** `config` of a cluster Secret, as Argo CD reads it; certificates are base64 of their PEM. */
interface Config {
  username?: string;
  password?: string;
  bearerToken?: string;
  awsAuthConfig?: { clusterName: string; roleARN?: string; profile?: string };
  execProviderConfig?: { command: string; args?: string[]; env?: Record<string, string>; apiVersion?: string; installHint?: string };
  proxyUrl?: string;
  tlsClientConfig?: { insecure?: boolean; serverName?: string; caData?: string; certData?: string; keyData?: string };
}

/** Writes a cluster's Secret; credentials only change when new ones came. */
export async function putCluster(ctx: Context, object: WorkerObject): Promise<Outcome<undefined>> {
  const fitting = fits<Schemas["ClusterSpec"]>(validateClusterSpec, object.spec);
  if (fitting.kind !== "done") return fitting;
  const spec = fitting.value;
  const project = projectOf(spec, object.resolved);
  if (project.kind !== "done") return project;
  const credentials = await openCredentials(ctx, object, CREDENTIALS);
  if (credentials.kind !== "done") return credentials;
  const build = (existing: KubeObject | undefined): Outcome<Content> => {
    const before = field(existing, "server");
    const kept = credentials.value ? {} : readConfig(existing);
    if (before && before !== spec.server && hasCredentials(kept)) {
      return stop(
        "CredentialsRequired",
        `the address moved from ${before} to ${spec.server}; the credentials are not sent there unless they are set again (change credentialsVersion)`,
      );
    }
    // A proxy sees the credentials of a server whose certificate is not checked.
    if (spec.insecure && spec.proxyUrl && spec.proxyUrl !== kept.proxyUrl && hasCredentials(kept))
      return stop(
        "CredentialsRequired",
        `the proxy changed from ${kept.proxyUrl ?? "none"} to ${spec.proxyUrl}; the credentials are not sent there unless they are set again (change credentialsVersion)`,
      );
    const config = toConfig(spec, credentials.value, kept);
    const fields = {
      name: object.name ?? partsOf(object.key).id,
      server: spec.server,
      project: project.value,
      config: JSON.stringify(config),
      namespaces: spec.namespaces?.join(","),
      clusterResources: spec.namespaces?.length ? String(spec.clusterResources ?? true) : undefined,
    };
    return done({ labels: { [SECRET_TYPE]: "cluster" }, fields: { type: "Opaque", data: data(fields) } });
  };
  const written = await putManaged(ctx, RESOURCES.secret, object, build);
  return written.kind === "done" ? done(undefined) : written;
}

function toConfig(spec: Schemas["ClusterSpec"], fresh: Map<string, Secret> | undefined, kept: Config): Config {
  const base64 = (text: string | undefined) => (text ? Buffer.from(text).toString("base64") : undefined);
  const own = (name: (typeof CREDENTIALS)[number]) => fresh?.get(name)?.reveal();
  const tls = defined({
    insecure: spec.insecure ?? false,
    serverName: spec.serverName,
    // Kubernetes clients refuse a CA together with "insecure".
    caData: spec.insecure ? undefined : base64(spec.caData),
    certData: fresh ? base64(own("clientCertData")) : kept.tlsClientConfig?.certData,
    keyData: fresh ? base64(own("clientKeyData")) : kept.tlsClientConfig?.keyData,
  });
  const user = fresh
    ? { username: own("username"), password: own("password"), bearerToken: own("bearerToken") }
    : { username: kept.username, password: kept.password, bearerToken: kept.bearerToken };
  const { awsAuth, exec, proxyUrl } = spec;
  const aws = awsAuth && defined({ clusterName: awsAuth.clusterName, roleARN: awsAuth.roleArn, profile: awsAuth.profile });
  // Whoever signs in by itself needs nothing that was kept.
  const given = aws || exec ? {} : user;
  return { ...defined({ ...given, awsAuthConfig: aws, execProviderConfig: exec, proxyUrl }), tlsClientConfig: tls } as Config;
}

function readConfig(secret: KubeObject | undefined): Config {
  try {
    return JSON.parse(field(secret, "config") ?? "{}") as Config;
  } catch {
    return {};
  }
}

const hasCredentials = (config: Config) => Boolean(config.bearerToken || config.password || config.tlsClientConfig?.keyData);
