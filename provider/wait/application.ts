import type { components } from "../../openapi/contract/types.ts";
import type { Stored } from "../client/client.ts";
import { attr, type Path, root } from "../value/path.ts";
import type { Verdict } from "./wait.ts";

type Status = components["schemas"]["ApplicationStatus"];
type Resource = components["schemas"]["ApplicationResource"];

const source = attr(root, "source");
const destination = attr(root, "destination");

/**
 * Reasons of conditions that waiting does not mend, and the attribute that a user would change. Reasons that are not here (a repository
 * out of reach, a kind whose definition is on its way) are waited for.
 */
const final: Readonly<Record<string, Path>> = {
  AuthenticationFailed: source,
  CertificateUntrusted: source,
  ChartNotFound: attr(source, "chart"),
  ChartRenderFailed: attr(source, "helm"),
  ClusterNotFound: attr(destination, "cluster"),
  ClusterSecretInvalid: attr(destination, "cluster"),
  DestinationAmbiguous: destination,
  DestinationInvalid: destination,
  DestinationNotPermitted: destination,
  HelmLookupInvalid: attr(root, "helm_lookup"),
  HelmLookupNotPermitted: attr(root, "helm_lookup"),
  HostKeyUnknown: source,
  JsonnetFailed: attr(source, "directory"),
  KustomizeFailed: attr(source, "kustomize"),
  ManifestInvalid: attr(source, "path"),
  NotARepository: source,
  PathEscapesRepository: attr(source, "path"),
  PathNotFound: attr(source, "path"),
  PluginFailed: attr(source, "plugin"),
  PluginNotFound: attr(source, "plugin"),
  ProjectNotFound: root,
  RepositoryNotFound: source,
  RepositoryUrlRefused: source,
  RevisionNotFound: attr(source, "target_revision"),
  SharedResource: root,
  SignatureBad: source,
  SignatureExpired: source,
  SignatureHistoryTooLong: source,
  SignatureKeyExpired: source,
  SignatureKeyNotPermitted: source,
  SignatureKeyRevoked: source,
  SignatureKeyUnknown: source,
  SignatureMissing: source,
  SignaturePolicyInvalid: attr(root, "app_project"),
  SourceInvalid: source,
  SourceMissing: source,
  SourceNotPermitted: source,
  SourceRefused: source,
  SourceTooLarge: source,
  SourceUnsupported: source,
  SpecMissing: root,
};

/** A condition may be left from before a credential or a cluster arrived; one that is still true after this time is meant. */
const conditionStands = 3_000;
/** A pod that crashes while its database starts is Degraded for a while. */
const degradedStands = 30_000;

/** `apps/Deployment guestbook`. */
export const nameOf = ({ group, kind, name }: Resource): string => `${group ? `${group}/` : ""}${kind} ${name}`;

/** Whether an application is what its newest configuration wants; else what it waits for, by name. */
export function judgeApplication(stored: Stored | undefined): Verdict {
  if (!stored) return { kind: "stop", reason: "the application was deleted while it was waited for" };
  const status = stored.status as Status;
  const { delivery, sync, health, operation, conditions = [], resources = [] } = status;
  if (delivery?.state === "Refused")
    return {
      kind: "stop",
      reason: `the agent refused it: ${delivery.message ?? delivery.reason ?? "no reason given"}`,
    };
  if (stored.deletionRequestedAt) return { kind: "stop", reason: "the application is being deleted" };
  if ((status.observedGeneration ?? 0) < stored.generation || delivery?.state === "Pending") {
    return { kind: "later", reason: delivery?.message ?? `waiting for agent ${String(stored.spec.agent)} to take it` };
  }
  // An object that belongs to another application stays with that one, so this one never becomes Synced.
  const fault = conditions.find(
    (c) => c.status === "True" && (c.type.endsWith("Error") || c.type === "SharedResourceWarning"),
  );
  if (fault && Object.hasOwn(final, fault.reason))
    return {
      kind: "stop",
      reason: `${fault.reason}: ${fault.message}`,
      path: final[fault.reason]!,
      standsFor: conditionStands,
    };
  // A failed dry run says nothing about the live objects.
  if (operation && !operation.dryRun && (operation.phase === "Failed" || operation.phase === "Error")) {
    const failing = resources.find((r) => r.message && (r.status !== "Synced" || r.health === "Degraded"));
    const what = failing
      ? `${nameOf(failing)}: ${failing.message}`
      : (fault?.message ?? operation.message ?? "no message");
    return { kind: "stop", reason: `the sync failed: ${what}`, standsFor: conditionStands, deployed: true };
  }
  if (fault) return { kind: "later", reason: `${fault.reason}: ${fault.message}` };
  // Without automated sync nothing makes it Synced: being compared is all there is to wait for.
  if (!isAutomated(stored))
    return sync && sync.status !== "Unknown"
      ? { kind: "done" }
      : { kind: "later", reason: "waiting for the first comparison" };
  if (sync?.status === "Synced" && health?.status === "Healthy" && operation?.phase !== "Running")
    return { kind: "done" };
  const ill = resources.find((r) => r.health === "Degraded");
  if (ill && health?.status === "Degraded")
    return {
      kind: "stop",
      reason: `${nameOf(ill)} is Degraded: ${ill.message ?? "no message"}`,
      standsFor: degradedStands,
      deployed: true,
    };
  const slow =
    resources.find((r) => r.health !== undefined && r.health !== "Healthy") ??
    resources.find((r) => r.status === "OutOfSync");
  if (slow)
    return { kind: "later", reason: `waiting for ${nameOf(slow)}: ${slow.message ?? slow.health ?? slow.status}` };
  if (operation?.phase === "Running")
    return { kind: "later", reason: operation.message ? `syncing: ${operation.message}` : "syncing" };
  return {
    kind: "later",
    reason: `${sync?.status ?? "Unknown"}, ${health?.status ?? "Unknown"}${health?.message ? `: ${health.message}` : ""}`,
  };
}

function isAutomated({ spec }: Stored): boolean {
  const { automated } = (spec.syncPolicy ?? {}) as components["schemas"]["SyncPolicy"];
  return automated !== undefined && automated.enabled !== false;
}
