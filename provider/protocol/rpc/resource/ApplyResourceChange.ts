import type { Diagnostics } from "../../../schema/diagnostics.ts";
import { guardApply } from "../../../schema/guard.ts";
import { storable } from "../../../schema/plan.ts";
import { objectOf } from "../../../schema/type.ts";
import { isMap, type Value, type ValueMap } from "../../../value/value.ts";
import { messageOf, objectIn, privateBytes, privateOf, valueIn } from "../../convert.ts";
import { orCrash } from "../../crash.ts";
import type { ApplyContext, Resource } from "../../provider.ts";
import { caught } from "../../session.ts";
import type { Handler } from "../rpc.ts";

/**
 * Creates, updates or deletes, by which of prior and planned is null. On failure the answer holds the known state of the object: the
 * checkpoint, else the state from before, so that nothing that exists is ever lost.
 */
export const ApplyResourceChange: Handler<"ApplyResourceChange"> = async (session, request, diagnostics) => {
  const name = request.type_name!;
  const resource = await session.resource(name);
  const { schema } = resource;
  const type = objectOf(schema.attributes);
  const before = valueIn(type, request.prior_state);
  const prior = isMap(before) ? before : null;
  const planned = valueIn(type, request.planned_state);
  const kept = privateOf(request.planned_private);
  let known: Value = prior;
  const context = {
    ...session.context(diagnostics),
    private: kept,
    checkpoint: (state: Value) => {
      known = state;
    },
  };

  let state: Value = null;
  try {
    const config = planned === null ? null : objectIn(type, request.config);
    state = await orCrash(run(resource, config, prior, planned, context));
  } catch (error) {
    caught(error, `${verb(prior, planned)} ${name}`, session.log, diagnostics);
  }
  if (diagnostics.failed)
    return {
      new_state: messageOf(type, storable(schema.attributes, state ?? known, true)),
      private: privateBytes(kept),
    };
  const stored = storable(schema.attributes, state);
  guardApply(name, schema, planned, stored, diagnostics);
  return answer(diagnostics, type, schema.attributes, stored, planned, privateBytes(kept));
};

/** A guarded result is returned even if the guard complained: the object exists, and the state must say so. */
function answer(
  diagnostics: Diagnostics,
  type: ReturnType<typeof objectOf>,
  attributes: Resource["schema"]["attributes"],
  state: Value,
  planned: Value,
  kept: Buffer,
) {
  const stored = diagnostics.failed ? storable(attributes, state ?? planned, true) : state;
  return { new_state: messageOf(type, stored), private: kept };
}

function verb(prior: Value, planned: Value): string {
  if (prior === null) return "Creating";
  return planned === null ? "Deleting" : "Updating";
}

async function run(
  resource: Resource,
  config: ValueMap | null,
  prior: ValueMap | null,
  planned: Value,
  context: ApplyContext<unknown>,
): Promise<Value> {
  if (isMap(planned) && config) {
    if (prior) return resource.update({ config, prior, planned }, context);
    return resource.create({ config, prior, planned }, context);
  }
  if (prior) await resource.delete(prior, context);
  return null;
}
