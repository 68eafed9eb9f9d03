import { type ApplicationSetSpec, type Free, GENERATORS, type Generated } from "../types.ts";

const KNOWN = new Set<string>([...GENERATORS, "selector"]);
const SYNC = ["sync", "create-only", "create-update", "create-delete"];

/** Errors in a set's specification, before any request; undefined when there are none. */
export function validateSpec(spec: ApplicationSetSpec): string | undefined {
  if (typeof spec !== "object" || spec === null) return "spec is not an object";
  if (!Array.isArray(spec.generators ?? [])) return "spec.generators is not a list";
  for (const [i, entry] of (spec.generators ?? []).entries()) {
    const at = `spec.generators[${i}]`;
    if (typeof entry !== "object" || entry === null) return `${at} is not an object`;
    const unknown = Object.keys(entry).filter((key) => !KNOWN.has(key));
    // A selector alone is an entry that makes nothing.
    if (!entry.selector && !GENERATORS.some((kind) => entry[kind])) {
      return `${at}: ApplicationSet contains unrecognized generators${unknown.length ? `: ${unknown.join(", ")}` : ""}`;
    }
  }
  const { goTemplateOptions = [], strategy, syncPolicy } = spec;
  const bad = goTemplateOptions.find((one) => !/^missingkey=(default|invalid|zero|error)$/.test(one));
  if (bad !== undefined) return `spec.goTemplateOptions: ${JSON.stringify(bad)} is not known; missingkey=error is`;
  const policy = syncPolicy?.applicationsSync;
  if (policy && !SYNC.includes(policy))
    return `spec.syncPolicy.applicationsSync: ${JSON.stringify(policy)} is none of ${SYNC.join(", ")}`;
  if (strategy?.type && !["AllAtOnce", "RollingSync"].includes(strategy.type)) {
    return `spec.strategy.type: ${JSON.stringify(strategy.type)} is neither AllAtOnce nor RollingSync`;
  }
  return validateSteps(strategy?.rollingSync?.steps ?? []);
}

function validateSteps(steps: Free[]): string | undefined {
  for (const [i, { matchExpressions = [], maxUpdate }] of steps.entries()) {
    const at = `spec.strategy.rollingSync.steps[${i}]`;
    for (const { key, operator, values } of matchExpressions) {
      if (!["In", "NotIn"].includes(operator))
        return `${at}: operator ${JSON.stringify(operator)} is neither In nor NotIn`;
      if (!key || !Array.isArray(values)) return `${at}: key and values are required`;
    }
    if (
      maxUpdate !== undefined &&
      !(Number.isInteger(maxUpdate) && maxUpdate >= 0) &&
      !/^\d{1,3}%$/.test(String(maxUpdate))
    ) {
      return `${at}: maxUpdate ${JSON.stringify(maxUpdate)} is neither a number nor a percentage`;
    }
  }
  return undefined;
}

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** These two of ours are for people to write. */
const FOR_ALL = new Set(["outpost.dev/depends-on", "outpost.dev/helm-lookup"]);
const isMark = (key: string): boolean => key.startsWith("outpost.dev/") && !FOR_ALL.has(key);

/** Errors in one application that a set makes. */
export function validateApplication({ metadata, spec }: Generated, namespace: string): string | undefined {
  const { name } = metadata;
  if (!name || name.length > 253 || !NAME.test(name)) return `${JSON.stringify(name)} is not a name of an application`;
  if (metadata.namespace && metadata.namespace !== namespace)
    return `application ${name} is to be in namespace ${metadata.namespace}; this agent keeps its own in ${namespace}`;
  const mark = [...Object.keys(metadata.labels ?? {}), ...Object.keys(metadata.annotations ?? {})].find((key) =>
    isMark(key),
  );
  if (mark) return `application ${name} is to carry ${mark}, a mark that is reserved for the service`;
  const { source, sources, destination = {} } = spec;
  if (!source && !sources?.length) return `application ${name} has no source`;
  if (!destination.server && !destination.name)
    return `application ${name} has neither a server nor a name of a cluster to go to`;
  if (destination.server && destination.name)
    return `application ${name} has both a server and a name of a cluster to go to`;
  return undefined;
}

/** A name that two generated applications have. */
export function duplicateOf(all: readonly Generated[]): string | undefined {
  const seen = new Set<string>();
  for (const { metadata } of all) {
    if (seen.has(metadata.name)) return metadata.name;
    seen.add(metadata.name);
  }
  return undefined;
}
