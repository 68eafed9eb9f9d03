import { didYouMean } from "../../../../openapi/rules/suggest.ts";
import { escapePointer } from "../../../base/json/json.ts";
import type { Schemas } from "../nouns.ts";
import type { Fault } from "../problem.ts";

type Json = Record<string, unknown>;
type Check = (of: Json, at: string, depth: number) => Fault[];

/** How deep a matrix or merge may hold another one. */
const NESTING = 2;

/** What is wrong with a set before its generators are asked anything. */
export function setFaults(spec: Schemas["ApplicationSetSpec"]): Fault[] {
  const faults = spec.generators.flatMap((entry, i) => generatorFaults(entry, `/spec/generators/${i}`, 0));
  faults.push(...templateFaults(spec.template, "/spec/template"));
  const named =
    spec.templatePatch ||
    spec.generators.some((entry) => Object.values(entry).some((one) => isObject(one) && isObject(one.template)));
  const metadata = spec.template.metadata;
  if (!named && !(isObject(metadata) && isText(metadata.name)))
    faults.push({
      pointer: "/spec/template/metadata/name",
      detail: "Each application needs a name: give one with parameters, such as `{{ .path.basename }}`.",
    });
  if (spec.goTemplateOptions !== undefined && spec.goTemplate === false)
    faults.push({
      pointer: "/spec/goTemplateOptions",
      detail: "These options are for Go templates: remove them, or remove `goTemplate: false`.",
    });
  if (spec.templatePatch !== undefined && spec.goTemplate === false)
    faults.push({
      pointer: "/spec/templatePatch",
      detail: "A patch is a Go template: remove the patch, or remove `goTemplate: false`.",
    });
  const { strategy } = spec;
  const steps = strategy?.rollingSync?.steps ?? [];
  if (strategy?.type === "RollingSync" && steps.length === 0)
    faults.push({
      pointer: "/spec/strategy/rollingSync",
      detail: "`RollingSync` needs `rollingSync.steps`: applications that no step selects are not synced.",
    });
  if (strategy?.rollingSync !== undefined && strategy.type !== "RollingSync")
    faults.push({ pointer: "/spec/strategy/type", detail: "`rollingSync` needs `type: RollingSync`." });
  for (const [i, step] of steps.entries())
    for (const [e, one] of (step.matchExpressions ?? []).entries())
      if (!one.values?.length)
        faults.push({
          pointer: `/spec/strategy/rollingSync/steps/${i}/matchExpressions/${e}/values`,
          detail: `\`${one.operator}\` needs \`values\`.`,
        });
  return faults;
}

function generatorFaults(entry: unknown, at: string, depth: number): Fault[] {
  if (!isObject(entry)) return [{ pointer: at, detail: "A generator must be an object." }];
  const kinds = Object.keys(entry).filter((key) => key !== "selector");
  const unknown = kinds.find((key) => !(key in GENERATORS));
  if (unknown !== undefined)
    return [
      {
        pointer: `${at}/${escapePointer(unknown)}`,
        detail: `There is no generator \`${unknown.slice(0, 64)}\`.${didYouMean(unknown, Object.keys(GENERATORS)) || ` Use one of ${KNOWN}.`}`,
      },
    ];
  const [kind, second] = kinds;
  if (kind === undefined) return [{ pointer: at, detail: `Give one generator: one of ${KNOWN}.` }];
  if (second !== undefined)
    return [
      {
        pointer: `${at}/${second}`,
        detail: `\`${kind}\` is given already: give each generator an entry of its own, or combine them by \`matrix\` or \`merge\`.`,
      },
    ];
  const settings = entry[kind];
  const within = `${at}/${kind}`;
  const faults =
    entry.selector === undefined || isObject(entry.selector)
      ? []
      : [{ pointer: `${at}/selector`, detail: "A selector must be an object." }];
  if (!isObject(settings))
    return [...faults, { pointer: within, detail: `The settings of \`${kind}\` are an object.` }];
  faults.push(...GENERATORS[kind]!(settings, within, depth), ...valueFaults(settings, within));
  return settings.template === undefined
    ? faults
    : [...faults, ...templateFaults(settings.template, `${within}/template`)];
}

function valueFaults({ values }: Json, at: string): Fault[] {
  if (values === undefined || (isObject(values) && Object.values(values).every((value) => typeof value === "string")))
    return [];
  return [{ pointer: `${at}/values`, detail: "`values` must be an object of strings." }];
}

/** These two of ours are for people to write. */
const FOR_ALL: ReadonlySet<string> = new Set(["outpost.dev/depends-on", "outpost.dev/helm-lookup"]);

