type Kind = "text" | "flag" | "whole" | "map" | "texts" | "textMap" | "list";
interface Fields {
  [name: string]: Kind | Fields | [Fields];
}

const SOURCE: Fields = {
  repoURL: "text",
  path: "text",
  targetRevision: "text",
  chart: "text",
  ref: "text",
  name: "text",
  helm: {
    releaseName: "text",
    values: "text",
    valuesObject: "map",
    valueFiles: "texts",
    parameters: [{ name: "text", value: "text", forceString: "flag" }],
    fileParameters: [{ name: "text", path: "text" }],
    skipCrds: "flag",
    ignoreMissingValueFiles: "flag",
  },
  kustomize: { namePrefix: "text", nameSuffix: "text", images: "texts", components: "texts", commonLabels: "textMap", patches: "list" },
  directory: { recurse: "flag", include: "text", exclude: "text", jsonnet: "map" },
  plugin: { name: "text", env: [{ name: "text", value: "text" }], parameters: "list" },
};

/** What an Application looks like as far as sets write it. A set's own kind leaves its template open, and a patch is a text. */
const APPLICATION: Fields = {
  metadata: { name: "text", namespace: "text", labels: "textMap", annotations: "textMap", finalizers: "texts" },
  spec: {
    project: "text",
    destination: { server: "text", name: "text", namespace: "text" },
    source: SOURCE,
    sources: [SOURCE],
    syncPolicy: {
      automated: { prune: "flag", selfHeal: "flag", allowEmpty: "flag", enabled: "flag" },
      syncOptions: "texts",
      retry: { limit: "whole", backoff: { duration: "text", factor: "whole", maxDuration: "text" } },
      managedNamespaceMetadata: { labels: "textMap", annotations: "textMap" },
    },
    ignoreDifferences: [
      { group: "text", kind: "text", name: "text", namespace: "text", jsonPointers: "texts", jqPathExpressions: "texts" },
    ],
    info: [{ name: "text", value: "text" }],
    revisionHistoryLimit: "whole",
  },
};

const isMap = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): boolean => typeof value === "string" || value === null;

const CHECKS: Record<Kind, readonly [fits: (value: unknown) => boolean, name: string]> = {
  text: [isText, "a text"],
  flag: [(value) => typeof value === "boolean", "true or false"],
  whole: [Number.isInteger, "a whole number"],
  map: [isMap, "an object"],
  texts: [(value) => Array.isArray(value) && value.every(isText), "a list of texts"],
  textMap: [(value) => isMap(value) && Object.values(value).every(isText), "an object of texts"],
  list: [Array.isArray, "a list"],
};

/** The first field of an application that has another type than an Application's; what is null counts as not set. */
export const misshapen = (application: object): string | undefined => misfit(APPLICATION, application as Record<string, unknown>, "");

function misfit(fields: Fields, value: Record<string, unknown>, path: string): string | undefined {
  for (const [name, kind] of Object.entries(fields)) {
    const field = value[name];
    if (field === undefined || field === null) continue;
    const problem = judge(kind, field, path ? `${path}.${name}` : name);
    if (problem) return problem;
  }
  return undefined;
}

function judge(kind: Kind | Fields | [Fields], field: unknown, at: string): string | undefined {
  if (typeof kind === "string") {
    const [fits, name] = CHECKS[kind];
    return fits(field) ? undefined : `${at} must be ${name}`;
  }
  if (!Array.isArray(kind)) return isMap(field) ? misfit(kind, field, at) : `${at} must be an object`;
  if (!Array.isArray(field)) return `${at} must be a list`;
  for (const [i, item] of field.entries()) {
    const problem = judge(kind[0], item ?? {}, `${at}[${i}]`);
    if (problem) return problem;
  }
  return undefined;
}
