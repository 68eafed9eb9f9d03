import { compileJq, deletePaths, type Path, type Program } from "../../../base/jq/jq.ts";
import { isSlow, pacedPathsOf } from "../../../base/jq/paced.ts";
import { matchGlob } from "../../../base/lang/glob.ts";
import { type FieldSet, gvkOf, type KubeObject } from "../../../kube/object.ts";
import type { Application, IgnoreDifference } from "../application.ts";
import { ownedPaths } from "./owned.ts";

/** The parts of an object that do not count as differences. */
export interface Ignoring {
  pointers: string[];
  programs: Program[];
  managers: string[];
}

export const NOTHING: Ignoring = { pointers: [], programs: [], managers: [] };

// There are few expressions, and each runs for every object of its kind.
const compiled = new Map<string, Program | string>();
const MAX_COMPILED = 1_000;

function compile(text: string): Program | string {
  let program = compiled.get(text);
  if (program === undefined) {
    if (compiled.size >= MAX_COMPILED) compiled.clear();
    program = compileJq(text);
    compiled.set(text, program);
  }
  return program;
}

/** The ignored fields of an object: by the application's own rules and by those for all applications. */
export function ignoring(app: Application, everywhere: readonly IgnoreDifference[], object: KubeObject): Ignoring {
  const own = app.spec.ignoreDifferences ?? [];
  if (own.length === 0 && everywhere.length === 0) return NOTHING;
  const { group } = gvkOf(object);
  const { namespace, name } = object.metadata;
  const rules = [...own, ...everywhere]
    .filter((rule) => matchGlob(rule.group ?? "", group) && matchGlob(rule.kind ?? "", object.kind))
    .filter((rule) => (!rule.name || rule.name === name) && (!rule.namespace || rule.namespace === namespace));
  if (rules.length === 0) return NOTHING;
  return {
    pointers: rules.flatMap((rule) => rule.jsonPointers ?? []),
    programs: rules
      .flatMap((rule) => rule.jqPathExpressions ?? [])
      .map(compile)
      .filter((program) => typeof program !== "string"),
    managers: rules.flatMap((rule) => rule.managedFieldsManagers ?? []),
  };
}

/** Errors in the expressions of the application and of all applications. An unreadable rule must not look like one that matches nothing. */
export function ruleProblems(app: Application, everywhere: readonly IgnoreDifference[] = []): string[] {
  return [...(app.spec.ignoreDifferences ?? []), ...everywhere]
    .flatMap((rule) => rule.jqPathExpressions ?? [])
    .map((text) => [text, compile(text)] as const)
    .filter(([, program]) => typeof program === "string" || isSlow(program))
    .map(([text, why]) => {
      const reason = typeof why === "string" ? why : "it takes too long, so it hides nothing";
      return `ignoreDifferences: the jq path expression ${text} cannot be used: ${reason}`;
    });
}

/** A copy without ignored fields; a path to nothing is fine. `owned` are the fields of the ignored managers. */
export function without<T>(value: T, { pointers, programs }: Ignoring, owned: readonly FieldSet[] = []): T {
  let result = withoutPointers(value, pointers);
  for (const program of programs) {
    const paths = pacedPathsOf(program, result);
    // Too slow to evaluate, so it ignores nothing.
    if (paths !== "slow") result = deletePaths(result, paths);
  }
  for (const set of owned) result = deletePaths(result, ownedPaths(set, result));
  return result;
}

function withoutPointers<T>(value: T, pointers: readonly string[]): T {
  if (pointers.length === 0) return value;
  const copy = structuredClone(value);
  for (const pointer of pointers) {
    const found = parentOf(copy, pathOf(pointer));
    if (!found) continue;
    const { parent, key } = found;
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else delete parent[key];
  }
  return copy;
}

/** The fields that the ignored managers have of an object, as its `managedFields` say. */
export const fieldsOf = (object: KubeObject, managers: readonly string[]): FieldSet[] =>
  (object.metadata.managedFields ?? [])
    .filter((f) => managers.includes(f.manager ?? ""))
    .flatMap((f) => f.fieldsV1 ?? []);

/** A copy in which ignored fields have the values of `live`: what RespectIgnoreDifferences sends. */
export function taking(
  object: KubeObject,
  live: KubeObject,
  { pointers, programs }: Ignoring,
  owned: readonly FieldSet[] = [],
): KubeObject {
  const copy = structuredClone(object);
  const paths: Path[] = [
    ...pointers.map(pathOf),
    ...programs.flatMap((program) => {
      const found = pacedPathsOf(program, live);
      return found === "slow" ? [] : found;
    }),
    ...owned.flatMap((set) => ownedPaths(set, live)),
  ];
  for (const path of paths) {
    if (path.length === 0 || path[0] === "status" || (path[0] === "metadata" && path[1] === "managedFields")) continue;
    const from = parentOf(live, path);
    const to = counterpart(copy, live, path);
    // Lists are taken whole or not at all: an index means another item on each side.
    if (!from || !to || Array.isArray(from.parent) || Array.isArray(to)) continue;
    (to as Record<string, unknown>)[from.key] = structuredClone(from.parent[from.key]);
  }
  return copy;
}

/** The value in the desired object that contains the last field of a path in the live one; list items are matched by name. */
function counterpart(wanted: unknown, live: unknown, path: Path): object | undefined {
  let [at, beside] = [wanted, live] as [unknown, unknown];
  for (const step of path.slice(0, -1)) {
    const item = own(beside, step);
    at = Array.isArray(at) && Array.isArray(beside) ? sameItem(at, beside, item, Number(step)) : own(at, step);
    beside = item;
    if (at === undefined || beside === undefined) return undefined;
  }
  return typeof at === "object" && at !== null ? at : undefined;
}

function sameItem(list: unknown[], beside: unknown[], item: unknown, index: number): unknown {
  for (const key of ["name", "key", "containerPort", "mountPath", "type"]) {
    const id = own(item, key);
    if (id === undefined) continue;
    const found = list.filter((one) => own(one, key) === id);
    return found.length === 1 ? found[0] : undefined;
  }
  return list.length === beside.length ? list[index] : undefined;
}

function own(at: unknown, step: string | number): unknown {
  const key = Array.isArray(at) ? indexOf(at, step) : step;
  return typeof at === "object" && at !== null && Object.hasOwn(at, key)
    ? (at as Record<string, unknown>)[key]
    : undefined;
}

/** The empty path of a text that is no pointer leads nowhere. */
function pathOf(pointer: string): Path {
  if (!pointer.startsWith("/")) return [];
  return pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Which item a step means, as Argo CD reads it: `-1` is the last one, and `01` the second. */
function indexOf(list: readonly unknown[], step: string | number): string | number {
  if (!/^[+-]?\d{1,9}$/.test(String(step))) return step;
  const index = Number(step);
  return index < 0 ? index + list.length : index;
}

function parentOf(root: unknown, path: Path): { parent: Record<string, unknown> | unknown[]; key: string } | undefined {
  let at = root;
  for (const [i, step] of path.entries()) {
    const key = Array.isArray(at) ? indexOf(at, step) : step;
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    if (i === path.length - 1) return { parent: at as Record<string, unknown>, key: String(key) };
    at = (at as Record<string, unknown>)[key];
  }
  return undefined;
}
