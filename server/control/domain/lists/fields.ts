/** Where a field's text is in an object. The first path that holds a text counts. */
export type Paths = readonly (readonly string[])[];

/** Labels of the specification, then of the live object. */
const labelled = (...keys: string[]): string[][] =>
  keys.flatMap((key) => [
    ["spec", "labels", key],
    ["found", "live", "labels", key],
  ]);

/**
 * The fields that lists filter, sort and count by without reading whole objects. Those below spec, status and found are also stored generated
 * columns of the table `objects` (`store/lists/columns.ts`), whose expressions say the same as these paths.
 */
export const FACETS = {
  id: [["id"]],
  origin: [["origin"]],
  org: [["org"]],
  project: [["project"]],
  agent: [["spec", "agent"]],
  cluster: [
    ["spec", "destination", "cluster"],
    ["found", "live", "destination", "name"],
  ],
  repository: [
    ["spec", "source", "repository"],
    ["spec", "source", "repoUrl"],
    ["spec", "sources", "0", "repository"],
    ["spec", "sources", "0", "repoUrl"],
  ],
  service: [["spec", "service"], ...labelled("deploy.outpost.dev/service", "harness.io/serviceRef")],
  environment: [["spec", "environment"], ...labelled("deploy.outpost.dev/environment", "harness.io/envRef")],
  sync: [["status", "sync", "status"]],
  health: [["status", "health", "status"]],
  owner: [["found", "owner", "name"]],
} as const satisfies Record<string, Paths>;
export type Facet = keyof typeof FACETS;

export const isFacet = (name: string): name is Facet => Object.hasOwn(FACETS, name);

/** A field that a filter names. */
export interface Field {
  paths: Paths;
  /** Its name, if it is one of FACETS. */
  facet?: Facet;
  /** The key of a label: the rest of the field's name, so a key may hold dots and slashes. */
  label?: string;
}

/** The field with a name; none if there is none. */
export function fieldNamed(name: string): Field | undefined {
  if (isFacet(name)) return { paths: FACETS[name], facet: name };
  const [head, ...rest] = name.split(".");
  const key = rest.join(".");
  if ((head === "labels" || head === "annotations") && key !== "") {
    const paths = [
      ["spec", head, key],
      ["found", "live", head, key],
    ];
    return head === "labels" ? { paths, label: key } : { paths };
  }
  return /^(spec|status)(\.[A-Za-z0-9]{1,64}){1,8}$/.test(name) ? { paths: [[head!, ...rest]] } : undefined;
}
