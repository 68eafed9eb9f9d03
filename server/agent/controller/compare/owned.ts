import { isDeepStrictEqual } from "node:util";
import type { Path } from "../../../base/jq/jq.ts";
import { readJson } from "../../../base/json/nesting.ts";
import type { FieldSet } from "../../../kube/object.ts";

/** The paths of an object that a set of `managedFields` names, without those that the object does not have. */
export function ownedPaths(fields: FieldSet, object: unknown): Path[] {
  const found: Path[] = [];
  walk(fields, object, [], found);
  return found;
}

function walk(fields: FieldSet, at: unknown, path: Path, found: Path[]): void {
  const inner = Object.keys(fields).filter((name) => name !== ".");
  if (inner.length === 0) {
    if (path.length) found.push(path);
    return;
  }
  for (const name of inner) {
    const step = stepTo(name, at);
    if (step !== undefined) walk(fields[name]!, (at as Record<string, unknown>)[step], [...path, step], found);
  }
}

/** `f:` names a field, `k:` an item by its keys, `v:` one by its value, `i:` one by its place. */
function stepTo(name: string, at: unknown): string | number | undefined {
  const [sign, rest] = [name.slice(0, 2), name.slice(2)];
  if (sign === "f:") return typeof at === "object" && at !== null && Object.hasOwn(at, rest) ? rest : undefined;
  if (!Array.isArray(at)) return undefined;
  if (sign === "i:") return Number(rest) < at.length ? Number(rest) : undefined;
  const wanted = readJson(rest) as unknown;
  const index = at.findIndex((item) =>
    sign === "v:"
      ? isDeepStrictEqual(item, wanted)
      : Object.entries(wanted as object).every(([key, value]) =>
          isDeepStrictEqual((item as Record<string, unknown>)?.[key], value),
        ),
  );
  return index < 0 ? undefined : index;
}
