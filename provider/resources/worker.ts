import type { Client, Limit, Place } from "../client/client.ts";
import type { Attributes } from "../schema/attribute.ts";
import type { Diagnostics } from "../schema/diagnostics.ts";
import { stringField, type ValueMap } from "../value/value.ts";

export type Worker = "agent" | "delegate";

const LABEL = { pattern: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", maxLength: 63 };

/** By what a data source or an ephemeral resource names an agent or a delegate; `unknown` is what the first plan does not do. */
export const workerAttributes = (worker: Worker, unknown: string): Attributes => ({
  [worker]: { type: "string", presence: "required", description: `The id of the ${worker}.`, rules: LABEL },
  org: {
    type: "string",
    presence: "optional",
    description: `The organisation that the ${worker} is in.`,
    rules: LABEL,
  },
  project: { type: "string", presence: "optional", description: `The project that the ${worker} is in.`, rules: LABEL },
  uid: {
    type: "string",
    presence: "optional",
    description: `\`outpost_${worker}.NAME.uid\`. It is unknown until the ${worker} exists, so that ${unknown}`,
  },
});

export const placeOfWorker = (worker: Worker, config: ValueMap): Place => ({
  collection: `${worker}s`,
  id: stringField(config, worker)!,
  org: stringField(config, "org"),
  project: stringField(config, "project"),
});

/** Whether the worker is the one that the configuration means, and not another one of the same id. */
export async function isSameWorker(
  worker: Worker,
  config: ValueMap,
  { client, limit, diagnostics }: { client: Client; limit: Limit; diagnostics: Diagnostics },
): Promise<boolean> {
  const uid = stringField(config, "uid");
  if (uid === undefined) return true;
  const place = placeOfWorker(worker, config);
  const found = await client.get(place, limit);
  if (!found.ok || found.body.uid === uid) return true;
  diagnostics.error(`Another ${worker}`, `The ${worker} ${place.id} is not the one with the uid ${uid}. Plan again.`, [
    { attr: "uid" },
  ]);
  return false;
}
