import { readFile } from "node:fs/promises";
import { request } from "undici";

export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  expiration?: Date;
}

/** No credentials where some were needed; the message says where they may come from. */
export class NoAwsCredentials extends Error {}

/** Who signs in, and with what clients of AWS are made. */
export interface AwsIdentity {
  /** Of the program that signs in: the only place that its own credentials come from. */
  env: NodeJS.ProcessEnv;
  region: string;
  // biome-ignore lint/suspicious/noExplicitAny: as AWS's clients want it.
  requestHandler?: any;
  maxAttempts: number;
  /** Where STS is, if not where AWS has it. */
  endpoint?: string | undefined;
  /** The same for a web identity's token, which goes where the operator says and never to an address that a task or an object names. */
  webEndpoint?: string | undefined;
  keys?: AwsCredentials | undefined;
  profile?: string | undefined;
  roleArn?: string | undefined;
  externalId?: string | undefined;
  session: string;
  /** Whether the role of the machine counts: it is often far stronger than anything that was meant. */
  machine: boolean;
  /** Called with each secret that is read. */
  mask?(secret: string): void;
}

/** For AWS's clients; neither means the rest of their usual chain. */
export interface AwsSource {
  credentials?: () => Promise<AwsCredentials>;
  profile?: string;
}

const LOCAL_MS = 5_000;

/**
 * Keys that are given come first; without them what the program has: a profile that is named, its variables, a web identity (IRSA), the role of
 * its container (ECS, EKS Pod Identity), and the machine's where that counts. From there the role is assumed.
 */
export function awsSource(who: AwsIdentity): AwsSource {
  const first = own(who);
  const { roleArn: RoleArn, externalId, session: RoleSessionName, mask } = who;
  if (!RoleArn) return first;
  return {
    credentials: async () => {
      const { STSClient, AssumeRoleCommand } = await import("@aws-sdk/client-sts");
      const sts = new STSClient({ ...clientOf(who), ...first });
      const asked = { RoleArn, RoleSessionName, ...(externalId ? { ExternalId: externalId } : {}) };
      const taken = credentialsOf((await sts.send(new AssumeRoleCommand(asked))).Credentials);
      mask?.(taken.secretAccessKey);
      if (taken.sessionToken) mask?.(taken.sessionToken);
      return taken;
    },
  };
}

/** The credentials themselves, for who signs by himself. */
export async function awsCredentials(who: AwsIdentity): Promise<AwsCredentials> {
  const source = awsSource(who);
  if (source.credentials) return source.credentials();
  const { STSClient } = await import("@aws-sdk/client-sts");
  return new STSClient({ ...clientOf(who), ...source }).config.credentials();
}

const clientOf = ({ region, requestHandler, maxAttempts, endpoint }: AwsIdentity) => ({
  region,
  maxAttempts,
  ...(requestHandler ? { requestHandler } : {}),
  ...(endpoint ? { endpoint } : {}),
});

function own(who: AwsIdentity): AwsSource {
  const { env, keys, profile, machine } = who;
  if (keys) return { credentials: async () => keys };
  if (profile) return { profile };
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = env;
  if (accessKeyId && secretAccessKey)
    return { credentials: async () => ({ accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }) };
  if (env.AWS_PROFILE) return { profile: env.AWS_PROFILE };
  if (env.AWS_WEB_IDENTITY_TOKEN_FILE && env.AWS_ROLE_ARN) return { credentials: () => webIdentity(who) };
  if (env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI || env.AWS_CONTAINER_CREDENTIALS_FULL_URI)
    return { credentials: () => container(env) };
  if (machine) return {};
  const none =
    "there are no credentials for AWS: give keys, a role of the service account or container, or AWS_* variables (for the role of the machine also OUTPOST_ALLOW_METADATA=true)";
  return { credentials: () => Promise.reject(new NoAwsCredentials(none)) };
}

async function webIdentity(who: AwsIdentity): Promise<AwsCredentials> {
  const { env, session } = who;
  const { STSClient, AssumeRoleWithWebIdentityCommand } = await import("@aws-sdk/client-sts");
  const WebIdentityToken = (await readFile(env.AWS_WEB_IDENTITY_TOKEN_FILE!, "utf8")).trim();
  const endpoint = who.webEndpoint ?? env.AWS_ENDPOINT_URL_STS ?? env.AWS_ENDPOINT_URL;
  const asked = { RoleArn: env.AWS_ROLE_ARN, WebIdentityToken, RoleSessionName: env.AWS_ROLE_SESSION_NAME || session };
  const sts = new STSClient(clientOf({ ...who, endpoint }));
  return credentialsOf((await sts.send(new AssumeRoleWithWebIdentityCommand(asked))).Credentials);
}

/** The agent beside the container (ECS, EKS Pod Identity), which answers on this machine and is never behind a proxy. */
async function container(env: NodeJS.ProcessEnv): Promise<AwsCredentials> {
  const full = env.AWS_CONTAINER_CREDENTIALS_FULL_URI;
  const url = full ?? `http://169.254.170.2${env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI}`;
  const file = env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE;
  const authorization = file ? (await readFile(file, "utf8")).trim() : env.AWS_CONTAINER_AUTHORIZATION_TOKEN;
  const answer = await request(url, {
    headers: authorization ? { authorization } : {},
    signal: AbortSignal.timeout(LOCAL_MS),
  });
  const got = (await answer.body.json()) as { AccessKeyId?: string; SecretAccessKey?: string; Token?: string };
  return credentialsOf({ ...got, SessionToken: got.Token });
}

interface Given {
  AccessKeyId?: string | undefined;
  SecretAccessKey?: string | undefined;
  SessionToken?: string | undefined;
  Expiration?: Date | undefined;
}

function credentialsOf(got: Given | undefined): AwsCredentials {
  if (!got?.AccessKeyId || !got.SecretAccessKey) throw new NoAwsCredentials("AWS gave no credentials for the role");
  const {
    AccessKeyId: accessKeyId,
    SecretAccessKey: secretAccessKey,
    SessionToken: sessionToken,
    Expiration: expiration,
  } = got;
  return {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken ? { sessionToken } : {}),
    ...(expiration ? { expiration } : {}),
  };
}
