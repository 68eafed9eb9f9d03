import { randomUUID } from "node:crypto";
import type { components } from "../../../openapi/contract/types.ts";
import type { Client } from "../../client/client.ts";
import { report } from "../../client/problem.ts";
import type { CallContext, EphemeralResource } from "../../protocol/provider.ts";
import type { Attributes } from "../../schema/attribute.ts";
import type { Json } from "../../value/json.ts";
import { stringField, type ValueMap } from "../../value/value.ts";
import { noSuch } from "../references/missing.ts";
import { isSameWorker, placeOfWorker, type Worker, workerAttributes } from "../worker.ts";

type WorkerToken = components["schemas"]["WorkerToken"];
const tokenAttributes = (worker: Worker): Attributes => ({
  ...workerAttributes(
    worker,
    `the first plan asks for no token; and a token is never made for another ${worker} of the same id.`,
  ),
  expires_in: {
    type: "string",
    presence: "either",
    default: "1h",
    description: "How long the token may be used. Default: `1h`.",
    rules: { pattern: "^[0-9]{1,9}(ms|s|m|h)$", maxLength: 12 },
  },
  revoke_on_close: {
    type: "bool",
    presence: "either",
    default: true,
    description: `Revoke the token when Terraform ends, unless a ${worker} has enrolled with it by then. A plan opens a token too, and leaves no usable one behind. Set it to \`false\` when the ${worker} enrols only after the apply has ended. Default: \`true\`.`,
  },
  token: { type: "string", presence: "computed", sensitive: true, description: "The token." },
  token_id: { type: "string", presence: "computed", description: "The id of the token, as in the service's list." },
  expires_at: { type: "string", presence: "computed", description: "When it ends." },
});

/**
 * An enrolment token of an agent or a delegate. It exists only while Terraform runs, so it goes into a write-only argument (a Secret, a
 * Helm value) and is in no plan and no state. A plan opens one too; an unused one is revoked when Terraform ends.
 */
export function createToken(worker: Worker): EphemeralResource<Client> {
  const attributes = tokenAttributes(worker);
  return {
    schema: {
      description: `An enrolment token of ${worker === "agent" ? "an agent" : "a delegate"}, which is kept nowhere.`,
      attributes,
    },
    open: (config, context) => open(worker, attributes, config, context),
    close: (lease, context) => close(worker, lease, context),
  };
}

async function open(
  worker: Worker,
  attributes: Attributes,
  config: ValueMap,
  { client: connect, signal, diagnostics }: CallContext<Client>,
) {
  const client = await connect();
  const limit = { deadline: Date.now() + 60_000, signal };
  const place = placeOfWorker(worker, config);
  if (!(await isSameWorker(worker, config, { client, limit, diagnostics }))) return null;
  const expires_in = stringField(config, "expires_in") ?? "1h";
  const reply = await client.post<WorkerToken>(place, "/tokens", { expiresIn: expires_in }, limit, randomUUID());
  if (!reply.ok) {
    if (reply.status === 404)
      diagnostics.error(
        `No such ${worker}`,
        `${await noSuch(client, worker, place, signal)} With \`uid = outpost_${worker}.NAME.uid\` Terraform waits until it is created.`,
        [{ attr: worker }],
      );
    else report(diagnostics, "Creating a token", reply.problem, attributes);
    return null;
  }
  const { id, token = null, expiresAt } = reply.body;
  const revoke = config.get("revoke_on_close") !== false;
  const result = new Map([
    ...config,
    ["expires_in", expires_in],
    ["revoke_on_close", revoke],
    ["token", token],
    ["token_id", id],
    ["expires_at", expiresAt],
  ] as const);
  const { org = null, project = null } = place;
  return { result, ...(revoke ? { private: { id: place.id, org, project, token: id } } : {}) };
}

async function close(worker: Worker, lease: Json, { client, signal, log }: CallContext<Client>): Promise<void> {
  if (lease === null) return;
  const { id, org, project, token } = lease as Record<string, Json>;
  const search = new URLSearchParams({
    ...(org ? { org: String(org) } : {}),
    ...(project ? { project: String(project) } : {}),
  });
  const path = `/v1/${worker}s/${String(id)}/tokens`;
  const limit = { deadline: Date.now() + 30_000, signal };
  const connected = await client();
  const tokens = await connected.call<{ items: WorkerToken[] }>("GET", `${path}?${search}`, limit);
  // A used one is either spent (an agent's) or what further replicas enrol with (a delegate's).
  if (tokens.ok && tokens.body.items.some((item) => item.id === token && item.uses > 0)) return;
  const reply = await connected.call("DELETE", `${path}/${String(token)}?${search}`, limit);
  if (!reply.ok && reply.status !== 404)
    log("warn", `the token ${String(token)} was not revoked: ${reply.problem.detail}`);
}
