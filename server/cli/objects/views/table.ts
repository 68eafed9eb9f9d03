import type { Collection } from "../../../../openapi/contract/nouns.ts";
import { showAge } from "../../../base/lang/duration.ts";
import { plainColumn as plain, state, stateColumn } from "../../show.ts";
import { age, connected, connection, delivery, id, scope, sealKey, seen, type View } from "./columns.ts";
import {
  application,
  applicationSet,
  delivered,
  held,
  madeOf,
  type Readiness,
  replicas,
  webhook,
  worker,
} from "./readiness.ts";
import { trust } from "./trust.ts";

const exists = (): Readiness => ({ ready: true, reason: "it exists" });

/** One row for each noun of the contract, in the order of the help; a missing one does not compile. */
export const VIEWS: Readonly<Record<Collection, View>> = {
  organizations: {
    columns: [id, plain("NAME", "spec.name"), age, plain("DESCRIPTION", "spec.description", true)],
    readiness: exists,
  },
  projects: {
    columns: [id, scope, plain("NAME", "spec.name"), age, plain("DESCRIPTION", "spec.description", true)],
    readiness: exists,
  },
  agents: {
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
  delegates: {
    columns: [id, scope, connected, { head: "REPLICAS", text: replicas }, seen, plain("TAGS", "spec.tags"), age],
    readiness: worker("outpost delegate manifest ID | kubectl apply -f -"),
  },
  appprojects: {
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
  repositorycredentials: {
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
  ...trust,
  repositories: {
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
  clusters: {
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
  applications: {
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      stateColumn("SYNC", "status.sync.status"),
      { head: "HEALTH", text: (o, c) => state(o.status?.health?.status, c) },
      { head: "REVISION", text: (o) => revisionText((o as { status?: { sync?: object } }).status?.sync ?? {}) },
      plain("SERVICE", "spec.service", true),
      plain("ENVIRONMENT", "spec.environment", true),
      age,
      { head: "MESSAGE", text: (o) => (application(o).ready ? "" : application(o).reason) },
    ],
    readiness: application,
  },
  applicationsets: {
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      { head: "APPLICATIONS", text: madeOf },
      {
        head: "HEALTH",
        text: (o, c) => (o.deletionRequestedAt ? c.yellow("Deleting") : state(o.status?.health?.status, c)),
      },
      age,
      { head: "MESSAGE", text: (o) => (applicationSet(o).ready ? "" : applicationSet(o).reason) },
    ],
    readiness: applicationSet,
  },
  webhooks: {
    columns: [
      id,
      scope,
      plain("PROVIDER", "spec.provider"),
      { head: "ENABLED", text: (o, c) => state(o.spec?.enabled === false ? "no" : "yes", c) },
      {
        head: "RECEIVED",
        text: (o) => (o.status?.lastReceivedAt ? `${showAge(o.status.lastReceivedAt)} ago` : "never"),
      },
      stateColumn("OUTCOME", "status.lastOutcome"),
      age,
      plain("REPOSITORY", "status.lastRepository"),
      plain("URL", "status.url", true),
    ],
    readiness: webhook,
  },
  services: {
    columns: [
      id,
      scope,
      plain("NAME", "spec.name"),
      plain("TYPE", "spec.type"),
      plain("OWNER", "spec.owner"),
      age,
      plain("DESCRIPTION", "spec.description", true),
    ],
    readiness: exists,
  },
  environments: {
    columns: [
      id,
      scope,
      plain("NAME", "spec.name"),
      plain("TYPE", "spec.type"),
      { head: "CLUSTERS", text: (o) => [...(o.spec?.clusters ?? []), ...(o.spec?.agents ?? [])].join(", ") || "any" },
      age,
      plain("DESCRIPTION", "spec.description", true),
    ],
    readiness: exists,
  },
  argoprojectmappings: {
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      plain("ARGO PROJECT", "spec.argoProject"),
      { head: "SHOWN IN", text: (o) => [o.spec?.targetOrg ?? o.org, o.spec?.targetProject].filter(Boolean).join("/") },
      age,
    ],
    readiness: exists,
  },
  pipelines: {
    columns: [
      id,
      scope,
      { head: "STEPS", text: (o) => String(o.spec?.steps?.length ?? 0) },
      stateColumn("LAST RUN", "status.lastRun.state"),
      {
        head: "STARTED",
        text: (o) => (o.status?.lastRun?.startedAt ? `${showAge(o.status.lastRun.startedAt)} ago` : "never"),
      },
      age,
      plain("RUN", "status.lastRun.id", true),
      plain("DESCRIPTION", "spec.description", true),
    ],
    readiness: (o) => ({
      ready: true,
      reason: o.status?.lastRun ? `its last run is ${o.status.lastRun.state}` : "it was never run",
    }),
  },
};

/** Of what was compared or deployed; of several sources each commit once. */
export function revisionText(of: { revision?: unknown; revisions?: unknown }): string {
  const several = Array.isArray(of.revisions) ? of.revisions : [];
  const all = typeof of.revision === "string" && of.revision ? [of.revision] : several.map(String);
  return [...new Set(all.map(shortRevision))].join(", ");
}

/** Twelve digits of a commit are enough for a person; anything else (a chart's version) is shown whole. */
export const shortRevision = (revision: string): string =>
  /^[0-9a-f]{40,64}$/.test(revision) ? revision.slice(0, 12) : revision;
