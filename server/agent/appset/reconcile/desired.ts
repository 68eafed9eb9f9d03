import { compileJq, type Program } from "../../../base/jq/jq.ts";
import { pacedPathsOf } from "../../../base/jq/paced.ts";
import { canonical } from "../../../base/json/canonical.ts";
import { compare } from "../../../base/lang/compare.ts";
import { serves, TENANT, tenantOf } from "../../project/tenant.ts";
import type { ApplicationSet, ApplicationSetSpec, Free, Generated } from "../types.ts";
import { API_VERSION, isOwned, type LiveApplication, META, ownerOf, reference } from "./application.ts";
import { isNamed } from "./names.ts";

// Written by others in the course of things; a set never takes them away.
const KEPT_ANNOTATIONS = [META.notified, META.refresh, META.hydrate];
const KEPT_FINALIZERS = /^(pre|post)-delete-finalizer\.argocd\.argoproj\.io(\/|$)/;

/** The object to create for an application that is not there. */
export function newApplication(set: ApplicationSet, generated: Generated): LiveApplication {
  const { name, labels, finalizers } = generated.metadata;
  const annotations = withTenantOf(set, generated.metadata.annotations);
  return {
    apiVersion: API_VERSION,
    kind: "Application",
    metadata: {
      name,
      namespace: set.metadata.namespace!,
      labels,
      annotations,
      finalizers,
      ownerReferences: [reference(set)],
    },
    spec: generated.spec,
  };
}

/** Why an application of this name is not the set's to change; nothing when it is, or may become so. */
export function clashOf(set: ApplicationSet, generated: Generated, live: LiveApplication): string | undefined {
  if (isOwned(live, set)) return undefined;
  const { name } = live.metadata;
  const [asking, tenant] = [tenantOf(set), tenantOf(live)];
  const others = `application ${name} exists already and belongs to another tenant, or to the agent's own scope`;
  // A tenant does not learn the owner of an application in a scope beside or above its own.
  if (asking !== undefined && !serves(asking, tenant)) return others;
  const owner = ownerOf(live);
  if (owner) return `application ${name} belongs to ${owner.kind} ${owner.name} already`;
  if (live.metadata.annotations?.[META.generation] !== undefined)
    return `application ${name} is made by the service already`;
  if (tenant !== asking) return others;
  // One that lost its set (deleted with --cascade=orphan) is the same; one that a person made by hand is not.
  const same = (["project", "destination", "source", "sources"] as const).every(
    (field) => canonical(live.spec[field]) === canonical(generated.spec[field]),
  );
  return same
    ? undefined
    : `application ${name} exists already, does not belong to this set and is not what it would make`;
}

/** The live application as the set wants it; the same object when nothing is to be changed. */
export function updated(set: ApplicationSet, generated: Generated, live: LiveApplication): LiveApplication {
  const { preservedFields } = set.spec;
  const wanted: LiveApplication = structuredClone(live);
  wanted.spec = structuredClone(generated.spec);
  const { metadata } = generated;
  wanted.metadata.labels = preserving(metadata.labels, live.metadata.labels, preservedFields?.labels ?? []);
  const annotations = preserving(metadata.annotations, live.metadata.annotations, [
    ...KEPT_ANNOTATIONS,
    ...(preservedFields?.annotations ?? []),
  ]);
  wanted.metadata.annotations = withTenantOf(set, annotations);
  const kept = (live.metadata.finalizers ?? []).filter((one) => KEPT_FINALIZERS.test(one));
  wanted.metadata.finalizers = [...new Set([...(metadata.finalizers ?? []), ...kept])];
  if (!isOwned(live, set)) wanted.metadata.ownerReferences = [...(live.metadata.ownerReferences ?? []), reference(set)];
  const result = keepIgnored(set, wanted, live);
  // Last: what a set ignores does not change whose its applications are.
  result.metadata.annotations = withTenantOf(set, result.metadata.annotations);
  return canonical(compared(result)) === canonical(compared(live)) ? live : result;
}

/** The live application with the mark of its set's tenant and nothing else changed, for sets that change none. */
export function marked(set: ApplicationSet, live: LiveApplication): LiveApplication {
  if (tenantOf(live) === tenantOf(set)) return live;
  return { ...live, metadata: { ...live.metadata, annotations: withTenantOf(set, live.metadata.annotations) } };
}

