import { posix } from "node:path";
import { type Outcome, stop } from "../../../base/outcome.ts";
import { parseYaml } from "../../../kube/yaml.ts";
import type { Tree } from "../git/tree.ts";
import { shaped } from "../shape.ts";
import { REPO, type Source } from "../types.ts";

const MAX_BYTES = 1_000_000;

/**
 * The source with `.argocd-source.yaml`, then `.argocd-source-<app>.yaml` of its folder merged over the settings of its tool. Where
 * the source comes from they cannot change.
 */
export async function withOverrides(tree: Tree, path: string, source: Source, app: string): Promise<Outcome<Source>> {
  let merged: Record<string, unknown> = { ...source };
  for (const name of [".argocd-source.yaml", `.argocd-source-${app}.yaml`]) {
    const found = await tree.find(posix.join(path || ".", name));
    if (found.kind !== "done") {
      if (found.reason === REPO.path) continue;
      return found;
    }
    if (found.value.kind !== "blob") continue;
    const blob = await tree.blob(found.value.sha, name, MAX_BYTES);
    if (blob.kind !== "done") return blob;
    const patch = parseYaml(blob.value.toString("utf8"), name);
    if (patch.kind !== "done") return patch;
    const after = merge(merged, patch.value, 0);
    if (typeof after !== "object" || after === null || Array.isArray(after))
      return stop(REPO.manifest, `${name}: is not an object`);
    merged = after as Record<string, unknown>;
  }
  const { helm, kustomize, directory, plugin } = merged as unknown as Source;
  return shaped({ ...source, helm, kustomize, directory, plugin });
}

/** RFC 7396. */
function merge(target: unknown, patch: unknown, depth: number): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch) || depth > 64) return patch;
  const from = typeof target === "object" && target !== null && !Array.isArray(target) ? Object.entries(target) : [];
  const result = new Map<string, unknown>(from);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name);
    else result.set(name, merge(result.get(name), value, depth + 1));
  }
  return Object.fromEntries(result);
}
