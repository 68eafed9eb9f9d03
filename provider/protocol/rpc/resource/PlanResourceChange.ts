import { guardPlan } from "../../../schema/guard.ts";
import { plan, requiresReplace } from "../../../schema/plan.ts";
import { objectOf } from "../../../schema/type.ts";
import { isMap } from "../../../value/value.ts";
import { messageOf, objectIn, pathOf, privateBytes, privateOf, valueIn } from "../../convert.ts";
import { DESTROYS } from "../../provider.ts";
import type { Handler } from "../rpc.ts";

/** Called twice for a replacement, the second time with a null prior; for a destroy the plan is null. */
export const PlanResourceChange: Handler<"PlanResourceChange"> = async (session, request, diagnostics) => {
  const resource = await session.resource(request.type_name);
  const { attributes } = resource.schema;
  const type = objectOf(attributes);
  if (valueIn(type, request.proposed_new_state) === null) {
    const gone = valueIn(type, request.prior_state);
    if (isMap(gone) && resource.planDelete)
      await resource.planDelete(gone, {
        ...session.context(diagnostics),
        private: privateOf(request.prior_private),
      });
    if (diagnostics.failed) return {};
    // The delete of a replacement comes without this mark: Terraform plans it as the creation that follows.
    return {
      planned_state: messageOf(type, null),
      planned_private: privateBytes(privateOf(request.prior_private).set(DESTROYS, true)),
    };
  }
  const config = objectIn(type, request.config);
  const before = valueIn(type, request.prior_state);
  const prior = isMap(before) ? before : null;
  const kept = privateOf(request.prior_private);
  kept.delete(DESTROYS);
  let planned = plan(resource.schema, config, prior);
  if (resource.plan)
    planned = await resource.plan({ config, prior, planned }, { ...session.context(diagnostics), private: kept });
  if (diagnostics.failed) return {};
  guardPlan(request.type_name!, resource.schema, config, prior, planned, diagnostics);
  return {
    planned_state: messageOf(type, planned),
    requires_replace: prior ? requiresReplace(resource.schema, planned, prior).map(pathOf) : [],
    planned_private: privateBytes(kept),
  };
};
