import { tmpdir } from "node:os";
import { agentKeys } from "../../../base/cloud/aws-agent.ts";
import { isCloudOrigin } from "../../../base/cloud/cloud-origin.ts";
import { eksToken, PRESIGNED_MS } from "../../../base/cloud/eks-token.ts";
import { digest } from "../../../base/json/canonical.ts";
import { matchGlob } from "../../../base/lang/glob.ts";
import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import { RUN_REASONS, run } from "../../../base/process/run.ts";
import { Secret } from "../../../base/secret.ts";
import { execPlugin, type KubeConfig, type Lent, lent, SignInFailed } from "../../../kube/config.ts";
import { KUBE } from "../../../kube/errors.ts";

/** The sign-in settings in the `config` of a cluster's Secret. */
export interface SignIn {
  bearerToken?: string;
  username?: string;
  password?: string;
  awsAuthConfig?: { clusterName?: string; roleARN?: string; profile?: string };
  execProviderConfig?: {
    command?: string;
    args?: string[];
    env?: Record<string, string>;
    apiVersion?: string;
    installHint?: string;
  };
  tlsClientConfig?: { insecure?: boolean };
  proxyUrl?: string;
}

const EKS = /(^|\.)[a-z0-9-]+\.eks\.amazonaws\.com(\.cn)?$|^[a-z0-9-]+\.eks-cluster\.[a-z0-9-]+\.api\.aws$/i;
const REGION = /\.([a-z0-9-]+)\.(?:eks\.amazonaws\.com(?:\.cn)?|api\.aws)$/i;
const NOBODY = /^$/;
// A minute less than the lifetime of a signed URL.
const TOKEN_MS = PRESIGNED_MS - 60_000;

const EXEC_MS = 30_000;
const EXEC_BYTES = 1_000_000;
// Go's programs reserve a gigabyte before they do anything.
const EXEC_MEMORY_KIB = 4_194_304;
const EXEC_CPU_SECONDS = 60;
// The words are arguments of their own: nothing a user wrote is read as a command.
const LIMITED = 'ulimit -v "$0" 2>/dev/null; ulimit -t "$1" 2>/dev/null; shift; exec "$@"';
// These change the identity that a credential plugin asks for, but not where it sends the agent's own credentials.
const VARIABLES =
  "AWS_PROFILE,AWS_REGION,AWS_DEFAULT_REGION,AWS_STS_REGIONAL_ENDPOINTS,AAD_ENVIRONMENT_NAME,AAD_LOGIN_METHOD,AAD_SERVER_APPLICATION_ID,AZURE_CLIENT_ID,AZURE_TENANT_ID";

/** The token for a cluster's requests; undefined where its Secret asks for none, and certificates may do. */
export function tokenOf(config: SignIn, server: string, env: NodeJS.ProcessEnv = process.env): KubeConfig["token"] {
  const { bearerToken, awsAuthConfig, execProviderConfig } = config;
  if (bearerToken) {
    const token = new Secret(bearerToken);
    return async () => token;
  }
  if (!awsAuthConfig && !execProviderConfig?.command) return undefined;
  // A connection for a single question must not start a plugin each time.
  const id = digest([config, server]);
  const before = known.get(id);
  if (before && env === process.env) return before;
  const made = awsAuthConfig ? lent(() => eks(config, server, env)) : exec(config, server, env);
  if (known.size >= MAX_KNOWN) known.clear();
  if (env === process.env) known.set(id, made);
  return made;
}

/** Basic authentication; not used together with a token, AWS or a plugin. */
export function basicOf({
  username,
  password,
  bearerToken,
  awsAuthConfig,
  execProviderConfig,
}: SignIn): KubeConfig["basic"] {
  if (!username || bearerToken || awsAuthConfig || execProviderConfig?.command) return undefined;
  return { username, password: new Secret(password ?? "") };
}

const known = new Map<string, NonNullable<KubeConfig["token"]>>();
const MAX_KNOWN = 1_000;

