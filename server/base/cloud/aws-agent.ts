import { EnvHttpProxyAgent, request } from "undici";
import { again, done, type Outcome, stop } from "../outcome.ts";
import { type AwsCredentials, awsCredentials, NoAwsCredentials } from "./aws.ts";

const AWS_MS = 20_000;

export interface AgentInAws {
  env: NodeJS.ProcessEnv;
  region: string;
  profile?: string | undefined;
  roleArn?: string | undefined;
}

/** What the agent signs with in AWS: its own keys, or those of a role that it assumes; `reason` is why there are none. */
export async function agentKeys({ env, ...who }: AgentInAws, reason: string): Promise<Outcome<AwsCredentials>> {
  const endpoint = env.AWS_ENDPOINT_URL_STS || env.AWS_ENDPOINT_URL || undefined;
  const machine = env.OUTPOST_ALLOW_METADATA === "true";
  const requestHandler = handler();
  try {
    const asked = {
      env,
      ...who,
      endpoint,
      webEndpoint: endpoint,
      maxAttempts: 3,
      session: "outpost-agent",
      machine,
      requestHandler,
    };
    return done(await awsCredentials(asked));
  } catch (error) {
    const { name, message, $fault } = error as Error & { $fault?: string };
    if (error instanceof NoAwsCredentials || name === "CredentialsProviderError")
      return stop(reason, `AWS: the agent has no credentials: ${message}`);
    // AWS's own words name resources and roles, never a value.
    return again(reason, $fault ? `AWS gives no credentials (${name}): ${message}` : `AWS did not answer: ${name}`);
  } finally {
    requestHandler.destroy();
  }
}

/** `requestHandler` for AWS's clients, by the environment's proxy. */
function handler() {
  const dispatcher = new EnvHttpProxyAgent();
  return {
    metadata: { handlerProtocol: "http/1.1" },
    // biome-ignore lint/suspicious/noExplicitAny: as AWS's clients ask.
    async handle(asked: any) {
      const { host: _, ...headers } = asked.headers;
      const query = new URLSearchParams(asked.query ?? {});
      const url = `${asked.protocol}//${asked.hostname}${asked.port ? `:${asked.port}` : ""}${asked.path}${query.size ? `?${query}` : ""}`;
      const signal = AbortSignal.timeout(AWS_MS);
      const answer = await request(url, {
        dispatcher,
        method: asked.method,
        headers,
        body: asked.body ?? null,
        signal,
      });
      const plain = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]));
      return { response: { statusCode: answer.statusCode, headers: plain, body: answer.body } };
    },
    destroy: () => void dispatcher.destroy().catch(() => undefined),
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
  };
}
