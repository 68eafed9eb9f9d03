import type { components } from "../../openapi/contract/types.ts";
import type { Stored } from "../client/client.ts";
import { nameOf } from "./application.ts";
import type { Verdict } from "./wait.ts";

type Status = Pick<components["schemas"]["ApplicationStatus"], "delivery" | "conditions" | "resources"> &
  Pick<components["schemas"]["ApplicationSetStatus"], "applications">;

/** Whether the object with this uid is gone. Another object under its id is another object. */
export const judgeGone =
  (uid: string | undefined) =>
  (stored: Stored | undefined): Verdict => {
    if (!stored || (uid !== undefined && stored.uid !== uid)) return { kind: "done" };
    const { delivery, conditions = [], resources = [], applications = [] } = stored.status as Status;
    const fault = conditions.find((c) => c.status === "True" && c.type === "DeletionError");
    if (fault) return { kind: "later", reason: `${fault.reason}: ${fault.message}` };
    if (delivery?.message) return { kind: "later", reason: delivery.message };
    const left = resources[0] ? nameOf(resources[0]) : applications[0] && `application ${applications[0].name}`;
    return { kind: "later", reason: left ? `waiting for ${left} to be deleted` : "waiting for the agent to delete it" };
  };
