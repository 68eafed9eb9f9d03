import { showAge } from "../base/duration.ts";
import { type Column, field, type Json, plainColumn as plain, state, stateColumn } from "./show.ts";

/** Whether an object is where its owner wants it, and if not, what is missing; `failed` says that waiting alone will not help. */
export interface Readiness {
  ready: boolean;
  reason: string;
  failed?: boolean;
}

export interface Noun {
  /** The word on the command line. */
  word: string;
  alias: string[];
  /** `Application` of getApplication and ApplicationSpec. */
  schema: string;
  collection: string;
  summary: string;
  columns: Column[];
  readiness(object: Json): Readiness;
  /** The objects that must be there before this kind's: `apply` of a file with several goes in this order. */
  order: number;
  force?: boolean;
  cascade?: boolean;
}

const id: Column = { head: "ID", text: (o, c) => c.bold(field(o, "id")) };
const scope: Column = { head: "SCOPE", wide: true, text: (o) => [field(o, "org"), field(o, "project")].filter(Boolean).join("/") };
const age: Column = { head: "AGE", text: (o) => showAge(o.createdAt) };
const connected: Column = { head: "CONNECTED", text: (o, c) => state(o.status?.connected ? "yes" : "no", c) };
const seen: Column = { head: "SEEN", text: (o) => (o.status?.lastSeenAt ? `${showAge(o.status.lastSeenAt)} ago` : "never") };
const delivery: Column = {
  head: "DELIVERY",
  text: (o, c) => (o.deletionRequestedAt ? c.yellow("Deleting") : state(o.status?.delivery?.state, c)),
};
const connection: Column = { head: "CONNECTION", text: (o, c) => state(o.status?.connection?.state, c) };

export const NOUNS: Noun[] = [
  {
    word: "org",
    alias: ["organization", "orgs"],
    schema: "Organization",
    collection: "organizations",
    summary: "organisations",
    order: 0,
    columns: [id, plain("NAME", "spec.name"), age, plain("DESCRIPTION", "spec.description", true)],
    readiness: () => ({ ready: true, reason: "it exists" }),
  },
  {
    word: "project",
    alias: ["projects"],
    schema: "Project",
    collection: "projects",
    summary: "projects of an organisation",
    order: 1,
    columns: [id, scope, plain("NAME", "spec.name"), age, plain("DESCRIPTION", "spec.description", true)],
    readiness: () => ({ ready: true, reason: "it exists" }),
  },
  {
    word: "agent",
    alias: ["agents"],
    schema: "Agent",
    collection: "agents",
    summary: "agents, which keep clusters equal to Git",
    order: 2,
    force: true,
    columns: [
      id,
      scope,
      connected,
      seen,
      plain("VERSION", "status.version"),
      plain("CLUSTER", "status.clusterVersion"),
      plain("MODE", "spec.mode", true),
      plain("CLUSTER UID", "status.clusterUid", true),
      age,
    ],
    readiness: worker("outpost agent manifest ID | kubectl apply -f -"),
  },
  {
    word: "delegate",
    alias: ["delegates"],
    schema: "Delegate",
    collection: "delegates",
    summary: "delegates, which carry out tasks",
    order: 2,
    columns: [id, scope, connected, { head: "REPLICAS", text: replicas }, seen, plain("TAGS", "spec.tags"), age],
    readiness: worker("outpost delegate manifest ID | kubectl apply -f -"),
  },
  {
    word: "repo",
    alias: ["repository", "repositories", "repos"],
    schema: "Repository",
    collection: "repositories",
    summary: "repositories that agents read",
    order: 3,
    force: true,
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      delivery,
      connection,
      { head: "CREDENTIALS", wide: true, text: (o, c) => state(o.status?.credentials, c) },
      age,
      plain("URL", "spec.url"),
    ],
    readiness: delivered,
  },
  {
    word: "cluster",
    alias: ["clusters"],
    schema: "Cluster",
    collection: "clusters",
    summary: "clusters that agents manage",
    order: 3,
    force: true,
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      delivery,
      connection,
      plain("VERSION", "status.serverVersion"),
      age,
      plain("SERVER", "spec.server"),
    ],
    readiness: delivered,
  },
  {
    word: "app",
    alias: ["application", "applications", "apps"],
    schema: "Application",
    collection: "applications",
    summary: "applications: what is to be where",
    order: 4,
    force: true,
    cascade: true,
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      stateColumn("SYNC", "status.sync.status"),
      { head: "HEALTH", text: (o, c) => state(o.status?.health?.status, c) },
      { head: "REVISION", text: (o) => shortRevision(field(o, "status.sync.revision")) },
      age,
      { head: "MESSAGE", text: (o) => (application(o).ready ? "" : application(o).reason) },
    ],
    readiness: application,
  },
];

