import type { Schemas } from "../../../../openapi/client.ts";
import {
  validateApplicationSetSpec,
  validateApplicationSpec,
  validateAppProjectSpec,
} from "../../../../openapi/contract/validators.js";
import { HOME_NAME, isHomeAddress } from "../../../base/cloud/home-cluster.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { defined } from "../deliveries/spec.ts";
import { expressible } from "./expressible.ts";
import { cleaned } from "./user-info.ts";

type Json = Record<string, unknown>;

/** The specification of our noun for an object of Argo CD. The service fills in its `agent`. */
export interface Imported {
  spec?: Json;
  /** Fields of the object that our specification cannot express. */
  inexpressible: string[];
  /** Where an application goes, unless that is the agent's own cluster. */
  cluster?: { name?: string; server?: string };
}

// The service knows the agent's id; the contract asks for one.
const AGENT = "agent";

/** The reverse of `toApplicationSpec`. */
export function importApplication(app: KubeObject): Imported {
  const lost = new Set<string>();
  const { project, source, sources, destination, syncPolicy, ...same } = cleaned(app.spec ?? {}, lost) as Json;
  const several = list(sources);
  const { cluster, namespace } = destinationOf(json(destination));
  const given = defined({
    ...same,
    argoProject: text(project) ?? "default",
    source: several.length ? undefined : source && toSource(json(source)),
    sources: several.length ? several.map((one) => toSource(json(one))) : undefined,
    destination: defined({ namespace }),
    syncPolicy: syncPolicy === null ? undefined : syncPolicy,
    labels: labelsOf(app),
  });
  return { ...finish(validateApplicationSpec, given, lost), ...(cluster ? { cluster } : {}) };
}

function toSource({ repoURL, targetRevision, kustomize, ...same }: Json): Json {
  return defined({
    ...same,
    repoUrl: repoURL,
    // What our specification means by none.
    targetRevision: ["", "HEAD", same.chart ? "*" : "HEAD"].includes(String(targetRevision ?? ""))
      ? undefined
      : targetRevision,
    path: same.path === "" ? undefined : same.path,
    chart: same.chart === "" ? undefined : same.chart,
    ref: same.ref === "" ? undefined : same.ref,
    kustomize: kustomize && toKustomize(json(kustomize)),
  });
}

/** There a count may be a text too. */
const toKustomize = (kustomize: Json): Json =>
  defined({
    ...kustomize,
    replicas: Array.isArray(kustomize.replicas)
      ? kustomize.replicas.map((one) => ({ ...json(one), count: Number(json(one).count) }))
      : undefined,
  });

function destinationOf(destination: Json): {
  cluster?: { name?: string; server?: string };
  namespace?: string | undefined;
} {
  const [name, server, namespace] = [text(destination.name), text(destination.server), text(destination.namespace)];
  const home = name === HOME_NAME || (!name && (!server || isHomeAddress(server, process.env)));
  return { namespace, ...(home ? {} : { cluster: { ...(name ? { name } : {}), ...(server ? { server } : {}) } }) };
}

/** The reverse of `toSetSpec`. */
export function importApplicationSet(set: KubeObject): Imported {
  const lost = new Set<string>();
  const { strategy, goTemplate, ...same } = cleaned(set.spec ?? {}, lost) as Json;
  const rolling = json(json(strategy).rollingSync);
  const steps = Array.isArray(rolling.steps) ? rolling.steps.map((step) => countAsText(json(step))) : undefined;
  const given = defined({
    ...same,
    // The default there is the older template language.
    goTemplate: goTemplate === true,
    strategy:
      strategy &&
      defined({ ...json(strategy), rollingSync: json(strategy).rollingSync && defined({ ...rolling, steps }) }),
    labels: labelsOf(set),
  });
  return finish(validateApplicationSetSpec, given, lost);
}

const countAsText = (step: Json): Json =>
  defined({ ...step, maxUpdate: step.maxUpdate === undefined ? undefined : String(step.maxUpdate) });

const KINDS = [
  "clusterResourceWhitelist",
  "clusterResourceBlacklist",
  "namespaceResourceWhitelist",
  "namespaceResourceBlacklist",
];

/** The reverse of `toProjectSpec`. */
export function importAppProject(project: KubeObject): Imported {
  const lost = new Set<string>();
  const spec = cleaned(project.spec ?? {}, lost) as Json;
  for (const field of KINDS)
    if (Array.isArray(spec[field])) spec[field] = (spec[field] as unknown[]).map((one) => withoutEmptyGroup(json(one)));
  return finish(validateAppProjectSpec, { ...spec, labels: labelsOf(project) ?? {} }, lost);
}

/** The group of the core is an empty text there and none here. */
const withoutEmptyGroup = ({ group, ...same }: Json): Json => ({ ...same, ...(group ? { group } : {}) });

function finish(check: Parameters<typeof expressible>[0], given: Json, lost: Set<string>): Imported {
  const labels = given.labels && Object.keys(json(given.labels)).length ? given.labels : undefined;
  const expressed = expressible<Json>(check, defined({ ...given, agent: AGENT, labels }));
  if (!expressed) return { inexpressible: ["spec"] };
  const { agent: _, ...spec } = expressed.spec;
  return { spec, inexpressible: [...new Set([...lost, ...expressed.lost])].sort() };
}

/** Labels that people gave it; ours say whose it is and come and go with that. */
function labelsOf({ metadata }: KubeObject): Schemas["ApplicationSpec"]["labels"] {
  const own = Object.entries(metadata.labels ?? {}).filter(([key]) => !key.startsWith("outpost.dev/"));
  return own.length ? Object.fromEntries(own) : undefined;
}

const json = (value: unknown): Json =>
  value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Json) : {};
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
