import type { components } from "../../openapi/contract/types.ts";
import type { Stored } from "../client/client.ts";
import { attr, type Path, root } from "../value/path.ts";
import type { Verdict } from "./wait.ts";

type Status = components["schemas"]["ApplicationSetStatus"];
type Made = components["schemas"]["GeneratedApplication"];

/** Reasons that waiting does not mend, and the attribute that a user would change. */
const final: Readonly<Record<string, Path>> = {
  ApplicationNameTaken: attr(root, "template"),
  ApplicationSetInvalid: attr(root, "generators"),
  ApplicationValidationError: attr(root, "template"),
  AuthenticationFailed: attr(root, "generators"),
  CertificateUntrusted: attr(root, "generators"),
  HostKeyUnknown: attr(root, "generators"),
  RenderTemplateParamsError: attr(root, "template"),
  RepositoryNotFound: attr(root, "generators"),
  RepositoryUrlRefused: attr(root, "generators"),
  RevisionNotFound: attr(root, "generators"),
};

/** A condition may be left from before something that the set needs arrived. */
const conditionStands = 3_000;
/** A pod that crashes while its database starts is Degraded for a while. */
const degradedStands = 30_000;

/** Whether a set has made its applications and they are what Git says; else what it waits for, by name. */
export function judgeApplicationSet(stored: Stored | undefined): Verdict {
  if (!stored) return { kind: "stop", reason: "the application set was deleted while it was waited for" };
  const status = stored.status as Status;
  const { delivery, conditions = [], applications = [] } = status;
  if (delivery?.state === "Refused")
    return {
      kind: "stop",
      reason: `the agent refused it: ${delivery.message ?? delivery.reason ?? "no reason given"}`,
    };
  if (stored.deletionRequestedAt) return { kind: "stop", reason: "the application set is being deleted" };
  if ((status.observedGeneration ?? 0) < stored.generation || delivery?.state === "Pending")
    return { kind: "later", reason: delivery?.message ?? `waiting for agent ${String(stored.spec.agent)} to take it` };
  const is = (type: string, value: string) => conditions.find((c) => c.type === type && c.status === value);
  const fault = is("ErrorOccurred", "True");
  if (fault && Object.hasOwn(final, fault.reason))
    return {
      kind: "stop",
      reason: `${fault.reason}: ${fault.message}`,
      path: final[fault.reason]!,
      standsFor: conditionStands,
    };
  if (fault) return { kind: "later", reason: `${fault.reason}: ${fault.message}` };
  if (!is("ResourcesUpToDate", "True")) return { kind: "later", reason: "waiting for its applications to be made" };
  const automated = isAutomated(stored);
  const ill = applications.find((one) => one.health === "Degraded");
  if (ill)
    return {
      kind: "stop",
      reason: `application ${ill.name} is Degraded: ${wordsOf(ill)}`,
      standsFor: degradedStands,
      deployed: true,
    };
  const slow = applications.find((one) => !isThere(one, automated));
  if (slow) return { kind: "later", reason: `waiting for application ${slow.name}: ${wordsOf(slow)}` };
  const rolling = is("RolloutProgressing", "True");
  return rolling ? { kind: "later", reason: rolling.message ?? "waiting for the roll-out" } : { kind: "done" };
}

/** Without automated sync nothing makes it Synced: being compared is all there is to wait for. */
function isThere({ sync, health }: Made, automated: boolean): boolean {
  if (!automated) return sync !== undefined && sync !== "Unknown";
  return sync === "Synced" && health === "Healthy";
}

const wordsOf = ({ message, state, sync, health }: Made): string =>
  message ?? (state === "Waiting" || state === "Pending" ? state : `${sync ?? "Unknown"}, ${health ?? "Unknown"}`);

function isAutomated({ spec }: Stored): boolean {
  const template = (spec.template ?? {}) as { spec?: { syncPolicy?: components["schemas"]["SyncPolicy"] } };
  const automated = template.spec?.syncPolicy?.automated;
  return automated !== undefined && automated.enabled !== false;
}
