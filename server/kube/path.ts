/** One served kind: what discovery says of it and what a path needs. */
export interface Resource {
  group: string;
  version: string;
  kind: string;
  plural: string;
  namespaced: boolean;
  verbs?: readonly string[];
}

/** The path of a collection or of one item, each part escaped: names come from users. */
export function resourcePath(resource: Resource, namespace?: string, name?: string): string {
  const root = resource.group ? `/apis/${resource.group}/${resource.version}` : `/api/${resource.version}`;
  const scope = resource.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${resource.plural}${name === undefined ? "" : `/${encodeURIComponent(name)}`}`;
}

/** Kinds this program always needs, without asking discovery first. */
export const RESOURCES = {
  application: {
    group: "argoproj.io",
    version: "v1alpha1",
    kind: "Application",
    plural: "applications",
    namespaced: true,
  },
  appProject: {
    group: "argoproj.io",
    version: "v1alpha1",
    kind: "AppProject",
    plural: "appprojects",
    namespaced: true,
  },
  secret: { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true },
  configMap: { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true },
  namespace: { group: "", version: "v1", kind: "Namespace", plural: "namespaces", namespaced: false },
  lease: { group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases", namespaced: true },
} as const satisfies Record<string, Resource>;
