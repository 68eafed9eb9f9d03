import { execFile } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { readJson, readYaml } from "../base/json/nesting.ts";
import { again, done, type Failure, type Outcome } from "../base/outcome.ts";
import { Secret } from "../base/secret.ts";
import { KUBE } from "./errors.ts";

/**
 * How to reach one API server. `@kubernetes/client-node` has the same, but its configuration module pulls in every generated
 * model: 1.1 s and 85 MiB at start on the machine this was measured on, against 10 ms here.
 */
export interface KubeConfig {
  server: string;
  namespace: string;
  ca?: string;
  cert?: string;
  key?: Secret;
  insecure?: boolean;
  serverName?: string;
  proxyUrl?: string;
  /** A name and a password, where there is no token: API servers no longer take them, but a proxy before one may. */
  basic?: { username: string; password: Secret };
  /** Another user to act as, if these credentials may. */
  impersonate?: string;
  /** The bearer token for the next request: a new one when it has ended, or when the server has refused the one that is given. */
  token?: (refused?: Secret) => Promise<Secret | undefined>;
}

/** There is no token; the failure says why, and what to do. */
export class SignInFailed extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
// The kubelet rotates projected tokens at 80 % of an hour at the least; a minute is soon enough.
const TOKEN_FILE_TTL_MS = 60_000;
const EXEC_DEADLINE_MS = 30_000;

/** The cluster this process runs in, or the kubeconfig file named by `KUBECONFIG` when that is set. */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): KubeConfig {
  if (env.KUBECONFIG) return fromFile(env.KUBECONFIG.split(":")[0]!, env.OUTPOST_KUBE_CONTEXT);
  if (env.KUBERNETES_SERVICE_HOST) return inCluster(env);
  return fromFile(join(env.HOME ?? "/", ".kube", "config"), env.OUTPOST_KUBE_CONTEXT);
}

