/** What the charts' tests look with: rendered objects by kind and name. */
import { fileURLToPath } from "node:url";
import { findHelm } from "../generate/helm.ts";
import { helmTemplate, type Manifest } from "../generate/manifests.ts";

/** Rendered objects, of any shape. */
// biome-ignore lint/suspicious/noExplicitAny: objects of every kind
export type Json = any;
export const helm = findHelm();
export const chart = (name: string) => fileURLToPath(new URL(name, import.meta.url));
export const agent = (values: object = {}) =>
  helmTemplate(helm, chart("outpost-agent"), "outpost-agent", "spot", { endpoint: "https://o.example", ...values });
export const delegate = (values: object = {}) =>
  helmTemplate(
    helm,
    chart("outpost-delegate"),
    "d",
    "spot",
    merge({ endpoint: "https://o.example", delegate: { name: "d" } }, values),
  );
export const merge = (a: Json, b: Json): Json =>
  Object.fromEntries(
    [...new Set([...Object.keys(a), ...Object.keys(b)])].map((k) => [
      k,
      a[k] && b[k] && typeof b[k] === "object" && !Array.isArray(b[k]) ? merge(a[k], b[k]) : (b[k] ?? a[k]),
    ]),
  );
export const all = (manifests: Manifest[], kind: string): Json[] => manifests.filter((m) => m.kind === kind);
export const one = (manifests: Manifest[], kind: string, name: string): Json =>
  manifests.find((m) => m.kind === kind && m.metadata.name === name);
export const names = (manifests: Manifest[], kind: string) =>
  all(manifests, kind)
    .map((m) => m.metadata.name)
    .sort();
export const pod = (deployment: Json): Json => deployment.spec.template.spec;
export const env = (deployment: Json): Record<string, Json> =>
  Object.fromEntries(pod(deployment).containers[0].env.map((e: Json) => [e.name, e.value ?? e.valueFrom]));

export function contains(a: Json, b: Json): boolean {
  return Object.entries(b).every(([k, v]) => a[k] === v);
}
export function images(manifests: Manifest[]): string[] {
  return [...new Set(all(manifests, "Deployment").flatMap((d) => pod(d).containers.map((c: Json) => c.image)))].sort();
}
export function bindings(manifests: Manifest[]) {
  return manifests.filter((m) => m.kind.endsWith("RoleBinding")).map((m: Json) => [m.kind, m.roleRef.name]);
}
/** Roles that a service account has. */
export function boundTo(manifests: Manifest[], account: string): Json[] {
  return manifests
    .filter((m: Json) => m.subjects?.some((s: Json) => s.name === account))
    .flatMap((m: Json) =>
      manifests.filter(
        (r) =>
          r.kind === m.roleRef.kind &&
          r.metadata.name === m.roleRef.name &&
          (r.kind !== "Role" || r.metadata.namespace === m.metadata.namespace),
      ),
    );
}
