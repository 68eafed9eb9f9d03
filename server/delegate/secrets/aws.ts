import { readFile } from "node:fs/promises";
import { done, type Failure, type Outcome } from "../../base/outcome.ts";
import { awsHttp } from "./aws-http.ts";
import { memberOf, notFound, refused, type SecretSource, unavailable, utf8 } from "./source.ts";

export interface AwsConfig {
  region: string;
  profile?: string | undefined;
  /** Assumed with the delegate's own credentials. */
  roleArn?: string | undefined;
  externalId?: string | undefined;
  /** Addresses instead of AWS's own, as of a VPC endpoint. */
  endpoint?: string | undefined;
  stsEndpoint?: string | undefined;
  caFile?: string | undefined;
}

interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  expiration?: Date;
}

const SESSION = "outpost-delegate";

/**
 * `NAME/SECRET-ID[#KEY]`: AWS Secrets Manager; with a key, a member of the secret's JSON. Credentials are what the delegate has: its
 * variables, a web identity (IRSA), a profile, the role of its container or machine; from there a role is assumed when one is named.
 */
export class AwsSource implements SecretSource {
  readonly #config: AwsConfig;
  readonly #env: NodeJS.ProcessEnv;
  #client: Promise<(id: string, signal: AbortSignal) => Promise<Outcome<string>>> | undefined;

  constructor(config: AwsConfig, env: NodeJS.ProcessEnv) {
    this.#config = config;
    this.#env = env;
  }

  async read(path: string, key: string | undefined, signal: AbortSignal): Promise<Outcome<string>> {
    try {
      this.#client ??= this.#open();
      const read = await (await this.#client)(path, signal);
      return read.kind === "done" ? memberOf(read.value, key) : read;
    } catch (error) {
      // A file of certificates that is not there yet may be there next time.
      await this.#client?.catch(() => {
        this.#client = undefined;
      });
      return failureOf(error as Error);
    }
  }

  /** AWS's clients are large: they are loaded when the first secret is asked for. */
  async #open() {
    const { SecretsManagerClient, GetSecretValueCommand } = await import("@aws-sdk/client-secrets-manager");
    const { region, endpoint, caFile } = this.#config;
    const client = new SecretsManagerClient({
      region,
      ...(endpoint ? { endpoint } : {}),
      ...(await this.#credentials()),
      requestHandler: awsHttp({ env: this.#env, caFile }),
      // Asking again is the caller's work, which knows how long there is time.
      maxAttempts: 1,
    });
    return async (id: string, abortSignal: AbortSignal): Promise<Outcome<string>> => {
      const { SecretString, SecretBinary } = await client.send(new GetSecretValueCommand({ SecretId: id }), { abortSignal });
      if (SecretString !== undefined) return done(SecretString);
      return SecretBinary ? utf8(SecretBinary) : notFound("it is empty");
    };
  }

  async #credentials(): Promise<{ credentials?: () => Promise<Credentials>; profile?: string }> {
    const { profile, roleArn } = this.#config;
    const own = profile ? undefined : this.#own();
    if (!roleArn) return own ? { credentials: own } : profile ? { profile } : {};
    return { credentials: () => this.#assume(own ? { credentials: own } : profile ? { profile } : {}) };
  }

  /** What the environment says; undefined for the rest of AWS's usual chain. */
  #own(): (() => Promise<Credentials>) | undefined {
    const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: sessionToken } = this.#env;
    if (accessKeyId && secretAccessKey) return async () => ({ accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) });
    const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: RoleArn } = this.#env;
    if (!file || !RoleArn) return undefined;
    return async () => {
      const { STSClient, AssumeRoleWithWebIdentityCommand } = await import("@aws-sdk/client-sts");
      const WebIdentityToken = (await readFile(file, "utf8")).trim();
      const asked = { RoleArn, WebIdentityToken, RoleSessionName: this.#env.AWS_ROLE_SESSION_NAME || SESSION };
      return takeFrom(await new STSClient(this.#sts()).send(new AssumeRoleWithWebIdentityCommand(asked)));
    };
  }

  async #assume(from: { credentials?: () => Promise<Credentials>; profile?: string }): Promise<Credentials> {
    const { STSClient, AssumeRoleCommand } = await import("@aws-sdk/client-sts");
    const { roleArn: RoleArn, externalId: ExternalId } = this.#config;
    const asked = { RoleArn, ExternalId, RoleSessionName: SESSION };
    return takeFrom(await new STSClient({ ...this.#sts(), ...from }).send(new AssumeRoleCommand(asked)));
  }

  #sts() {
    const { region, stsEndpoint, caFile } = this.#config;
    return {
      region,
      ...(stsEndpoint ? { endpoint: stsEndpoint } : {}),
      requestHandler: awsHttp({ env: this.#env, caFile }),
      maxAttempts: 1,
    };
  }
}

interface Taken {
  Credentials?:
    | {
        AccessKeyId?: string | undefined;
        SecretAccessKey?: string | undefined;
        SessionToken?: string | undefined;
        Expiration?: Date | undefined;
      }
    | undefined;
}

function takeFrom({ Credentials: got }: Taken): Credentials {
  if (!got?.AccessKeyId || !got.SecretAccessKey) throw new Error("AWS gave no credentials for the role");
  return {
    accessKeyId: got.AccessKeyId,
    secretAccessKey: got.SecretAccessKey,
    ...(got.SessionToken ? { sessionToken: got.SessionToken } : {}),
    ...(got.Expiration ? { expiration: got.Expiration } : {}),
  };
}

/** AWS's own words name the secret and the role, never a value; of anything else only the kind is said. */
function failureOf(error: Error & { $fault?: string; $metadata?: { httpStatusCode?: number }; code?: string }): Failure {
  const { name, message, $fault, $metadata } = error;
  if (name === "ResourceNotFoundException") return notFound("AWS Secrets Manager has no such secret, or no version of it");
  if (name === "InvalidRequestException") return notFound(`AWS Secrets Manager: ${message}`);
  if (name === "CredentialsProviderError") return refused(`the delegate has no credentials for AWS: ${message}`);
  if ($fault === "client" && !/Throttl|TooManyRequests|RequestLimit/.test(name) && $metadata?.httpStatusCode !== 429)
    return refused(`AWS refuses it (${name}): ${message}`);
  return unavailable(`AWS did not answer: ${$fault ? `${name}: ${message}` : (error.code ?? name)}`);
}
