import { Client, type Problem } from "./client/client.ts";
import { plainHttpWarning } from "./client/plain-http.ts";
import { report } from "./client/problem.ts";
import { resolveProfile } from "./client/profile.ts";
import { dataSources, resources } from "./generated/nouns.ts";
import { NotKnownYet, type Provider } from "./protocol/provider.ts";
import type { Schema } from "./schema/attribute.ts";
import type { Diagnostics } from "./schema/diagnostics.ts";
import { parseDuration } from "./schema/duration.ts";
import { attr, root } from "./value/path.ts";
import { stringField, Unknown, type ValueMap } from "./value/value.ts";
import { version } from "./version.ts";

// A service that is made in the same run does not answer yet.
const KEY_CHECK_MS = 2_000;

const schema: Schema = {
  description:
    "Manages agents, delegates, repositories and their credentials, clusters, projects, applications, application sets and webhooks of an Outpost GitOps service.",
  attributes: {
    endpoint: {
      type: "string",
      presence: "optional",
      description:
        "The address of the service. Else OUTPOST_ENDPOINT, else the sign-in of the command line (`outpost login`).",
    },
    api_key: {
      type: "string",
      presence: "optional",
      sensitive: true,
      description:
        "The API key. Else OUTPOST_API_KEY, else the sign-in of the command line, for its own endpoint only.",
    },
    account: {
      type: "string",
      presence: "optional",
      description: "The account that the API key must be of; guards against the wrong key.",
    },
    ca_certificate: {
      type: "string",
      presence: "optional",
      description: "Certificate authority of the service, PEM. None means those of the system.",
    },
    request_timeout: {
      type: "string",
      presence: "optional",
      description: "How long one request may take. Default: `30s`.",
      rules: { duration: true },
    },
  },
};

class WrongAccount extends Error {}
class KeyRefused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}
const isRefused = ({ status }: { status: number }) => status === 401 || status === 403;

function validate(config: ValueMap, diagnostics: Diagnostics, env: NodeJS.ProcessEnv): void {
  const endpoint = stringField(config, "endpoint");
  if (endpoint !== undefined && !/^https?:\/\/[^\s@/]+(\/\S*)?$/.test(endpoint))
    diagnostics.error(
      "Invalid value",
      "`endpoint` is an http or https address without credentials, such as https://outpost.example.com.",
      attr(root, "endpoint"),
    );
  const warning = plainHttpWarning(endpoint ?? env.OUTPOST_ENDPOINT ?? "", env);
  if (warning) diagnostics.warning("The service is called over plain HTTP", warning, attr(root, "endpoint"));
  const ca = stringField(config, "ca_certificate");
  if (ca !== undefined && !ca.includes("-----BEGIN CERTIFICATE-----"))
    diagnostics.error("Invalid value", "`ca_certificate` is the text of a PEM file.", attr(root, "ca_certificate"));
}

async function configure(
  config: ValueMap,
  { terraformVersion, log, signal }: Parameters<Provider<Client>["configure"]>[1],
  env: NodeJS.ProcessEnv,
): Promise<Client> {
  for (const [name, value] of config)
    if (value instanceof Unknown)
      throw new NotKnownYet(
        `\`${name}\` of the provider is known only after apply, and is needed now. Make what it comes from first (\`terraform apply -target\`).`,
      );
  const given = { endpoint: stringField(config, "endpoint"), apiKey: stringField(config, "api_key") };
  const { endpoint, apiKey } = resolveProfile(given, env);
  const account = stringField(config, "account");
  const client = new Client({
    endpoint,
    apiKey,
    account,
    ca: stringField(config, "ca_certificate"),
    requestTimeout: parseDuration(stringField(config, "request_timeout") ?? "") ?? 30_000,
    userAgent: `terraform-provider-outpost/${version} (terraform ${terraformVersion || "unknown"})`,
    log,
    recover: env.OUTPOST_RECOVER === "true",
  });
  if (account !== undefined) {
    const me = await client.account({ deadline: Date.now() + 60_000, signal });
    if (!me.ok) throw isRefused(me) ? new KeyRefused(me.problem) : new Error(me.problem.detail);
    if (me.body.account !== account)
      throw new WrongAccount(`The API key is of the account ${me.body.account}, not ${account}.`);
  }
  return client;
}

/** The `outpost` provider. Every part is loaded when it is first asked for. `env` stands for the process's environment in tests. */
export const createOutpost = (env: NodeJS.ProcessEnv = process.env): Provider<Client> => ({
  name: "outpost",
  version,
  schema,
  validate: (config, diagnostics) => validate(config, diagnostics, env),
  configure: (config, context) => configure(config, context, env),
  // A key that is refused is one fault, however many resources there are; all else is told where it matters.
  check: async ({ client, signal, diagnostics }) => {
    try {
      const reply = await (await client()).account({ deadline: Date.now() + KEY_CHECK_MS, signal });
      if (!reply.ok && isRefused(reply)) throw new KeyRefused(reply.problem);
    } catch (error) {
      if (error instanceof KeyRefused) report(diagnostics, "Signing in", error.problem, {});
      else if (error instanceof WrongAccount)
        diagnostics.error("Another account", error.message, attr(root, "account"));
    }
  },
  resources: {
    ...resources,
    outpost_task: async () => (await import("./resources/task.ts")).task,
  },
  dataSources: {
    ...dataSources,
    outpost_agent_install: async () => (await import("./resources/data/install.ts")).createInstall("agent"),
    outpost_delegate_install: async () => (await import("./resources/data/install.ts")).createInstall("delegate"),
  },
  ephemeralResources: {
    outpost_agent_token: async () => (await import("./resources/ephemeral/token.ts")).createToken("agent"),
    outpost_delegate_token: async () => (await import("./resources/ephemeral/token.ts")).createToken("delegate"),
    outpost_webhook_secret: async () => (await import("./resources/ephemeral/webhook-secret.ts")).webhookSecret,
  },
  functions: {
    import_id: async () => (await import("./resources/functions.ts")).importId,
    reference: async () => (await import("./resources/functions.ts")).reference,
  },
});

export const outpost = createOutpost();
