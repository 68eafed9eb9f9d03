import type { Json } from "../../show.ts";

/** Whether an object is ready, and if not, what is missing; `failed` says that waiting alone will not help. */
export interface Readiness {
  ready: boolean;
  reason: string;
  failed?: boolean;
}

export function worker(install: string): (o: Json) => Readiness {
  return (o) => {
    if (o.status?.connected) return { ready: true, reason: "connected" };
    const bad = (o.status?.conditions ?? []).find((c: Json) => c.status === "False");
    const isEnrolled = o.status?.enrolledAt || o.status?.lastSeenAt;
    const otherwise = isEnrolled ? "enrolled, not connected" : `not installed yet (${install.replace("ID", o.id)})`;
    const reason = bad ? `${bad.reason}: ${bad.message}` : otherwise;
    return { ready: false, reason };
  };
}

export function replicas(o: Json): string {
  const all = (o.status?.instances ?? []) as Json[];
  return all.length ? `${all.filter((i) => i.connected).length}/${all.length}` : "0";
}

const isFound = ({ origin }: Json): boolean => origin !== undefined && origin !== "managed";

/** The agent has it in its newest form. */
export function held(o: Json): Readiness {
  // It came from the cluster: nothing is delivered there.
  if (isFound(o)) return { ready: true, reason: `${o.origin}: the agent sees it in the cluster` };
  const { delivery: d } = o.status ?? {};
  if (o.status?.observedGeneration !== undefined && o.status.observedGeneration < o.generation)
    return { ready: false, reason: "the agent has not seen the newest version" };
  if (d?.state === "Refused")
    return { ready: false, failed: true, reason: `the agent refused it: ${d.message ?? d.reason}` };
  if (d?.state !== "Delivered") return { ready: false, reason: d?.message ?? d?.reason ?? "on its way to the agent" };
  return { ready: true, reason: "the agent has it" };
}

/** The same, and the agent gets into it. */
export function delivered(o: Json): Readiness {
  const there = held(o);
  if (!there.ready) return there;
  const { connection: n } = o.status ?? {};
  // The service has no credentials with which it could test the connection.
  if (isFound(o) && !n) return there;
  if (n?.state === "Failed") return { ready: false, reason: `connection failed: ${n.message ?? n.reason}` };
  if (n?.state !== "Successful") return { ready: false, reason: "the connection has not been tried yet" };
  return { ready: true, reason: "delivered, connection successful" };
}

/** Synced, Healthy and about the newest generation; else the first reason a person would look for. */
export function application(o: Json): Readiness {
  const s = o.status ?? {};
  const named = (s.conditions ?? []).find(
    (c: Json) =>
      c.status === "True" &&
      /Error$|^SharedResourceWarning$/.test(c.type) &&
      !(c.type === "SyncError" && s.operation?.dryRun),
  );
  if (s.delivery?.state === "Refused")
    return { ready: false, failed: true, reason: `the agent refused it: ${s.delivery.message ?? s.delivery.reason}` };
  if ((s.observedGeneration ?? 0) < o.generation)
    return { ready: false, reason: s.delivery?.message ?? "waiting for the agent to see the newest version" };
  if (named) return { ready: false, reason: `${named.reason ?? named.type}: ${named.message}` };
  // A failed dry run says nothing about the live objects.
  if (!s.operation?.dryRun && ["Failed", "Error"].includes(s.operation?.phase))
    return { ready: false, reason: `sync ${s.operation.phase.toLowerCase()}: ${s.operation.message ?? ""}` };
  if (s.sync?.status === "Synced" && s.health?.status === "Healthy")
    return { ready: true, reason: "Synced and Healthy" };
  if (s.operation?.phase === "Running")
    return { ready: false, reason: s.operation.message ? `syncing: ${s.operation.message}` : "syncing" };
  const unhealthy = (s.resources ?? []).find((r: Json) => r.health && r.health !== "Healthy");
  if (unhealthy)
    return { ready: false, reason: `waiting for ${resourceName(unhealthy)}: ${unhealthy.message ?? unhealthy.health}` };
  const different = (s.resources ?? []).find((r: Json) => r.status && r.status !== "Synced");
  if (different)
    return {
      ready: false,
      reason: `waiting for ${resourceName(different)}: ${different.message ?? different.status}`,
    };
  if (!s.sync && !s.health) return { ready: false, reason: "not compared with Git yet" };
  return {
    ready: false,
    reason: s.health?.message ?? `${s.sync?.status ?? "Unknown"}, ${s.health?.status ?? "Unknown"}`,
  };
}

/** `apps/Deployment guestbook`, as in all messages. */
export const resourceName = (r: Json): string =>
  `${r.group ? `${r.group}/` : ""}${r.kind} ${r.namespace ? `${r.namespace}/` : ""}${r.name}`;

/** Its applications are made, Synced and Healthy; else the first reason a person would look for. */
export function applicationSet(o: Json): Readiness {
  const there = held(o);
  if (!there.ready) return there;
  const { conditions = [], applications = [] } = o.status as { conditions?: Json[]; applications?: Json[] };
  const is = (type: string) => conditions.find((c) => c.type === type && c.status === "True");
  const bad = is("ErrorOccurred");
  if (bad) return { ready: false, reason: `${bad.reason}: ${bad.message}` };
  if (!is("ResourcesUpToDate")) return { ready: false, reason: "waiting for its applications to be made" };
  const slow =
    applications.find((one) => one.health === "Degraded") ??
    applications.find((one) => one.sync !== "Synced" || one.health !== "Healthy");
  if (slow) {
    const words =
      slow.message ??
      (slow.state === "Waiting" ? slow.state : `${slow.sync ?? "Unknown"}, ${slow.health ?? "Unknown"}`);
    return { ready: false, reason: `application ${slow.name}: ${words}` };
  }
  const rolling = is("RolloutProgressing");
  if (rolling) return { ready: false, reason: rolling.message ?? "the roll-out goes on" };
  const count = applications.length === 1 ? "1 application" : `${applications.length} applications`;
  return { ready: true, reason: `${count}, Synced and Healthy` };
}

/** How many of a set's applications are there, as `2/3`. */
export function madeOf(o: Json): string {
  const all = (o.status?.applications ?? []) as Json[];
  return `${all.filter((one) => one.sync === "Synced" && one.health === "Healthy").length}/${all.length}`;
}

/** A webhook is there at once; whether it works, its last call says. */
export function webhook(o: Json): Readiness {
  if (o.spec?.enabled === false) return { ready: true, reason: "it takes no calls: `enabled` is false" };
  const said: Record<string, string> = {
    SignatureInvalid: "the last call was not signed with its secret",
    PayloadInvalid: "the last call was none that its provider makes",
  };
  const last = o.status?.lastOutcome as string | undefined;
  return {
    ready: true,
    reason: last === undefined ? "it was never called" : (said[last] ?? `its last call was ${last}`),
  };
}
