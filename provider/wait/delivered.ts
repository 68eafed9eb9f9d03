import type { components } from "../../openapi/contract/types.ts";
import type { Stored } from "../client/client.ts";
import { attr, root } from "../value/path.ts";
import type { Verdict } from "./wait.ts";

type Status = components["schemas"]["RepositoryStatus"] & components["schemas"]["ClusterStatus"];
/** The attribute that a user would change when the agent does not get in, or will not take it. */
type About = "url" | "server" | "host" | "public_key" | "agent";

/** A first try may come before the credentials did; the agent tries again at once when they arrive. */
const connectionStands = 3_000;

/** Whether the agent has an object in its newest form, and, where there is something to connect to, gets into it. */
export const judgeDelivered =
  (about: About) =>
  (stored: Stored | undefined): Verdict => {
    if (!stored) return { kind: "stop", reason: "it was deleted while it was waited for" };
    const { delivery, observedGeneration = 0, connection, credentials } = stored.status as Status;
    if (delivery?.state === "Refused") {
      const reason = `the agent refused it: ${delivery.message ?? delivery.reason ?? "no reason given"}`;
      return about === "url" || about === "server"
        ? { kind: "stop", reason }
        : { kind: "stop", reason, path: attr(root, about) };
    }
    if (stored.deletionRequestedAt) return { kind: "stop", reason: "it is being deleted" };
    if (observedGeneration < stored.generation || delivery?.state !== "Delivered" || credentials === "Pending")
      return {
        kind: "later",
        reason: delivery?.message ?? `waiting for agent ${String(stored.spec.agent)} to take it`,
      };
    if (connection?.state === "Failed") {
      const reason = `${connection.reason ?? "ConnectionFailed"}: ${connection.message ?? "the agent cannot connect to it"}`;
      return { kind: "stop", reason, path: attr(root, about), standsFor: connectionStands };
    }
    return { kind: "done" };
  };
