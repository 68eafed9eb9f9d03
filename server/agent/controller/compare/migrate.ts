import type { Outcome } from "../../../base/outcome.ts";
import { APPLIER, FIELD_MANAGER } from "../../../kube/client.ts";
import type { FieldSet, KubeObject, ManagedFields } from "../../../kube/object.ts";
import { type Resource, resourcePath } from "../../../kube/path.ts";
import type { Destination } from "../destination.ts";

/** Managers that may have applied an object before, on the client's side: kubectl, and Argo CD. */
const FORMER = ["kubectl-client-side-apply", APPLIER];

/** The entries of those who applied an object before us and whose fields would otherwise never be removed. */
export function formerFields(object: KubeObject, more?: string): ManagedFields[] {
  const names = more ? [...FORMER, more] : FORMER;
  const isFormer = ({ manager = "", operation }: ManagedFields) => {
    if (operation === "Update") return names.includes(manager);
    // An earlier version of this program applied under the name that it writes with.
    return operation === "Apply" && manager !== APPLIER && (names.includes(manager) || manager === FIELD_MANAGER);
  };
  return (object.metadata.managedFields ?? []).filter((entry) => !entry.subresource && isFormer(entry));
}

/**
 * Makes the fields of former appliers ours, as `kubectl` does it for `--server-side`: what Git has no longer is then removed by the apply
 * that follows. Only the ownership changes.
 */
export async function takeOver(
  { writer }: Destination,
  resource: Resource,
  object: KubeObject,
  { former, without = [] }: { former: readonly ManagedFields[]; without?: readonly string[] },
): Promise<Outcome<KubeObject>> {
  const all = object.metadata.managedFields ?? [];
  const ours = all.find(isOurs);
  const fieldsV1 = former.reduce((set, f) => union(set, f.fieldsV1 ?? {}), ours?.fieldsV1 ?? {});
  for (const field of without) delete fieldsV1[field];
  const entry: ManagedFields = { ...(ours ?? { ...former.at(-1)!, manager: APPLIER, operation: "Apply" }), fieldsV1 };
  const managedFields = [entry, ...all.filter((f) => f !== ours && !former.includes(f))];
  const { namespace, name, resourceVersion } = object.metadata;
  return writer.json("PATCH", resourcePath(resource, namespace, name), {
    contentType: "application/json-patch+json",
    body: [
      // A write of another client in between is kept.
      { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
      { op: "replace", path: "/metadata/managedFields", value: managedFields },
    ],
  });
}

/** Whether an entry is of what this engine, or one before it, applied on the server's side. */
export const isOurs = ({ manager, operation, subresource }: ManagedFields): boolean =>
  manager === APPLIER && operation === "Apply" && !subresource;

function union(a: FieldSet, b: FieldSet): FieldSet {
  const result: FieldSet = { ...a };
  for (const [name, inner] of Object.entries(b)) result[name] = result[name] ? union(result[name], inner) : inner;
  return result;
}
