import { audienceOf, signsInByItself } from "../../../../openapi/audience.ts";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateClusterSpec } from "../../../../openapi/contract/validators.js";
import { canonical } from "../../../base/json/canonical.ts";
import { readJson } from "../../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { Secret } from "../../../base/secret.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import type { WorkerObject } from "../../../link/exchange.ts";
import type { AgentContext } from "../context.ts";
import { AUDIENCE, chooseCredentials, mayKeep, openCredentials } from "../credentials/credentials.ts";
import { refusesCluster } from "../credentials/reserved.ts";
import { data, field, SECRET_TYPE } from "../credentials/secrets.ts";
import { partsOf } from "../names.ts";
import { type Content, putManaged } from "./managed.ts";
import { defined } from "./spec.ts";
import { fits, projectOf } from "./validate-spec.ts";

const CREDENTIALS = ["bearerToken", "username", "password", "clientCertData", "clientKeyData"] as const;

/** `config` of a cluster Secret, as Argo CD reads it; certificates are base64 of their PEM. */
interface Config {
  username?: string;
  password?: string;
  bearerToken?: string;
  awsAuthConfig?: { clusterName: string; roleARN?: string; profile?: string };
  execProviderConfig?: {
    command: string;
    args?: string[];
    env?: Record<string, string>;
    apiVersion?: string;
    installHint?: string;
  };
  proxyUrl?: string;
  tlsClientConfig?: { insecure?: boolean; serverName?: string; caData?: string; certData?: string; keyData?: string };
}

/** Writes a cluster's Secret; credentials only change when new ones came. */
export async function putCluster(ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> {
  const fitting = fits<Schemas["ClusterSpec"]>(validateClusterSpec, object.spec);
  if (fitting.kind !== "done") return fitting;
  const spec = fitting.value;
  const refused = refusesCluster(object, spec);
  if (refused) return refused;
  const project = projectOf(spec, object.resolved);
  if (project.kind !== "done") return project;
  const audience = audienceOf("clusters", { ...spec });
  const opened = await openCredentials(ctx, object, CREDENTIALS, audience);
  if (opened.kind !== "done") return opened;
  const build = async (existing: KubeObject | undefined): Promise<Outcome<Content>> => {
    const chosen = await chooseCredentials(ctx, existing, opened.value);
    if (chosen.kind !== "done") return chosen;
    const { fresh, annotations } = chosen.value;
    // An agent that signs in with its own identity needs no stored credentials.
    const own = signsInByItself({ ...spec });
    const kept = fresh || own ? {} : readConfig(existing);
    if (existing && hasCredentials(kept)) {
      const may = mayKeep({ ctx, object, existing, now: audience, told: () => toldBy(existing) });
      if (may.kind !== "done") return may;
    }
    const lost = object.adopt && existing && !fresh ? signInLost(spec, kept) : undefined;
    if (lost) return lost;
    const config = toConfig(spec, own ? new Map() : fresh, kept);
    const fields = {
      // A taken-over cluster keeps the name that applications use.
      name:
        (object.adopt && (field(existing, "name") ?? field(existing, "server"))) ||
        (object.name ?? partsOf(object.key).id),
      server: spec.server,
      project: project.value,
      config: JSON.stringify(config),
      namespaces: spec.namespaces?.join(","),
      clusterResources: spec.namespaces?.length ? String(spec.clusterResources ?? true) : undefined,
    };
    return done({
      labels: { ...spec.labels, [SECRET_TYPE]: "cluster" },
      annotations: { ...annotations, [AUDIENCE]: hasCredentials(config) ? canonical(audience) : undefined },
      fields: { type: "Opaque", data: data(fields) },
    });
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
  const aws =
    awsAuth && defined({ clusterName: awsAuth.clusterName, roleARN: awsAuth.roleArn, profile: awsAuth.profile });
  return {
    ...defined({ ...user, awsAuthConfig: aws, execProviderConfig: exec, proxyUrl }),
    tlsClientConfig: tls,
  } as Config;
}

/** The specification of a Secret that an agent wrote before it kept the audience beside the credentials. */
function toldBy(secret: KubeObject): Record<string, unknown> {
  const { proxyUrl, tlsClientConfig: tls = {} } = readConfig(secret);
  const caData = tls.caData && Buffer.from(tls.caData, "base64").toString("utf8");
  return { server: field(secret, "server"), proxyUrl, insecure: tls.insecure, serverName: tls.serverName, caData };
}

/** Why a Secret that was taken over cannot be written: how it signs in is said nowhere in the specification, and would be gone. */
function signInLost({ awsAuth, exec }: Schemas["ClusterSpec"], { awsAuthConfig, execProviderConfig }: Config) {
  const program = execProviderConfig && !exec ? "exec" : undefined;
  const missing = awsAuthConfig && !awsAuth ? "awsAuth" : program;
  return missing === undefined || awsAuth || exec
    ? undefined
    : stop(
        "CredentialsRequired",
        `the Secret signs in by ${missing}, which the specification does not have: say it there, or give credentials`,
      );
}

function readConfig(secret: KubeObject | undefined): Config {
  try {
    return readJson(field(secret, "config") ?? "{}") as Config;
  } catch {
    return {};
  }
}

const hasCredentials = (config: Config) =>
  Boolean(config.bearerToken || config.password || config.username || config.tlsClientConfig?.keyData);
