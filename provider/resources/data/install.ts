import type { Client } from "../../client/client.ts";
import { report } from "../../client/problem.ts";
import { installRequest } from "../../generated/install-request.ts";
import type { CallContext, DataSource } from "../../protocol/provider.ts";
import type { Attributes } from "../../schema/attribute.ts";
import { stringField, type Value, type ValueMap } from "../../value/value.ts";
import { toSpec } from "../spec.ts";
import { isSameWorker, placeOfWorker, type Worker, workerAttributes } from "../worker.ts";

const FORMATS = ["kubernetes", "helm-values", "docker", "ecs", "shell", "powershell"];
/** How the contract starts what only delegates have. */
const DELEGATES = /^Delegates: (.)/;

/** The fields of the contract's request, as this worker has them. */
const installOptions = (worker: Worker): Attributes =>
  Object.fromEntries(
    Object.entries(installRequest)
      .filter(
        ([name, { description = "" }]) =>
          name !== "with_token" && (worker === "delegate" || !/^Delegates\b/.test(description)),
      )
      .filter(([name]) => worker === "agent" || name !== "redis_image")
      .map(([name, { default: _, ...a }]) => [
        name,
        {
          ...a,
          presence: "optional" as const,
          description: (a.description ?? "").replace(DELEGATES, (_all, first: string) => first.toUpperCase()),
        },
      ]),
  );

const FORMAT: Attributes = {
  format: {
    type: "string",
    presence: "optional",
    description:
      "`kubernetes` for `kubectl apply`, `helm-values` for the chart, `docker` for a script of `docker run`, `ecs` for a task definition, `shell` for Linux with systemd, `powershell` for a Windows service. Default: `kubernetes`.",
    rules: { enum: FORMATS },
  },
};

/** An agent's manifest holds passwords that are drawn from its token; its values do not. */
const outputOf = (worker: Worker) => (worker === "agent" ? "helm_values" : "manifest");

const installAttributes = (worker: Worker, options: Attributes): Attributes => ({
  ...workerAttributes(worker, "the first plan does not ask for its installation."),
  ...(worker === "delegate" ? FORMAT : {}),
  ...options,
  [outputOf(worker)]: {
    type: "string",
    presence: "computed",
    description: `What installs it${worker === "agent" ? ", as Helm values" : ""}. There is never a token in it: it says where the token goes.`,
  },
});

/**
 * What installs a worker, without a token: a plan reads data sources too, and must make nothing. The token comes beside it, from a Secret
 * or from the ephemeral resource.
 */
export function createInstall(worker: Worker): DataSource<Client> {
  const options = installOptions(worker);
  const attributes = installAttributes(worker, options);
  const description = `What installs ${worker === "agent" ? "an agent" : "a delegate"}, ready but for its enrolment token, which comes from \`existing_secret\` or from \`outpost_${worker}_token\`.`;
  return {
    schema: {
      description: worker === "agent" ? description.replace("`existing_secret` or from ", "") : description,
      attributes,
    },
    read: (config, context) => read(worker, { options, attributes }, config, context),
  };
}

async function read(
  worker: Worker,
  { options, attributes }: { options: Attributes; attributes: Attributes },
  config: ValueMap,
  { client: connect, signal, diagnostics }: CallContext<Client>,
): Promise<Value> {
  const client = await connect();
  const limit = { deadline: Date.now() + 60_000, signal };
  const place = placeOfWorker(worker, config);
  if (!(await isSameWorker(worker, config, { client, limit, diagnostics }))) return null;
  const query: Record<string, string> =
    worker === "delegate" ? { format: stringField(config, "format") ?? "kubernetes" } : {};
  const reply = await client.text(
    place,
    worker === "agent" ? "/values" : "/manifest",
    { ...toSpec(options, config), withToken: false },
    query,
    limit,
  );
  if (reply.ok) return new Map([...config, [outputOf(worker), reply.body]]);
  if (reply.status === 404)
    diagnostics.error(
      `No such ${worker}`,
      `There is no ${worker} ${place.id} yet. With \`uid = outpost_${worker}.NAME.uid\` Terraform waits until it is created.`,
      [{ attr: worker }],
    );
  else report(diagnostics, `Drawing the installation of ${worker} ${place.id}`, reply.problem, attributes);
  return null;
}
