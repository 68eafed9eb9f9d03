import type { Client, Place } from "../../client/client.ts";
import { report } from "../../client/problem.ts";
import { installRequest } from "../../generated/install-request.ts";
import type { DataSource } from "../../protocol/provider.ts";
import type { Attributes } from "../../schema/attribute.ts";
import { stringField } from "../../value/value.ts";
import { toSpec } from "../spec.ts";

const label = { pattern: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", maxLength: 63 };
const FORMATS = ["kubernetes", "helm-values", "docker", "ecs", "shell", "powershell"];
/** How the contract starts what only delegates have. */
const DELEGATES = /^Delegates: (.)/;

/**
 * What installs a worker, without a token: a plan reads data sources too, and must make nothing. The token comes beside it, from a Secret
 * or from the ephemeral resource.
 */
export function createInstall(worker: "agent" | "delegate"): DataSource<Client> {
  // An agent's manifest holds passwords that are drawn from its token; its values do not.
  const output = worker === "agent" ? "helm_values" : "manifest";
  const options: Attributes = Object.fromEntries(
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
  const attributes: Attributes = {
    [worker]: { type: "string", presence: "required", description: `The id of the ${worker}.`, rules: label },
    org: {
      type: "string",
      presence: "optional",
      description: `The organisation that the ${worker} is in.`,
      rules: label,
    },
    project: {
      type: "string",
      presence: "optional",
      description: `The project that the ${worker} is in.`,
      rules: label,
    },
    uid: {
      type: "string",
      presence: "optional",
      description: `\`outpost_${worker}.NAME.uid\`. It is unknown until the ${worker} exists, so that the first plan does not ask for its installation.`,
    },
    ...(worker === "delegate"
      ? ({
          format: {
            type: "string",
            presence: "optional",
            description:
              "`kubernetes` for `kubectl apply`, `helm-values` for the chart, `docker` for a script of `docker run`, `ecs` for a task definition, `shell` for Linux with systemd, `powershell` for a Windows service. Default: `kubernetes`.",
            rules: { enum: FORMATS },
          },
        } as Attributes)
      : {}),
    ...options,
    [output]: {
      type: "string",
      presence: "computed",
      description: `What installs it${worker === "agent" ? ", as Helm values" : ""}. There is never a token in it: it says where the token goes.`,
    },
  };
  const description = `What installs ${worker === "agent" ? "an agent" : "a delegate"}, ready but for its enrolment token, which comes from \`existing_secret\` or from \`outpost_${worker}_token\`.`;
  return {
    schema: {
      description: worker === "agent" ? description.replace("`existing_secret` or from ", "") : description,
      attributes,
    },
    read: async (config, { client: open, signal, diagnostics }) => {
      const client = await open();
      const limit = { deadline: Date.now() + 60_000, signal };
      const id = stringField(config, worker)!;
      const place: Place = {
        collection: `${worker}s`,
        id,
        org: stringField(config, "org"),
        project: stringField(config, "project"),
      };
      const uid = stringField(config, "uid");
      if (uid !== undefined) {
        const found = await client.get(place, limit);
        if (found.ok && found.body.uid !== uid) {
          diagnostics.error(
            `Another ${worker}`,
            `The ${worker} ${id} is not the one with the uid ${uid}. Plan again.`,
            [{ attr: "uid" }],
          );
          return null;
        }
      }
      const query: Record<string, string> =
        worker === "delegate" ? { format: stringField(config, "format") ?? "kubernetes" } : {};
      const reply = await client.text(
        place,
        worker === "agent" ? "/values" : "/manifest",
        { ...toSpec(options, config), withToken: false },
        query,
        limit,
      );
      if (reply.ok) return new Map([...config, [output, reply.body]]);
      if (reply.status === 404)
        diagnostics.error(
          `No such ${worker}`,
          `There is no ${worker} ${id} yet. With \`uid = outpost_${worker}.NAME.uid\` Terraform waits until it is created.`,
          [{ attr: worker }],
        );
      else report(diagnostics, `Drawing the installation of ${worker} ${id}`, reply.problem, attributes);
      return null;
    },
  };
}
