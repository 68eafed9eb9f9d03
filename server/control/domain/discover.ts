import { canonical, digest } from "../../base/json/canonical.ts";
import { matchGlob } from "../../base/lang/glob.ts";
import { type DiscoveredCollection, nouns, type Schemas } from "./nouns.ts";
import { fitting } from "./observe.ts";
import { clusterIdFaults } from "./rules/cluster.ts";
import { withDefaults } from "./rules/spec.ts";
import { isSame, LABEL, type Scope } from "./scope.ts";

export type Origin = Schemas["Origin"];
export type DiscoveredReport = Schemas["DiscoveredReport"];
export type Listed = Schemas["DiscoveredListed"];
/** What an object shows of the live object that an agent found. */
export interface Found {
  owner?: Schemas["Owner"];
  live: Schemas["Live"];
  inexpressible?: string[];
}

/** What is kept of one report. A status of 5,000 resources takes about 1 MB; a spec is what a person wrote. */
const SPEC_BYTES = 256 * 1024;
const STATUS_BYTES = 1024 * 1024;

/** Fields of status that speak of a delivery, which these objects do not have. */
const OF_DELIVERY = ["delivery", "credentials", "reportedAt", "observedGeneration"] as const;

/** What the service shows of a report. */
export interface Shown {
  origin: Origin;
  found: Found;
  spec: Record<string, any>;
  status: Record<string, any>;
  /** Fields that did not fit the contract and were left out. */
  ignored: string[];
}

/** Undefined for a repository without a usable address and the like: nothing of it can be shown within the contract. */
export function shownOf(report: DiscoveredReport, agent: Scope & { id: string }, scope: Scope): Shown | undefined {
  const noun = nouns[report.collection];
  const { spec, left } = specOf(report, referenceTo(agent, scope));
  if (!noun.validateSpec(spec)) return undefined;
  const large = canonical(report.status ?? {}).length > STATUS_BYTES;
  const { clean, ignored } = fitting(noun, large ? withoutLists(report.status!) : (report.status ?? {}));
  for (const field of OF_DELIVERY) delete clean[field];
  const inexpressible = [...new Set([...(report.inexpressible ?? []), ...left.map((field) => `spec.${field}`)])].sort();
  const { namespace, name, uid, displayName, argoProject, destination, labels, annotations } = report;
  const live = defined({ namespace, name, uid, displayName, argoProject, destination, labels, annotations });
  return {
    origin: report.owner ? "generated" : "discovered",
    found: {
      ...(report.owner ? { owner: report.owner } : {}),
      live,
      ...(inexpressible.length ? { inexpressible } : {}),
    },
    spec,
    status: {
      ...clean,
      ...(report.collection === "appprojects" ? { name } : {}),
      // A take-over must not send what is in the Secret elsewhere, so it counts as credentials that the agent has.
      ...(noun.credentials ? { credentials: "Delivered" } : {}),
    },
    ignored: [...ignored, ...left],
  };
}

/** The part of the reported spec that the noun can express, with the contract's defaults, and the fields that were left out. */
function specOf(
  { collection, spec: reported = {} }: DiscoveredReport,
  agent: string,
): { spec: Record<string, any>; left: string[] } {
  const noun = nouns[collection];
  const { credentials, sealedCredentials, agent: _, ...rest } = reported;
  const sized = canonical(rest).length > SPEC_BYTES ? {} : rest;
  const whole = withDefaults(noun, { ...(collection === "applications" ? { destination: {} } : {}), ...sized, agent });
  const left = new Set([
    ...(sized === rest ? [] : Object.keys(rest)),
    ...(credentials === undefined ? [] : ["credentials"]),
    ...(sealedCredentials === undefined ? [] : ["sealedCredentials"]),
  ]);
  // Each round removes at least one field, so there are at most as many rounds as fields.
  while (!noun.validateSpec(whole)) {
    const faults = noun.validateSpec.errors ?? [];
    const fields = faults.map((f) => f.instancePath.split("/")[1] || String(f.params.additionalProperty ?? ""));
    const present = [...new Set(fields)].filter((field) => field in whole && field !== "agent");
    for (const field of present) {
      delete whole[field];
      left.add(field);
    }
    if (present.length === 0) break;
  }
  for (const [field, value] of Object.entries(STAND_INS[collection] ?? {})) {
    if (field in whole) continue;
    whole[field] = value;
    left.add(field);
  }
  return { spec: whole, left: [...left] };
}

/** Required fields that mean nothing where the reported ones cannot be expressed. They are always listed in `inexpressible`. */
const STAND_INS: Partial<Record<DiscoveredCollection, Record<string, unknown>>> = {
  applications: { destination: {} },
  applicationsets: { generators: [{ list: { elements: [] } }], template: {} },
};

/** How an object of `scope` names an agent of the same scope or of one above. */
export function referenceTo(agent: Scope & { id: string }, scope: Scope): string {
  if (isSame(agent, scope)) return agent.id;
  return `${agent.org ? "org" : "account"}.${agent.id}`;
}

/** The status without what grows with the application. */
const withoutLists = (status: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(status).filter(([, value]) => !Array.isArray(value)));

const defined = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;

/** Equal digests show the same; when it was reported does not count. */
export function digestOf({ round: _, mark: __, ...report }: DiscoveredReport): string {
  return digest(report);
}

const TAILS = [10, 16, 24, 32];

/**
 * Ids for a new object, the best first: the live name, if it is in the agent's own namespace and can be an id; then with a tail of a digest of
 * agent, namespace and name, so that equal names of several agents or namespaces get different ids that stay the same.
 */
export function idsFor(
  report: Pick<DiscoveredReport, "collection" | "namespace" | "name">,
  agentUid: string,
  home: string,
): string[] {
  const { collection, namespace, name } = report;
  const plain =
    namespace === home && LABEL.test(name) && !(collection === "clusters" && clusterIdFaults(name).length > 0);
  const tail = digest([agentUid, namespace, name]);
  const base = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "");
  const tailed = TAILS.map((length) => {
    const head = base.slice(0, 62 - length).replace(/-+$/, "");
    return head ? `${head}-${tail.slice(0, length)}` : tail.slice(0, length);
  });
  return plain ? [name, ...tailed] : tailed;
}

/** A mapping as far as it decides. */
export interface Mapping {
  id: string;
  argoProject: string;
  org: string;
  project: string;
}

/** The mapping that counts for an Argo project: an exact name before globs, and the glob with more literal characters before others. */
export function mappingFor(mappings: readonly Mapping[], argoProject: string | undefined): Mapping | undefined {
  if (argoProject === undefined) return undefined;
  return mappings
    .filter((one) => matchGlob(one.argoProject, argoProject))
    .sort((a, b) => weight(b.argoProject) - weight(a.argoProject) || (a.id < b.id ? -1 : 1))[0];
}

const weight = (glob: string): number =>
  /[*?]/.test(glob) ? glob.replace(/[*?]/g, "").length : Number.MAX_SAFE_INTEGER;
