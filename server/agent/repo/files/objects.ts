import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { describe, type KubeObject } from "../../../kube/object.ts";
import { REPO } from "../types.ts";

/** Objects on which a mark of the application can be put: annotations and labels are texts. */
export function markable(objects: KubeObject[]): Outcome<KubeObject[]> {
  for (const object of objects) {
    for (const field of ["annotations", "labels"] as const) {
      const map: unknown = object.metadata[field];
      if (map === undefined || map === null) continue;
      if (typeof map !== "object" || Array.isArray(map))
        return stop(REPO.manifest, `${describe(object)}: metadata.${field} is not an object`);
      // A null label counts as absent; the API server treats annotations the same way.
      const bad = Object.entries(map).find(([, value]) => typeof value !== "string" && value !== null);
      if (bad)
        return stop(
          REPO.manifest,
          `${describe(object)}: metadata.${field}.${bad[0].slice(0, 200)} is not a text; put it in quotes`,
        );
    }
  }
  return done(objects);
}