function inCluster(env: NodeJS.ProcessEnv): KubeConfig {
  const host = env.KUBERNETES_SERVICE_HOST!;
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${env.KUBERNETES_SERVICE_PORT ?? "443"}`,
    namespace: readFileSync(join(ACCOUNT, "namespace"), "utf8").trim(),
    ca: readFileSync(join(ACCOUNT, "ca.crt"), "utf8"),
    token: tokenFile(join(ACCOUNT, "token")),
  };
}

function fromFile(path: string, context?: string): KubeConfig {
  const size = statSync(path).size;
  if (size > 4_000_000) throw new Error(`kubeconfig ${path} has ${size} bytes, more than 4 MB`);
  return parseKubeconfig(readFileSync(path, "utf8"), { context, folder: dirname(path) });
}

export interface KubeconfigOptions {
  context?: string | undefined;
  /** Relative file names are relative to it. */
  folder?: string;
  /** False: the document comes from elsewhere; names of files in it would mean this machine's. */
  files?: boolean;
  /** How credential plugins are run; false: not at all. */
  exec?: RunPlugin | false;
}

/** Reads a kubeconfig document; throws its errors. */
export function parseKubeconfig(text: string, options: KubeconfigOptions = {}): KubeConfig {
  const doc = readYaml(text, { maxAliasCount: 10 }) ?? {};
  const name = options.context ?? doc["current-context"];
  const context = find(doc.contexts, name, "context")?.context ?? {};
  const cluster = find(doc.clusters, context.cluster, "cluster")?.cluster ?? {};
  const user = context.user ? (find(doc.users, context.user, "user")?.user ?? {}) : {};
  if (!cluster.server) throw new Error(`kubeconfig: cluster "${context.cluster}" has no server`);
  const file = (path: string) => {
    if (options.files === false)
      throw new Error(
        `kubeconfig names the file ${path}; put its content in (\`kubectl config view --raw --flatten --minify\`)`,
      );
    return isAbsolute(path) ? path : join(options.folder ?? ".", path);
  };
  const data = (inline?: string, path?: string) => {
    if (inline) return Buffer.from(inline, "base64").toString("utf8");
    return path ? readFileSync(file(path), "utf8") : undefined;
  };
  const key = data(user["client-key-data"], user["client-key"]);
  return {
    server: String(cluster.server).replace(/\/+$/, ""),
    namespace: context.namespace ?? "default",
    ca: data(cluster["certificate-authority-data"], cluster["certificate-authority"]),
    cert: data(user["client-certificate-data"], user["client-certificate"]),
    key: key === undefined ? undefined : new Secret(key),
    insecure: cluster["insecure-skip-tls-verify"] === true,
    serverName: cluster["tls-server-name"],
    proxyUrl: cluster["proxy-url"],
    token: tokenOf(user, file, options.exec ?? runPlugin),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: a kubeconfig is checked where it is used.
type Loose = any;

function find(list: Loose, name: string | undefined, what: string): Loose {
  if (!name) throw new Error(`kubeconfig names no ${what}`);
  const found = (Array.isArray(list) ? list : []).find((item: Loose) => item?.name === name);
  if (!found) throw new Error(`kubeconfig has no ${what} "${name}"`);
  return found;
}

function tokenOf(user: Loose, file: (path: string) => string, exec: RunPlugin | false): KubeConfig["token"] {
  if (user.tokenFile) return tokenFile(file(user.tokenFile));
  if (user.token) {
    const token = new Secret(String(user.token));
    return async () => token;
  }
  if (user.exec && !exec)
    throw new Error(`kubeconfig runs the credential plugin ${user.exec.command}, which is not allowed here`);
  if (user.exec && exec) return execPlugin(user.exec, exec);
  return undefined;
}

function tokenFile(path: string): NonNullable<KubeConfig["token"]> {
  let token: Secret | undefined;
  let readAt = 0;
  return async (refused) => {
    if (!token || token === refused || Date.now() - readAt > TOKEN_FILE_TTL_MS) {
      token = new Secret(readFileSync(path, "utf8").trim());
      readAt = Date.now();
    }
    return token;
  };
}

export interface Plugin {
  command: string;
  args?: string[];
  env?: { name: string; value: string }[];
  apiVersion?: string;
}

/** Runs a credential plugin with these variables besides others, and gives what it prints. */
export type RunPlugin = (plugin: Plugin, env: Record<string, string>) => Promise<string>;

/** A plugin is the user's own program, so it sees the user's environment. */
const runPlugin: RunPlugin = ({ command, args = [] }, env) =>
  new Promise((resolve, reject) => {
    const options = { env: { ...process.env, ...env }, timeout: EXEC_DEADLINE_MS, maxBuffer: 1_000_000 };
    execFile(command, args, options, (error, stdout) =>
      error
        ? reject(new Error(`credential plugin ${command} failed (exit ${error.code ?? "unknown"})`))
        : resolve(stdout),
    );
  });

/** `client.authentication.k8s.io` plugins that give a token. */
export function execPlugin(plugin: Plugin, run: RunPlugin = runPlugin): NonNullable<KubeConfig["token"]> {
  return lent(async () => {
    const extra = Object.fromEntries((plugin.env ?? []).map(({ name, value }) => [name, value]));
    const info = { apiVersion: plugin.apiVersion, kind: "ExecCredential", spec: { interactive: false } };
    let printed: string;
    try {
      printed = await run(plugin, { ...extra, KUBERNETES_EXEC_INFO: JSON.stringify(info) });
    } catch (error) {
      if (error instanceof SignInFailed) return error.failure;
      return again(KUBE.signIn, (error as Error).message);
    }
    return credentialOf(printed, plugin);
  });
}

function credentialOf(printed: string, { command, apiVersion }: Plugin): Outcome<Lent> {
  const wrong = (what: string) => again(KUBE.signIn, `credential plugin ${command} ${what}`);
  let said: Loose;
  try {
    said = readJson(printed) as Loose;
  } catch {
    // The parser's error would quote the output, which holds a credential.
  }
  if (typeof said !== "object" || said === null) return wrong("did not print an ExecCredential");
  if (apiVersion && said.apiVersion && said.apiVersion !== apiVersion)
    return wrong(`printed ${String(said.apiVersion).slice(0, 100)} instead of ${apiVersion}`);
  const { token, expirationTimestamp, clientCertificateData } = said.status ?? {};
  if (typeof token !== "string" || !/^[\x21-\x7e]{1,65536}$/.test(token))
    return wrong(clientCertificateData ? "printed a certificate, where a token is expected" : "printed no token");
  const ends = expirationTimestamp ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY;
  return Number.isNaN(ends)
    ? wrong("printed an expirationTimestamp that is none")
    : done({ token: new Secret(token), ends });
}

/** A token of a while. */
export interface Lent {
  token: Secret;
  ends: number;
}

// A request that is sent now is judged a moment later.
const SPARE_MS = 30_000;
// The source of tokens is not asked more often than this, however many requests fail or are refused meanwhile.
const REST_MS = 5_000;

/** Keeps a token until shortly before its end, and asks once however many requests wait for one. */
export function lent(ask: () => Promise<Outcome<Lent>>): NonNullable<KubeConfig["token"]> {
  let last: Outcome<Lent> | undefined;
  let asked = 0;
  let running: Promise<Outcome<Lent>> | undefined;
  return async (refused) => {
    const rested = Date.now() - asked > REST_MS;
    const left = last?.kind === "done" ? last.value.ends - Date.now() : 0;
    // Of a short life a quarter is spared.
    const spare = last?.kind === "done" ? Math.min(SPARE_MS, (last.value.ends - asked) / 4) : 0;
    const good = last?.kind === "done" && left > spare && !(rested && last.value.token === refused);
    if (!last || (!good && rested)) {
      running ??= ask().finally(() => {
        asked = Date.now();
        running = undefined;
      });
      last = await running;
    }
    if (last.kind !== "done") throw new SignInFailed(last);
    return last.value.token;
  };
}
