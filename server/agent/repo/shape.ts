import { done, type Outcome, stop } from "../../base/outcome.ts";
import { REPO, type Source } from "./types.ts";

type Kind = "text" | "flag" | "texts" | "map" | "textMap" | "list" | "count";
interface Fields {
  [name: string]: Kind | Fields | [Fields];
}

const JSONNET_VARIABLE: [Fields] = [{ name: "text", value: "text", code: "flag" }];

// What the tools' settings look like. The CRD leaves them open, and a repository may bring its own.
const SETTINGS: Fields = {
  helm: {
    valueFiles: "texts",
    values: "text",
    valuesObject: "map",
    parameters: [{ name: "text", value: "text", forceString: "flag" }],
    fileParameters: [{ name: "text", path: "text" }],
    releaseName: "text",
    namespace: "text",
    kubeVersion: "text",
    apiVersions: "texts",
    skipCrds: "flag",
    skipTests: "flag",
    skipSchemaValidation: "flag",
    ignoreMissingValueFiles: "flag",
    passCredentials: "flag",
  },
  kustomize: {
    namePrefix: "text",
    nameSuffix: "text",
    namespace: "text",
    images: "texts",
    replicas: [{ name: "text", count: "count" }],
    commonLabels: "textMap",
    commonAnnotations: "textMap",
    forceCommonLabels: "flag",
    labelWithoutSelector: "flag",
    labelIncludeTemplates: "flag",
    forceCommonAnnotations: "flag",
    commonAnnotationsEnvsubst: "flag",
    patches: "list",
    components: "texts",
    ignoreMissingComponents: "flag",
    kubeVersion: "text",
    apiVersions: "texts",
    version: "text",
  },
  directory: {
    recurse: "flag",
    include: "text",
    exclude: "text",
    jsonnet: { extVars: JSONNET_VARIABLE, tlas: JSONNET_VARIABLE, libs: "texts" },
  },
  plugin: {
    name: "text",
    env: [{ name: "text", value: "text" }],
    parameters: [{ name: "text", string: "text", array: "texts", map: "textMap" }],
  },
};

const MAX_ITEMS = 1_000;
const MAX_TEXT = 1_000_000;

const isMap = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): boolean => typeof value === "string" && value.length <= MAX_TEXT && !value.includes("\0");

const CHECKS: Record<Kind, (value: unknown) => boolean> = {
  text: isText,
  flag: (value) => typeof value === "boolean",
  texts: (value) => Array.isArray(value) && value.length <= MAX_ITEMS && value.every(isText),
  map: isMap,
  textMap: (value) => isMap(value) && Object.values(value).every(isText),
  list: (value) => Array.isArray(value) && value.length <= MAX_ITEMS && value.every(isMap),
  count: (value) => (typeof value === "number" && Number.isInteger(value)) || (typeof value === "string" && /^\d+$/.test(value)),
};
const NAMES: Record<Kind, string> = {
  text: "a text",
  flag: "true or false",
  texts: "a list of texts",
  map: "an object",
  textMap: "an object of texts",
  list: "a list of objects",
  count: "a whole number",
};

/** A source whose settings have the types that everything behind this relies on; fields that are null count as not set. */
export function shaped(source: Source): Outcome<Source> {
  const problem = misshapen(SETTINGS, source as unknown as Record<string, unknown>, "source");
  return problem ? stop(REPO.manifest, problem) : done(withoutNull(source) as Source);
}

function misshapen(fields: Fields, value: Record<string, unknown>, path: string): string | undefined {
  for (const [name, kind] of Object.entries(fields)) {
    const field = value[name];
    if (field === undefined || field === null) continue;
    const at = `${path}.${name}`;
    if (typeof kind === "string") {
      if (!CHECKS[kind](field)) return `${at} must be ${NAMES[kind]}`;
    } else if (Array.isArray(kind)) {
      if (!CHECKS.list(field)) return `${at} must be a list of objects`;
      for (const [i, item] of (field as Record<string, unknown>[]).entries()) {
        const problem = misshapen(kind[0], item, `${at}[${i}]`);
        if (problem) return problem;
      }
    } else if (!isMap(field)) return `${at} must be an object`;
    else {
      const problem = misshapen(kind, field, at);
      if (problem) return problem;
    }
  }
  return undefined;
}

/** Nulls of the settings themselves are dropped; those inside values stay, as Helm gives them a meaning. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNull);
  if (!isMap(value)) return value;
  const kept = Object.entries(value).filter(([, v]) => v !== null);
  return Object.fromEntries(kept.map(([name, v]) => [name, name === "valuesObject" || name === "patches" ? v : withoutNull(v)]));
}
