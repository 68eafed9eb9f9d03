import type { components } from "../../openapi/contract/types.ts";
import type { Stored } from "../client/client.ts";
import { attr, root } from "../value/path.ts";
import type { Verdict } from "./wait.ts";

type Status = components["schemas"]["AgentStatus"];

/** Whether an agent has enrolled, so that credentials can be sealed to its key. */
export const judgeEnrolled =
  (agent: string) =>
  (stored: Stored | undefined): Verdict => {
    if (!stored) return { kind: "stop", reason: `There is no agent ${agent}.`, path: attr(root, "agent") };
    return (stored.status as Status).sealKey
      ? { kind: "done" }
      : { kind: "later", reason: `waiting for agent ${agent} to connect` };
  };

/** What keeps an agent from taking something: that it is not there. Undefined when it is. */
export function absence(agent: string, stored: Stored): string | undefined {
  const { connected, enrolledAt } = stored.status as Status;
  if (connected) return undefined;
  return enrolledAt ? `waiting for agent ${agent} to connect again` : `waiting for agent ${agent} to connect`;
}
