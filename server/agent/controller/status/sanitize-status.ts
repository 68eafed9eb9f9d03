import type { Application } from "../application.ts";

type Loose = Record<string, unknown>;
const isObject = (value: unknown): value is Loose =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const LISTS = ["conditions", "history", "resources", "sourceTypes"];
const OBJECTS = ["sync", "health", "operationState", "summary", "resourceSummary"];

/**
 * An application whose status has the shape that this program writes. Anybody who may write applications may write another one there, and what
 * does not fit is dropped, so that an application of any shape is handled like the others.
 */
export function sane(app: Application): Application {
  const status = app.status as unknown;
  if (status === undefined) return app;
  if (!isObject(status)) return without(app, {});
  const kept: Loose = { ...status };
  let changed = false;
  const drop = (from: Loose, key: string) => {
    delete from[key];
    changed = true;
  };
  for (const key of LISTS) {
    const list = kept[key];
    if (list === undefined) continue;
    if (!Array.isArray(list)) drop(kept, key);
    else if (key !== "sourceTypes" && !list.every(isObject)) {
      kept[key] = list.filter(isObject);
      changed = true;
    }
  }
  for (const key of OBJECTS) if (kept[key] !== undefined && !isObject(kept[key])) drop(kept, key);
  const { sync, operationState } = kept as { sync?: Loose; operationState?: Loose };
  if (
    sync &&
    ((sync.revision !== undefined && typeof sync.revision !== "string") ||
      (sync.comparedTo !== undefined && !isObject(sync.comparedTo)))
  )
    drop(kept, "sync");
  if (operationState) {
    const { operation, syncResult } = operationState;
    const fits =
      isObject(operation) && (syncResult === undefined || (isObject(syncResult) && isRows(syncResult.resources)));
    if (!fits) drop(kept, "operationState");
  }
  return changed ? without(app, kept) : app;
}

const isRows = (rows: unknown): boolean =>
  rows === undefined || rows === null || (Array.isArray(rows) && rows.every(isObject));
const without = (app: Application, status: Loose): Application => ({ ...app, status: status as Application["status"] });