export const nounOf = (word: string): Noun | undefined =>
  NOUNS.find((n) => [n.word, ...n.alias, n.schema, n.collection].some((w) => w.toLowerCase() === word.toLowerCase()));

/** Twelve digits of a commit are enough for a person; anything else (a chart's version) is shown whole. */
export const shortRevision = (revision: string): string => (/^[0-9a-f]{40,64}$/.test(revision) ? revision.slice(0, 12) : revision);

function worker(install: string): (o: Json) => Readiness {
  return (o) => {
    if (o.status?.connected) return { ready: true, reason: "connected" };
    const bad = (o.status?.conditions ?? []).find((c: Json) => c.status === "False");
    const reason = bad
      ? `${bad.reason}: ${bad.message}`
      : o.status?.enrolledAt || o.status?.lastSeenAt
        ? "enrolled, not connected"
        : `not installed yet (${install.replace("ID", o.id)})`;
    return { ready: false, reason };
  };
}

function replicas(o: Json): string {
  const all = (o.status?.instances ?? []) as Json[];
  return all.length ? `${all.filter((i) => i.connected).length}/${all.length}` : "0";
}

function delivered(o: Json): Readiness {
  const { delivery: d, connection: n } = o.status ?? {};
  if (o.status?.observedGeneration !== undefined && o.status.observedGeneration < o.generation)
    return { ready: false, reason: "the agent has not seen the newest version" };
  if (d?.state === "Refused") return { ready: false, failed: true, reason: `the agent refused it: ${d.message ?? d.reason}` };
  if (d?.state !== "Delivered") return { ready: false, reason: d?.message ?? d?.reason ?? "on its way to the agent" };
  if (n?.state === "Failed") return { ready: false, reason: `connection failed: ${n.message ?? n.reason}` };
  if (n?.state !== "Successful") return { ready: false, reason: "the connection has not been tried yet" };
  return { ready: true, reason: "delivered, connection successful" };
}

/** Synced, Healthy and about the newest generation; else the first reason a person would look for. */
export function application(o: Json): Readiness {
  const s = o.status ?? {};
  const named = (s.conditions ?? []).find((c: Json) => c.status === "True" && /Error$|^SharedResourceWarning$/.test(c.type));
  if (s.delivery?.state === "Refused")
    return { ready: false, failed: true, reason: `the agent refused it: ${s.delivery.message ?? s.delivery.reason}` };
  if ((s.observedGeneration ?? 0) < o.generation)
    return { ready: false, reason: s.delivery?.message ?? "waiting for the agent to see the newest version" };
  if (named) return { ready: false, reason: `${named.reason ?? named.type}: ${named.message}` };
  if (s.operation?.phase === "Failed" || s.operation?.phase === "Error")
    return { ready: false, reason: `sync ${s.operation.phase.toLowerCase()}: ${s.operation.message ?? ""}` };
  if (s.sync?.status === "Synced" && s.health?.status === "Healthy") return { ready: true, reason: "Synced and Healthy" };
  if (s.operation?.phase === "Running")
    return { ready: false, reason: s.operation.message ? `syncing: ${s.operation.message}` : "syncing" };
  const slow =
    (s.resources ?? []).find((r: Json) => r.health && r.health !== "Healthy") ??
    (s.resources ?? []).find((r: Json) => r.status && r.status !== "Synced");
  if (slow) return { ready: false, reason: `waiting for ${resourceName(slow)}: ${slow.message ?? slow.health ?? slow.status}` };
  return { ready: false, reason: s.health?.message ?? `${s.sync?.status ?? "Unknown"}, ${s.health?.status ?? "Unknown"}` };
}

/** `apps/Deployment guestbook`, as in all messages. */
export const resourceName = (r: Json): string =>
  `${r.group ? `${r.group}/` : ""}${r.kind} ${r.namespace ? `${r.namespace}/` : ""}${r.name}`;
