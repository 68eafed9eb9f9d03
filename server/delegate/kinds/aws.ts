import { readFile } from "node:fs/promises";
import { request } from "undici";
import type { Schemas } from "../../../openapi/client.ts";
import { again, type Failure, stop } from "../../base/outcome.ts";
import { awsHttp } from "../secrets/aws-http.ts";
import type { Context } from "./kind.ts";

export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** What every client of AWS is made with. */
export interface AwsClientConfig {
  region: string;
  endpoint?: string;
  requestHandler: ReturnType<typeof awsHttp>;
  maxAttempts: number;
  credentials?: () => Promise<AwsCredentials>;
  profile?: string;
}

const SESSION = "outpost-task";
const LOCAL_MS = 5_000;

/** No credentials where some were needed; the message says where they may come from. */
class NoCredentials extends Error {}

/**
 * For clients of AWS. Keys of the parameters first; without them what the delegate has: a profile that is named, its variables, a web
 * identity (IRSA), the role of its container (ECS, EKS). The role of its machine counts only with OUTPOST_ALLOW_METADATA=true: it is
 * often far stronger than anything that was meant for tasks. From there the role is assumed.
 */
export function awsClient(access: Schemas["AwsAccess"], { delegate, mask }: Context): AwsClientConfig {
  const { region, endpoint, roleArn, externalId } = access;
  const base = {
    region,
    ...(endpoint ? { endpoint } : {}),
    requestHandler: awsHttp({ env: delegate.env, caFile: delegate.caBundle() }),
    maxAttempts: 3,
  };
  const first = sourceOf(access, delegate.env, base);
  if (!roleArn) return { ...base, ...first };
  return {
    ...base,
    credentials: async () => {
      const { STSClient, AssumeRoleCommand } = await import("@aws-sdk/client-sts");
      const sts = new STSClient({ ...base, ...first });
      const { Credentials: got } = await sts.send(
        new AssumeRoleCommand({ RoleArn: roleArn, RoleSessionName: SESSION, ...(externalId ? { ExternalId: externalId } : {}) }),
      );
      const taken = credentialsOf(got);
      mask(taken.secretAccessKey);
      if (taken.sessionToken) mask(taken.sessionToken);
      return taken;
    },
  };
}

type Source = { credentials: () => Promise<AwsCredentials> } | { profile: string } | Record<never, never>;

function sourceOf(access: Schemas["AwsAccess"], env: NodeJS.ProcessEnv, base: AwsClientConfig): Source {
  const { accessKeyId, secretAccessKey, sessionToken, profile } = access;
  const keys = (id: string, key: string, token: string | undefined) => ({
    credentials: async () => ({ accessKeyId: id, secretAccessKey: key, ...(token ? { sessionToken: token } : {}) }),
  });
  if (accessKeyId !== undefined || secretAccessKey !== undefined) {
    if (accessKeyId && secretAccessKey) return keys(accessKeyId, secretAccessKey, sessionToken);
    return { credentials: () => Promise.reject(new NoCredentials("give both `accessKeyId` and `secretAccessKey`, or neither")) };
  }
  if (profile) return { profile };
  if (env.AWS_ACCESS_KEY_ID && env.AWS_SECRET_ACCESS_KEY)
    return keys(env.AWS_ACCESS_KEY_ID, env.AWS_SECRET_ACCESS_KEY, env.AWS_SESSION_TOKEN);
  if (env.AWS_PROFILE) return { profile: env.AWS_PROFILE };
  if (env.AWS_WEB_IDENTITY_TOKEN_FILE && env.AWS_ROLE_ARN) return { credentials: () => webIdentity(env, base) };
  if (env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI || env.AWS_CONTAINER_CREDENTIALS_FULL_URI) return { credentials: () => container(env) };
  if (env.OUTPOST_ALLOW_METADATA === "true") return {};
  const none =
    "the task brings no keys and the delegate has none for it: give `accessKeyId` and `secretAccessKey`, or give the delegate a role or AWS_* variables (for the role of its machine also OUTPOST_ALLOW_METADATA=true)";
  return { credentials: () => Promise.reject(new NoCredentials(none)) };
}

