import { type OperationId, operations } from "../../../openapi/contract/operations.ts";
import { fingerprintOf } from "../../../openapi/known-agents.ts";
import { showAge } from "../../base/lang/duration.ts";
import { type Column, field, type Json, plainColumn as plain, state, stateColumn } from "../show.ts";
import { application, applicationSet, delivered, gnupgKey, held, madeOf, type Readiness, replicas, webhook, worker } from "./readiness.ts";

export { application, type Readiness, resourceName } from "./readiness.ts";

export interface Noun {
  /** The word on the command line. */
  word: string;
  alias: string[];
  /** `Application` of getApplication and ApplicationSpec. */
  schema: string;
  collection: string;
  /** Several of them, in a sentence; the collection where that is a word. */
  many?: string;
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
const age: Column = { head: "AGE", path: "createdAt", text: (o) => showAge(o.createdAt) };
const connected: Column = { head: "CONNECTED", text: (o, c) => state(o.status?.connected ? "yes" : "no", c) };
const seen: Column = { head: "SEEN", text: (o) => (o.status?.lastSeenAt ? `${showAge(o.status.lastSeenAt)} ago` : "never") };
const sealKey: Column = {
  head: "SEAL KEY",
  wide: true,
  text: (o) => (o.status?.sealKey ? fingerprintOf(String(o.status.sealKey.publicKey)) : ""),
};
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
      sealKey,
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
    word: "appproject",
    alias: ["argoproject", "appprojects"],
    schema: "AppProject",
    collection: "appprojects",
    many: "app projects",
    summary: "app projects: what applications may do",
    order: 3,
    force: true,
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      delivery,
      { head: "SOURCES", text: (o) => String(o.spec?.sourceRepos?.length ?? 0) },
      { head: "DESTINATIONS", text: (o) => String(o.spec?.destinations?.length ?? 0) },
      { head: "WINDOWS", text: (o) => String(o.spec?.syncWindows?.length ?? 0) },
      age,
      plain("NAME", "status.name", true),
      plain("DESCRIPTION", "spec.description"),
    ],
    readiness: held,
  },
  {
    word: "repocreds",
    alias: ["repositorycredential", "repocred"],
    schema: "RepositoryCredential",
    collection: "repositorycredentials",
    many: "credential templates",
    summary: "credential templates: for all repositories below an address",
    order: 4,
    force: true,
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      delivery,
      { head: "CREDENTIALS", text: (o, c) => state(o.status?.credentials, c) },
      age,
      plain("URL", "spec.url"),
    ],
    readiness: held,
  },
  {
    word: "cert",
    alias: ["certificate", "repositorycertificate", "certs"],
    schema: "RepositoryCertificate",
    collection: "repositorycertificates",
    many: "certificates and host keys",
    summary: "certificates and host keys, by which agents recognise hosts",
    order: 4,
    force: true,
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      delivery,
      plain("TYPE", "spec.type"),
      plain("HOST", "spec.host"),
      plain("EXPIRES", "status.expiresAt"),
      age,
      plain("FINGERPRINTS", "status.fingerprints", true),
    ],
    readiness: held,
  },
  {
    word: "gpg",
    alias: ["gnupgkey", "gnupgkeys", "gpgkey"],
    schema: "GnupgKey",
    collection: "gnupgkeys",
    many: "GnuPG keys",
    summary: "GnuPG keys, by which agents verify commits",
    order: 4,
    force: true,
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      delivery,
      plain("KEY", "status.keyId"),
      plain("ALGORITHM", "status.algorithm"),
      { head: "EXPIRES", text: (o, c) => (gnupgKey(o).failed ? c.red(gnupgKey(o).reason) : field(o, "status.expiresAt") || "never") },
      age,
      plain("OWNER", "status.owner"),
      plain("FINGERPRINT", "status.fingerprint", true),
    ],
    readiness: gnupgKey,
  },
  {
    word: "repo",
    alias: ["repository", "repositories", "repos"],
    schema: "Repository",
    collection: "repositories",
    summary: "repositories that agents read",
    order: 5,
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
    order: 5,
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
    order: 6,
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
  {
    word: "appset",
    alias: ["applicationset", "applicationsets", "appsets"],
    schema: "ApplicationSet",
    collection: "applicationsets",
    many: "application sets",
    summary: "application sets: one template, many applications",
    order: 7,
    force: true,
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      { head: "APPLICATIONS", text: madeOf },
      { head: "HEALTH", text: (o, c) => (o.deletionRequestedAt ? c.yellow("Deleting") : state(o.status?.health?.status, c)) },
      age,
      { head: "MESSAGE", text: (o) => (applicationSet(o).ready ? "" : applicationSet(o).reason) },
    ],
    readiness: applicationSet,
  },
  {
    word: "webhook",
    alias: ["webhooks", "hook"],
    schema: "Webhook",
    collection: "webhooks",
    summary: "webhooks, by which hosts say that something changed",
    order: 2,
    columns: [
      id,
      scope,
      plain("PROVIDER", "spec.provider"),
      { head: "ENABLED", text: (o, c) => state(o.spec?.enabled === false ? "no" : "yes", c) },
      { head: "RECEIVED", text: (o) => (o.status?.lastReceivedAt ? `${showAge(o.status.lastReceivedAt)} ago` : "never") },
      stateColumn("OUTCOME", "status.lastOutcome"),
      age,
      plain("REPOSITORY", "status.lastRepository"),
      plain("URL", "status.url", true),
    ],
    readiness: webhook,
  },
  {
    word: "argo-project-mapping",
    alias: ["argoprojectmapping", "argo-project-mappings"],
    schema: "ArgoProjectMapping",
    collection: "argoprojectmappings",
    many: "Argo project mappings",
    summary: "mappings of Argo CD projects to organisations and projects, for discovered objects",
    order: 3,
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      plain("ARGO PROJECT", "spec.argoProject"),
      { head: "SHOWN IN", text: (o) => [o.spec?.targetOrg ?? o.org, o.spec?.targetProject].filter(Boolean).join("/") },
      age,
    ],
    readiness: () => ({ ready: true, reason: "it exists" }),
  },
  {
    word: "pipeline",
    alias: ["pipelines"],
    schema: "Pipeline",
    collection: "pipelines",
    summary: "pipelines: steps that run as tasks",
    order: 6,
    columns: [
      id,
      scope,
      { head: "STEPS", text: (o) => String(o.spec?.steps?.length ?? 0) },
      stateColumn("LAST RUN", "status.lastRun.state"),
      { head: "STARTED", text: (o) => (o.status?.lastRun?.startedAt ? `${showAge(o.status.lastRun.startedAt)} ago` : "never") },
      age,
      plain("RUN", "status.lastRun.id", true),
      plain("DESCRIPTION", "spec.description", true),
    ],
    readiness: (o) => ({ ready: true, reason: o.status?.lastRun ? `its last run is ${o.status.lastRun.state}` : "it was never run" }),
  },
];

export const manyOf = (noun: Noun): string => noun.many ?? noun.collection;

/** The operation that lists a collection. */
export const listOf = ({ collection }: Noun): OperationId =>
  (Object.keys(operations) as OperationId[]).find((id) => operations[id].method === "GET" && operations[id].path === `/v1/${collection}`)!;

export const nounOf = (word: string): Noun | undefined =>
  NOUNS.find((n) => [n.word, ...n.alias, n.schema, n.collection].some((w) => w.toLowerCase() === word.toLowerCase()));

/** Twelve digits of a commit are enough for a person; anything else (a chart's version) is shown whole. */
export const shortRevision = (revision: string): string => (/^[0-9a-f]{40,64}$/.test(revision) ? revision.slice(0, 12) : revision);