/** A template may leave out what a generator or patch of the set brings; what is there must have the shape of an Application. */
function templateFaults(template: unknown, at: string): Fault[] {
  if (!isObject(template)) return [{ pointer: at, detail: "A template must be an object with `metadata` and `spec`." }];
  const faults: Fault[] = [];
  for (const [key, value] of Object.entries(template)) {
    const pointer = `${at}/${escapePointer(key)}`;
    if (key !== "metadata" && key !== "spec")
      faults.push({
        pointer,
        detail: `A template has \`metadata\` and \`spec\`.${didYouMean(key, ["metadata", "spec"])}`,
      });
    else if (!isObject(value)) faults.push({ pointer, detail: `\`${key}\` is an object.` });
  }
  for (const part of ["labels", "annotations"] as const) {
    const given = isObject(template.metadata) ? template.metadata[part] : undefined;
    const mark = Object.keys(isObject(given) ? given : {}).find(
      (key) => key.startsWith("outpost.dev/") && !FOR_ALL.has(key),
    );
    if (mark)
      faults.push({
        pointer: `${at}/metadata/${part}/${escapePointer(mark)}`,
        detail: "This mark is reserved for the service: remove it.",
      });
  }
  const spec = isObject(template.spec) ? template.spec : {};
  if (spec.source !== undefined && spec.sources !== undefined)
    faults.push({ pointer: `${at}/spec/sources`, detail: "Give `source` or `sources`, not both." });
  const { destination } = spec;
  if (isObject(destination) && destination.server !== undefined && destination.name !== undefined)
    faults.push({
      pointer: `${at}/spec/destination/name`,
      detail: "Give `server` or `name` of the cluster, not both.",
    });
  return faults;
}

/** Exactly one of the hosts that a generator knows. */
const oneOf =
  (hosts: readonly string[]): Check =>
  (of, at) => {
    const found = hosts.filter((host) => of[host] !== undefined);
    if (found.length === 1)
      return isObject(of[found[0]!]) ? [] : [{ pointer: `${at}/${found[0]}`, detail: "It is an object." }];
    const detail = `Give ${found.length ? "only one" : "one"} of ${list(hosts)}.`;
    return [{ pointer: found[1] ? `${at}/${found[1]}` : at, detail }];
  };

const text =
  (field: string, detail: string): Check =>
  (of, at) =>
    isText(of[field]) ? [] : [{ pointer: `${at}/${field}`, detail }];

const git: Check = (of, at) => {
  const faults = text("repoURL", "Give the address of the repository.")(of, at, 0);
  const found = (["directories", "files"] as const).filter((field) => of[field] !== undefined);
  if (found.length === 0) faults.push({ pointer: `${at}/directories`, detail: "Give `directories` or `files`." });
  for (const field of found) {
    const items = of[field];
    if (!Array.isArray(items) || items.length === 0)
      faults.push({ pointer: `${at}/${field}`, detail: `\`${field}\` is a list with at least one \`path\`.` });
    else
      for (const [i, item] of items.entries())
        if (!isObject(item) || !isText(item.path))
          faults.push({ pointer: `${at}/${field}/${i}/path`, detail: "Give a `path`; it may have `*`." });
  }
  return faults;
};

const elements: Check = (of, at) => {
  if (of.elements === undefined && isText(of.elementsYaml)) return [];
  if (!Array.isArray(of.elements))
    return [{ pointer: `${at}/elements`, detail: "`elements` must be a list of objects." }];
  const bad = of.elements.findIndex((item) => !isObject(item));
  return bad < 0 ? [] : [{ pointer: `${at}/elements/${bad}`, detail: "An element must be an object." }];
};

const children = (of: Json, at: string, depth: number, fits: (n: number) => boolean, detail: string): Fault[] => {
  if (depth >= NESTING)
    return [{ pointer: at, detail: "A `matrix` or `merge` may hold another one, which holds plain generators only." }];
  if (!Array.isArray(of.generators) || !fits(of.generators.length)) return [{ pointer: `${at}/generators`, detail }];
  return of.generators.flatMap((entry, i) => generatorFaults(entry, `${at}/generators/${i}`, depth + 1));
};

const matrix: Check = (of, at, depth) =>
  children(of, at, depth, (n) => n === 2, "A `matrix` has exactly two generators.");

const merge: Check = (of, at, depth) => {
  const keys = of.mergeKeys;
  const faults = children(of, at, depth, (n) => n >= 2 && n <= 32, "A `merge` has two generators or more.");
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every(isText))
    faults.push({
      pointer: `${at}/mergeKeys`,
      detail: "`mergeKeys` names the parameters by which entries belong together: give at least one.",
    });
  return faults;
};

const plugin: Check = (of, at) =>
  isObject(of.configMapRef) && isText(of.configMapRef.name)
    ? []
    : [{ pointer: `${at}/configMapRef/name`, detail: "Name the ConfigMap that says where the plugin is." }];

const GENERATORS: Readonly<Record<string, Check>> = {
  list: elements,
  clusters: () => [],
  git,
  scmProvider: oneOf(["github", "gitlab", "gitea", "bitbucket", "bitbucketServer", "azureDevOps", "awsCodeCommit"]),
  pullRequest: oneOf(["github", "gitlab", "gitea", "bitbucket", "bitbucketServer", "azuredevops"]),
  clusterDecisionResource: text("configMapRef", "Name the ConfigMap that says which resource decides."),
  matrix,
  merge,
  plugin,
};

const list = (fields: readonly string[]) => fields.map((field) => `\`${field}\``).join(", ");
const KNOWN = list(Object.keys(GENERATORS));
const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === "object" && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
