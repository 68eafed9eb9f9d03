import { awsSource, NoAwsCredentials } from "../../base/cloud/aws.ts";
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
      ...this.#source(),
      requestHandler: awsHttp({ env: this.#env, caFile }),
      // Asking again is the caller's work, which knows how long there is time.
      maxAttempts: 1,
    });
    return async (id: string, abortSignal: AbortSignal): Promise<Outcome<string>> => {
      const { SecretString, SecretBinary } = await client.send(new GetSecretValueCommand({ SecretId: id }), {
        abortSignal,
      });
      if (SecretString !== undefined) return done(SecretString);
      return SecretBinary ? utf8(SecretBinary) : notFound("it is empty");
    };
  }

  #source() {
    const { region, profile, roleArn, externalId, stsEndpoint, caFile } = this.#config;
    const requestHandler = awsHttp({ env: this.#env, caFile });
    const place = { region, requestHandler, maxAttempts: 1, endpoint: stsEndpoint, webEndpoint: stsEndpoint };
    // Who configures a source of secrets is the delegate's operator: the role of the machine counts.
    return awsSource({ env: this.#env, ...place, profile, roleArn, externalId, session: SESSION, machine: true });
  }
}

/** AWS's own words name the secret and the role, never a value; of anything else only the kind is said. */
function failureOf(
  error: Error & { $fault?: string; $metadata?: { httpStatusCode?: number }; code?: string },
): Failure {
  const { name, message, $fault, $metadata } = error;
  if (error instanceof NoAwsCredentials) return refused(`the delegate: ${message}`);
  if (name === "ResourceNotFoundException")
    return notFound("AWS Secrets Manager has no such secret, or no version of it");
  if (name === "InvalidRequestException") return notFound(`AWS Secrets Manager: ${message}`);
  if (name === "CredentialsProviderError") return refused(`the delegate has no credentials for AWS: ${message}`);
  if ($fault === "client" && !/Throttl|TooManyRequests|RequestLimit/.test(name) && $metadata?.httpStatusCode !== 429)
    return refused(`AWS refuses it (${name}): ${message}`);
  return unavailable(`AWS did not answer: ${$fault ? `${name}: ${message}` : (error.code ?? name)}`);
}
