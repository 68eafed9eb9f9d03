import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { isMetadata } from "../../../base/cloud/address.ts";
import { readJson } from "../../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { Secret } from "../../../base/secret.ts";
import { KubeClient } from "../../../kube/client.ts";
import { type KubeConfig, loadConfig, parseKubeconfig, type RunPlugin } from "../../../kube/config.ts";
import { proxyOf, proxySettings } from "../../../link/transport/proxy.ts";
import type { TaskContext } from "../../kind.ts";
import { putTaskFile } from "../../task/task-files.ts";

type Access = Schemas["KubernetesAccess"];

/** Who owns the fields that tasks set, in `managedFields`. */
export const FIELD_MANAGER = "outpost-delegate";
/** A plugin in a task's kubeconfig is a program of the task's author; the delegate's operator says whether such may run. */
const EXEC = "OUTPOST_KUBECONFIG_EXEC";
const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface Cluster {
  client: KubeClient;
  /** For objects that name none. */
  namespace: string;
  close(): Promise<void>;
}

/** The cluster that a task means, open. */
export async function openCluster(access: Access | undefined, context: TaskContext): Promise<Outcome<Cluster>> {
  const read = readAccess(access, context);
  if (read.kind !== "done") return read;
  const { token, ...config } = read.value.config;
  const masked = token && (async () => masking(await token(), context));
  const client = new KubeClient(masked ? { ...config, token: masked } : config, { fieldManager: FIELD_MANAGER });
  return done({ client, namespace: config.namespace, close: () => client.close() });
}

export interface Kubeconfig {
  /** Only the delegate's user may read it. */
  file: string;
  /** Context in it, where not the current one. */
  context?: string;
  namespace: string;
}

/** The same for programs: a kubeconfig in the workspace. In the cluster it names the token's file, which is renewed there. */
export async function kubeconfigFor(access: Access | undefined, context: TaskContext): Promise<Outcome<Kubeconfig>> {
  const read = readAccess(access, context);
  if (read.kind !== "done") return read;
  const { config, text, path } = read.value;
  const file = path ?? join(context.workspace.dir, "kubeconfig");
  if (text !== undefined) await putTaskFile(context.workspace.dir, file, text);
  return done({ file, namespace: config.namespace, ...(access?.context ? { context: access.context } : {}) });
}

interface Read {
  config: KubeConfig;
  /** The kubeconfig to write, or where one is already. */
  text?: string;
  path?: string;
}

function readAccess(access: Access = {}, context: TaskContext): Outcome<Read> {
  const given = [access.kubeconfig, access.server].filter((way) => way !== undefined).length;
  if (given > 1) return stop("ParamsInvalid", "/params/cluster has both `kubeconfig` and `server`; give one of them");
  try {
    if (access.kubeconfig !== undefined) return fromKubeconfig(access.kubeconfig, access.context, context);
    if (access.server !== undefined) return fromServer(access.server, access, context);
    return ownCluster(access, context);
  } catch (error) {
    return stop("KubeconfigInvalid", `/params/cluster: ${(error as Error).message}`);
  }
}

function fromKubeconfig(text: string, name: string | undefined, context: TaskContext): Outcome<Read> {
  const exec = context.delegate.env[EXEC] === "allow" ? pluginIn(context) : false;
  let config: KubeConfig;
  try {
    config = parseKubeconfig(text, { context: name, files: false, exec });
  } catch (error) {
    const { message } = error as Error;
    const hint = message.includes("not allowed here") ? `; its operator allows it by ${EXEC}=allow` : "";
    return stop("KubeconfigInvalid", `/params/cluster/kubeconfig: ${message}${hint}`);
  }
  if (config.key) context.mask(config.key.reveal());
  return reachable({ config, text }, context);
}

function fromServer(server: string, { token, caCertificate }: Access, context: TaskContext): Outcome<Read> {
  if (!token) return stop("ParamsInvalid", "/params/cluster: `server` needs a `token`");
  const cluster = {
    server,
    ...(caCertificate ? { "certificate-authority-data": Buffer.from(caCertificate).toString("base64") } : {}),
  };
  const text = oneContext(cluster, { token }, "default");
  return reachable({ config: parseKubeconfig(text), text }, context);
}

/** The kubeconfig that the operator passes to tasks, or the cluster that the delegate runs in. */
function ownCluster({ context: name }: Access, context: TaskContext): Outcome<Read> {
  const { env } = context;
  const path = env.KUBECONFIG;
  if (path) {
    const config = parseKubeconfig(readFileSync(path, "utf8"), {
      context: name,
      folder: join(path, ".."),
      exec: pluginIn(context),
    });
    return reachable({ config, path }, context);
  }
  if (!env.KUBERNETES_SERVICE_HOST)
    return stop(
      "NoCluster",
      "the delegate does not run in a cluster; give /params/cluster a `kubeconfig`, or `server` and `token`",
    );
  let config: KubeConfig;
  try {
    config = loadConfig({
      KUBERNETES_SERVICE_HOST: env.KUBERNETES_SERVICE_HOST,
      KUBERNETES_SERVICE_PORT: env.KUBERNETES_SERVICE_PORT,
    });
  } catch {
    const how = "install it with other `permissions` (its chart's level is `none` by default), or give /params/cluster";
    return stop(
      "NoClusterRights",
      `the delegate has no rights in its cluster: no service account's token is in its Pod; ${how}`,
    );
  }
  const cluster = { server: config.server, "certificate-authority": join(ACCOUNT, "ca.crt") };
  return done({ config, text: oneContext(cluster, { tokenFile: join(ACCOUNT, "token") }, config.namespace) });
}

/** With the proxy and the certificates of the delegate, where the access names none. */
function reachable(read: Read, { env }: TaskContext): Outcome<Read> {
  const { config } = read;
  const url = URL.canParse(config.server) ? new URL(config.server) : undefined;
  if (!url || isMetadata(url.hostname))
    return stop("KubeconfigInvalid", `${config.server} is not the address of a cluster`);
  const proxies = proxySettings(env);
  if (!config.proxyUrl && proxyOf(url.origin, proxies)) config.proxyUrl = proxies.httpsProxy;
  if (!config.ca && env.SSL_CERT_FILE) config.ca = readFileSync(env.SSL_CERT_FILE, "utf8");
  return done(read);
}

function masking(token: Secret | undefined, context: TaskContext): Secret | undefined {
  if (token) context.mask(token.reveal());
  return token;
}

// JSON is YAML.
const oneContext = (cluster: object, user: object, namespace: string) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "cluster", cluster }],
    users: [{ name: "user", user }],
    contexts: [{ name: "context", context: { cluster: "cluster", user: "user", namespace } }],
    "current-context": "context",
  });

/** Plugins run as everything of a task does: within its bounds, and with nothing of the delegate's environment. */
const pluginIn =
  (context: TaskContext): RunPlugin =>
  async ({ command, args = [] }, env) => {
    const ran = await context.ask(command, args, { env: { ...context.env, ...env } });
    if (ran.kind !== "done") throw new Error(`credential plugin ${command}: ${ran.message}`);
    try {
      const token = (readJson(ran.value) as { status?: { token?: unknown } } | null)?.status?.token;
      if (typeof token === "string") context.mask(token);
    } catch {
      // The caller says that this is no credential.
    }
    return ran.value;
  };