async function webIdentity(env: NodeJS.ProcessEnv, base: AwsClientConfig): Promise<AwsCredentials> {
  const { STSClient, AssumeRoleWithWebIdentityCommand } = await import("@aws-sdk/client-sts");
  const WebIdentityToken = (await readFile(env.AWS_WEB_IDENTITY_TOKEN_FILE!, "utf8")).trim();
  // A bearer's token: it goes where the delegate's operator says, and never to an address from parameters.
  const { endpoint: _, ...rest } = base;
  const endpoint = env.AWS_ENDPOINT_URL_STS ?? env.AWS_ENDPOINT_URL;
  const own = { ...rest, ...(endpoint ? { endpoint } : {}) };
  const asked = { RoleArn: env.AWS_ROLE_ARN, WebIdentityToken, RoleSessionName: env.AWS_ROLE_SESSION_NAME || SESSION };
  return credentialsOf((await new STSClient(own).send(new AssumeRoleWithWebIdentityCommand(asked))).Credentials);
}

/** The agent beside the container (ECS, EKS Pod Identity), which answers on this machine and is never behind a proxy. */
async function container(env: NodeJS.ProcessEnv): Promise<AwsCredentials> {
  const full = env.AWS_CONTAINER_CREDENTIALS_FULL_URI;
  const url = full ?? `http://169.254.170.2${env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI}`;
  const file = env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE;
  const authorization = file ? (await readFile(file, "utf8")).trim() : env.AWS_CONTAINER_AUTHORIZATION_TOKEN;
  const answer = await request(url, { headers: authorization ? { authorization } : {}, signal: AbortSignal.timeout(LOCAL_MS) });
  const got = (await answer.body.json()) as { AccessKeyId?: string; SecretAccessKey?: string; Token?: string };
  return credentialsOf({ ...got, SessionToken: got.Token });
}

function credentialsOf(
  got: { AccessKeyId?: string | undefined; SecretAccessKey?: string | undefined; SessionToken?: string | undefined } | undefined,
): AwsCredentials {
  if (!got?.AccessKeyId || !got.SecretAccessKey) throw new NoCredentials("AWS gave no credentials for the role");
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken: sessionToken } = got;
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
}

const KEYS =
  /^(UnrecognizedClient|InvalidClientTokenId|SignatureDoesNotMatch|InvalidSignature|IncompleteSignature|MissingAuthenticationToken|ExpiredToken|InvalidToken)/;

/** What an exception of AWS's clients means. AWS's own words name resources and roles, never a value. */
export function awsFailure(error: unknown, what: string): Failure {
  const { name, message, $fault, $metadata, code } = error as Error & {
    $fault?: string;
    $metadata?: { httpStatusCode?: number };
    code?: string;
  };
  if (error instanceof NoCredentials) return stop("NoAwsCredentials", message);
  if (name === "CredentialsProviderError") return stop("NoAwsCredentials", `the delegate has no credentials for AWS: ${message}`);
  if (KEYS.test(name))
    return stop("AwsKeysRefused", `AWS does not take these keys (${name}): ${message}; check them, their region and this machine's clock`);
  if (/AccessDenied|NotAuthorized|UnauthorizedOperation/.test(name))
    return stop("AwsAccessDenied", `these keys may not ${what}: ${message}`);
  if (/Throttl|TooManyRequests/.test(name)) return again("AwsThrottled", `AWS asks to slow down: ${message}`);
  if ($fault === "client") return stop("AwsRefused", `AWS refuses to ${what} (${name}): ${message}`);
  if ($fault || $metadata?.httpStatusCode) return again("AwsFailed", `AWS could not ${what} (${name}): ${message}`);
  return again("AwsUnreachable", `AWS did not answer (${code ?? name}): ${message}; check region, endpoint, DNS and the proxy`);
}