/** What `argocd-k8s-auth aws` does, without a program. */
async function eks(config: SignIn, server: string, env: NodeJS.ProcessEnv): Promise<Outcome<Lent>> {
  const { clusterName = "", roleARN: roleArn, profile } = config.awsAuthConfig!;
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(clusterName))
    return stop(KUBE.signIn, "awsAuthConfig.clusterName is not a name of a cluster");
  // The token opens the real cluster for any holder: it goes to AWS's own addresses only, and through no proxy.
  const { hostname } = new URL(server);
  if (!isCloudOrigin(server, EKS))
    return stop(
      KUBE.signIn,
      `${hostname} is not an address of EKS; the identity in AWS is shown to no other server (OUTPOST_CLOUD_ORIGINS)`,
    );
  if (config.tlsClientConfig?.insecure || (config.proxyUrl && !isCloudOrigin(config.proxyUrl, NOBODY)))
    return stop(
      KUBE.signIn,
      "the identity in AWS goes through no proxy of the cluster's Secret, and to no unchecked server",
    );
  const region = REGION.exec(hostname)?.[1] ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION;
  if (!region) return stop(KUBE.signIn, "no region of AWS is known: set AWS_REGION for the agent");
  const endpoint = env.AWS_ENDPOINT_URL_STS || env.AWS_ENDPOINT_URL || undefined;
  const sts = endpoint ?? `https://sts.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  const keys = await agentKeys({ env, region, profile, roleArn }, KUBE.signIn);
  if (keys.kind !== "done") return keys;
  const ends = Math.min(Date.now() + TOKEN_MS, keys.value.expiration?.getTime() ?? Number.POSITIVE_INFINITY);
  return done({
    token: new Secret(await eksToken(keys.value, clusterName, { region, sts: `${sts.replace(/(?<!\/)\/+$/, "")}/` })),
    ends,
  });
}

/**
 * A program that prints a token. It runs beside the agent's own credentials, so its operator says which may (OUTPOST_EXEC_COMMANDS, none
 * otherwise), which variables it may be given (OUTPOST_EXEC_VARIABLES), and which servers get what it prints (OUTPOST_EXEC_ORIGINS).
 */
function exec(config: SignIn, server: string, env: NodeJS.ProcessEnv): NonNullable<KubeConfig["token"]> {
  const {
    command = "",
    args = [],
    installHint,
    apiVersion = "client.authentication.k8s.io/v1",
  } = config.execProviderConfig!;
  const given = Object.entries(config.execProviderConfig!.env ?? {}).map(([name, value]) => ({
    name,
    value: String(value),
  }));
  return execPlugin({ command, args, env: given, apiVersion }, async (_, variables) => {
    const refuse = (failure: ReturnType<typeof stop>) => Promise.reject(new SignInFailed(failure));
    const shown = JSON.stringify(command.slice(0, 200));
    if (!list(env.OUTPOST_EXEC_COMMANDS).includes(command))
      return refuse(
        stop(
          KUBE.signIn,
          `credential plugin ${shown} is not allowed: the agent's operator allows some by OUTPOST_EXEC_COMMANDS`,
        ),
      );
    const elsewhere = strays(config, server, list(env.OUTPOST_EXEC_ORIGINS));
    if (elsewhere) return refuse(stop(KUBE.signIn, `credential plugin ${shown} ${elsewhere}`));
    const allowed = list(env.OUTPOST_EXEC_VARIABLES ?? VARIABLES);
    const other = given.find(({ name }) => !allowed.includes(name));
    if (other)
      return refuse(
        stop(KUBE.signIn, `credential plugin ${shown} may not be given ${JSON.stringify(other.name.slice(0, 100))}`),
      );
    if (!/^client\.authentication\.k8s\.io\/v1(beta1)?$/.test(apiVersion))
      return refuse(stop(KUBE.signIn, "execProviderConfig.apiVersion must be v1 or v1beta1"));
    const ran = await run("/bin/sh", {
      args: ["-c", LIMITED, String(EXEC_MEMORY_KIB), String(EXEC_CPU_SECONDS), command, ...args.map(String)],
      cwd: tmpdir(),
      // The agent's own errors are not shown to tenants.
      inherit: Object.keys(env).filter((name) => !name.startsWith("OUTPOST_")),
      env: variables,
      deadlineMs: EXEC_MS,
      maxBytes: EXEC_BYTES,
    });
    if (ran.kind !== "done")
      return refuse(
        again(
          KUBE.signIn,
          `credential plugin ${shown} ${ran.reason === RUN_REASONS.deadline ? `did not end within ${EXEC_MS / 1_000} s` : `was ended: ${ran.message}`}`,
        ),
      );
    const { code, stdout } = ran.value;
    if (code === 0) return stdout.toString("utf8");
    // Its output may quote its input; its exit code cannot.
    const hint = code === 127 && installHint ? `: ${installHint.slice(0, 500)}` : "";
    return refuse(
      again(
        KUBE.signIn,
        code === 127
          ? `credential plugin ${shown} is not in the agent's image${hint}`
          : `credential plugin ${shown} failed with ${code}`,
      ),
    );
  });
}

const list = (text: string | undefined) => (text ?? "").split(",").flatMap((one) => one.trim() || []);

/** Why what a plugin prints may not go where a cluster's Secret sends it; no list of origins permits any. Like an identity in AWS, it goes through no proxy. */
function strays({ tlsClientConfig, proxyUrl }: SignIn, server: string, origins: readonly string[]): string | undefined {
  if (origins.length === 0) return undefined;
  const origin = URL.canParse(server) ? new URL(server).origin : "";
  const plain = (one: string) =>
    URL.canParse(one) && !/[*?[{\\]/.test(one) ? new URL(one).origin : one.replace(/(?<!\/)\/+$/, "");
  // The port that an origin leaves out fits a glob that names ports.
  const whole = /:\d+$/.test(origin) ? origin : `${origin}:${origin.startsWith("https:") ? 443 : 80}`;
  const fits = (glob: string) => matchGlob(glob, origin) || (/:\/\/.*:/.test(glob) && matchGlob(glob, whole));
  if (!origins.some((one) => fits(plain(one))))
    return `does not run for ${origin || "such an address"}: the agent's operator names servers by OUTPOST_EXEC_ORIGINS`;
  if (tlsClientConfig?.insecure || (proxyUrl && !isCloudOrigin(proxyUrl, NOBODY)))
    return "does not run for an unchecked server or a proxy of the cluster's Secret, as OUTPOST_EXEC_ORIGINS is set";
  return undefined;
}
