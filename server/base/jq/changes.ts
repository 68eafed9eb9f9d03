import type { Jq } from "../../../openapi/rules/jq/tree.ts";
import type { Call, Run } from "./calls.ts";
import { deletePaths, hitAt, type Path, placesOf, type Steps, setPath, stepsOf } from "./paths.ts";
import { bare, compute, type Emit, type Hit, isObject, Misfit, truthy } from "./values.ts";

/** The places that an expression names in a value. */
function pathsIn(run: Run, input: Hit, part: Jq): Steps[] {
  const found: Steps[] = [];
  run.eval(part, bare(input), ({ path }) => {
    if (!path) throw new Misfit("it gives a value that is no place in the document");
    found.push(path);
  });
  return found;
}

const without = (run: Run, value: unknown, paths: readonly Path[]): unknown =>
  paths.some((path) => path.length === 0) ? null : run.made(deletePaths(value, paths));

/** `left |= right`: each place gets the first value of what `right` makes of it; where that is none, the place goes. */
function modified(run: Run, input: Hit, { left, right }: { left: Jq; right: Jq }): unknown {
  let state = input.value;
  const gone: Path[] = [];
  for (const path of pathsIn(run, input, left)) {
    const next = run.values(right, { value: hitAt(state, path).value });
    if (next.length === 0) gone.push(...placesOf(path));
    else state = run.made(setPath(state, path, next[0]));
  }
  return without(run, state, gone);
}

/** What an assignment makes of a value: for all others than `|=` one for each value on the right, which are those of the whole input. */
export function update(run: Run, input: Hit, node: Extract<Jq, { is: "update" }>, emit: Emit): void {
  if (node.operator === "|") {
    emit({ value: modified(run, input, node) });
    return;
  }
  for (const value of run.values(node.right, input)) {
    let state = input.value;
    for (const path of pathsIn(run, input, node.left)) {
      const next = changed(node.operator, () => hitAt(state, path).value, value);
      state = run.made(setPath(state, path, next));
    }
    emit({ value: state });
  }
}

function changed(operator: string, before: () => unknown, value: unknown): unknown {
  if (operator === "") return value;
  const old = before();
  if (operator === "//") return truthy(old) ? old : value;
  return compute(operator, old, value);
}

function keysOf(value: unknown): (string | number)[] {
  if (Array.isArray(value)) return [...value.keys()];
  return isObject(value) ? Object.keys(value).sort() : [];
}

/** Streams: each leaf with its path, and the end of each list and object. */
function stream(value: unknown, emit: (event: unknown[]) => void, path: Path = []): void {
  const keys = keysOf(value);
  if (keys.length === 0) {
    emit([path, value]);
    return;
  }
  for (const key of keys) stream((value as Record<string | number, unknown>)[key], emit, [...path, key]);
  emit([[...path, keys.at(-1)!]]);
}

export const CHANGES: Record<string, Call> = {
  "setpath/2": (run, input, emit, path, part) => {
    for (const steps of run.values(path!, input))
      for (const value of run.values(part!, input))
        emit({ value: run.made(setPath(input.value, stepsOf(steps), value)) });
  },
  "delpaths/1": (run, input, emit, part) => {
    for (const paths of run.values(part!, input)) {
      if (!Array.isArray(paths)) throw new Misfit("paths are a list");
      const found = paths.flatMap((path) => placesOf(hitAt(input.value, stepsOf(path)).path!));
      emit({ value: without(run, input.value, found) });
    }
  },
  "del/1": (run, input, emit, part) =>
    emit({ value: without(run, input.value, pathsIn(run, input, part!).flatMap(placesOf)) }),
  "pick/1": (run, input, emit, part) => {
    let picked: unknown = null;
    for (const path of pathsIn(run, input, part!))
      picked = run.made(setPath(picked, path, hitAt(input.value, path).value));
    emit({ value: picked });
  },
  "tostream/0": (run, { value }, emit) =>
    stream(value, (event) => {
      run.step();
      emit({ value: event });
    }),
};
