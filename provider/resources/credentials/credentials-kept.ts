import { audienceOf, beyond, keepsNothing, type SealedCollection } from "../../../openapi/audience.ts";
import { pathOf } from "../../client/problem.ts";
import type { PlannedChange } from "../../protocol/provider.ts";
import type { Attributes, Schema } from "../../schema/attribute.ts";
import type { Diagnostics } from "../../schema/diagnostics.ts";
import { requiresReplace } from "../../schema/plan.ts";
import { equal } from "../../value/equal.ts";
import { string } from "../../value/type.ts";
import { Unknown, type Value } from "../../value/value.ts";
import type { Noun } from "../noun.ts";
import { toSpec } from "../spec.ts";

/**
 * Refuses, at its attribute, a change that would send the credentials which the agent holds elsewhere or with less protection, when the
 * plan does not send them again. The service and the agent refuse it too, but only when it is applied.
 */
export function checkKeptCredentials(
  noun: Noun,
  spec: Attributes,
  change: PlannedChange,
  diagnostics: Diagnostics,
): void {
  const { config, prior, planned } = change;
  if (!prior || !keepsCredentials(noun.schema, change)) return;
  // Unknown values are checked at apply.
  if (Object.keys(spec).some((name) => hasUnknown(planned.get(name) ?? null))) return;
  const [before, now] = [toSpec(spec, prior), toSpec(spec, planned)];
  if (keepsNothing(before, now)) return;
  const collection = noun.collection as SealedCollection;
  const remedy = config.get("credentials")
    ? "Change `credentials_version` too, so that they are sent again."
    : "Give `credentials` again, and change `credentials_version`.";
  for (const { field, message } of beyond(collection, audienceOf(collection, before), audienceOf(collection, now)))
    diagnostics.error(
      "Credentials must be given again",
      `${message.charAt(0).toUpperCase()}${message.slice(1)}. The agent does not send the credentials that it has there: they were given for the earlier value. ${remedy}`,
      pathOf(noun.schema.attributes, `/spec/${field}`),
    );
}

/** The object has credentials, stays the same object, and no new ones are sent with this change. */
function keepsCredentials(schema: Schema, { config, prior, planned }: PlannedChange): boolean {
  const version = "credentials_version";
  const has = (config.get("credentials") ?? null) !== null || (prior?.get(version) ?? null) !== null;
  const same = equal(string, prior?.get(version) ?? null, planned.get(version) ?? null);
  return has && same && requiresReplace(schema, planned, prior!).length === 0;
}

function hasUnknown(value: Value): boolean {
  if (value instanceof Unknown) return true;
  if (Array.isArray(value)) return value.some(hasUnknown);
  return value instanceof Map && [...value.values()].some(hasUnknown);
}