/** An application belongs to the tenant of its set, whatever the template says. */
function withTenantOf(
  set: ApplicationSet,
  annotations: Record<string, string> | undefined,
): Record<string, string> | undefined {
  const { [TENANT]: _, ...others } = annotations ?? {};
  const tenant = tenantOf(set);
  const all = tenant ? { ...others, [TENANT]: tenant } : others;
  return Object.keys(all).length ? all : undefined;
}

const compared = ({ metadata, spec }: LiveApplication) => ({
  spec,
  labels: metadata.labels ?? {},
  annotations: metadata.annotations ?? {},
  finalizers: metadata.finalizers ?? [],
  owners: metadata.ownerReferences ?? [],
});

function preserving(
  wanted: Record<string, string> | undefined,
  live: Record<string, string> | undefined,
  names: string[],
): Record<string, string> | undefined {
  const all = { ...wanted };
  for (const [key, value] of Object.entries(live ?? {})) if (names.some((name) => name === key)) all[key] = value;
  return Object.keys(all).length ? all : undefined;
}

type Ignored = ApplicationSetSpec["ignoreApplicationDifferences"];

// A set compares thousands of applications with each expression.
const compiled = new Map<string, Program | string>();
const MAX_COMPILED = 1_000;

function compile(text: string): Program | string {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  if (compiled.size >= MAX_COMPILED) compiled.clear();
  const program = compileJq(text);
  compiled.set(text, program);
  return program;
}

/** Takes the live values where differences do not count. */
function keepIgnored(set: ApplicationSet, wanted: LiveApplication, live: LiveApplication): LiveApplication {
  const { name } = live.metadata;
  for (const rule of (set.spec.ignoreApplicationDifferences ?? []).filter(
    (one) => !one.name || isNamed(set, one.name, name),
  )) {
    const paths: (string | number)[][] = (rule.jsonPointers ?? []).map(pointer);
    for (const text of rule.jqPathExpressions ?? []) {
      const program = compile(text);
      if (typeof program === "string") continue;
      for (const object of [live, wanted]) {
        const found = pacedPathsOf(program, object);
        if (found !== "slow") paths.push(...found);
      }
    }
    for (const path of lastFirst(paths)) take(wanted, live, path);
  }
  return wanted;
}

/** Each path once, and of a list the last items first: where one is taken out, those behind it move. */
function lastFirst(paths: (string | number)[][]): (string | number)[][] {
  const once = new Map(paths.map((path) => [JSON.stringify(path.map(String)), path]));
  return [...once.values()].sort((a, b) => {
    const at = a.findIndex((part, i) => i >= b.length || String(part) !== String(b[i]));
    if (at < 0 || at >= b.length) return b.length - a.length;
    const [x, y] = [a[at]!, b[at]!];
    const order = Number(y) - Number(x);
    return Number.isNaN(order) ? compare(String(x), String(y)) : order;
  });
}

/** Errors in a set's expressions. */
export function ignoreProblem(rules: Ignored = []): string | undefined {
  for (const text of rules.flatMap((rule) => rule.jqPathExpressions ?? [])) {
    const program = compileJq(text);
    if (typeof program === "string") return `spec.ignoreApplicationDifferences: ${text} cannot be used: ${program}`;
  }
  return undefined;
}

const pointer = (text: string) =>
  text
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

const UNSAFE = new Set(["__proto__", "constructor", "prototype"]);

function take(into: LiveApplication, from: LiveApplication, path: (string | number)[]): void {
  // Only what a set writes at all.
  if (
    path.length < 2 ||
    (path[0] !== "spec" && path[0] !== "metadata") ||
    path.some((part) => UNSAFE.has(String(part)))
  )
    return;
  let [to, source]: [Free | undefined, Free | undefined] = [into, from];
  for (const part of path.slice(0, -1)) {
    source = source?.[part] as Free | undefined;
    if (source !== undefined && to![part] === undefined) to![part] = Array.isArray(source) ? [] : {};
    to = to![part] as Free | undefined;
    if (to === null || typeof to !== "object") return;
  }
  const last = path.at(-1)!;
  const value = source?.[last];
  if (value !== undefined) to![last] = structuredClone(value);
  else if (Array.isArray(to)) to.splice(Number(last), 1);
  else delete to![last];
}
