import type { Schemas } from "../../../../openapi/client.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { TaskContext } from "../../kind.ts";
import { awsClient, awsFailure } from "../aws/aws.ts";

export interface EcrLogin {
  registry: string;
  username: string;
  password: string;
  expiresAt?: string;
  plainHttp: boolean;
}

/** Asks ECR for a login to the account's registry; its password is masked from here on. */
export async function ecrLoginFor(access: Schemas["AwsAccess"], context: TaskContext): Promise<Outcome<EcrLogin>> {
  const { ECRClient, GetAuthorizationTokenCommand } = await import("@aws-sdk/client-ecr");
  const client = new ECRClient(awsClient(access, context));
  try {
    const { authorizationData } = await client.send(new GetAuthorizationTokenCommand({}), {
      abortSignal: context.signal,
    });
    const { authorizationToken = "", proxyEndpoint = "", expiresAt } = authorizationData?.[0] ?? {};
    const [username = "", ...rest] = Buffer.from(authorizationToken, "base64").toString("utf8").split(":");
    const password = rest.join(":");
    if (!username || !password || !URL.canParse(proxyEndpoint)) return stop("AwsFailed", "ECR's answer holds no login");
    context.mask(authorizationToken);
    context.mask(password);
    const { host, protocol } = new URL(proxyEndpoint);
    return done({
      registry: host,
      username,
      password,
      plainHttp: protocol === "http:",
      ...(expiresAt ? { expiresAt: expiresAt.toISOString() } : {}),
    });
  } catch (error) {
    return awsFailure(error, "give a login for ECR");
  } finally {
    client.destroy();
  }
}
