import type { Schemas } from "../../../../openapi/client.ts";
import { type AwsCredentials, type AwsSource, awsSource, NoAwsCredentials } from "../../../base/cloud/aws.ts";
import { again, type Failure, stop } from "../../../base/outcome.ts";
import type { TaskContext } from "../../kind.ts";
import { awsHttp } from "../../secrets/aws-http.ts";

/** What every client of AWS is made with. */
export interface AwsClientConfig extends AwsSource {
  region: string;
  endpoint?: string;
  requestHandler: ReturnType<typeof awsHttp>;
  maxAttempts: number;
}

const SESSION = "outpost-task";

/** For clients of AWS: keys of the parameters, or what the delegate has (`awsSource`); its machine's role only where its operator says so. */
export function awsClient(access: Schemas["AwsAccess"], { delegate, mask }: TaskContext): AwsClientConfig {
  const { region, endpoint, roleArn, externalId, profile } = access;
  const { env } = delegate;
  const base = {
    region,
    ...(endpoint ? { endpoint } : {}),
    requestHandler: awsHttp({ env, caFile: delegate.caBundle() }),
    maxAttempts: 3,
  };
  const keys = keysOf(access);
  if (keys === null)
    return {
      ...base,
      credentials: () =>
        Promise.reject(new NoAwsCredentials("give both `accessKeyId` and `secretAccessKey`, or neither")),
    };
  const machine = env.OUTPOST_ALLOW_METADATA === "true";
  return {
    ...base,
    ...awsSource({ ...base, env, keys, profile, roleArn, externalId, session: SESSION, machine, mask }),
  };
}

/** Null for half of them. */
function keysOf({
  accessKeyId,
  secretAccessKey,
  sessionToken,
}: Schemas["AwsAccess"]): AwsCredentials | undefined | null {
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined;
  return accessKeyId && secretAccessKey
    ? { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }
    : null;
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
  if (error instanceof NoAwsCredentials) return stop("NoAwsCredentials", message);
  if (name === "CredentialsProviderError")
    return stop("NoAwsCredentials", `the delegate has no credentials for AWS: ${message}`);
  if (KEYS.test(name))
    return stop(
      "AwsKeysRefused",
      `AWS rejects these keys (${name}): ${message}; check them, their region and this machine's clock`,
    );
  if (/AccessDenied|NotAuthorized|UnauthorizedOperation/.test(name))
    return stop("AwsAccessDenied", `these keys may not ${what}: ${message}`);
  if (/Throttl|TooManyRequests/.test(name)) return again("AwsThrottled", `AWS asks to slow down: ${message}`);
  if ($fault === "client") return stop("AwsRefused", `AWS refuses to ${what} (${name}): ${message}`);
  if ($fault || $metadata?.httpStatusCode) return again("AwsFailed", `AWS could not ${what} (${name}): ${message}`);
  return again(
    "AwsUnreachable",
    `AWS did not answer (${code ?? name}): ${message}; check region, endpoint, DNS and the proxy`,
  );
}
