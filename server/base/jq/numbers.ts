import type { Jq } from "../../../openapi/rules/jq/tree.ts";
import type { Call, Run } from "./calls.ts";
import { toText } from "./formats.ts";
import { type Emit, type Hit, Misfit, order, typeOf } from "./values.ts";

function numeric(value: unknown): number {
  if (typeof value !== "number") throw new Misfit(`${typeOf(value)} is no number`);
  return value;
}
const of =
  (work: (value: number) => number | boolean): Call =>
  (_run, { value }, emit) =>
    emit({ value: work(numeric(value)) });
const ofTwo =
  (work: (a: number, b: number) => number): Call =>
  (run, input, emit, left, right) => {
    for (const b of run.values(right!, input))
      for (const a of run.values(left!, input)) emit({ value: work(numeric(a), numeric(b)) });
  };
const onlyIf =
  (fits: (value: number) => boolean): Call =>
  (_run, input, emit) => {
    if (typeof input.value === "number" && fits(input.value)) emit(input);
  };

// Below this a number has lost digits.
const SMALLEST_NORMAL = 2 ** -1022;
const isNormal = (value: number) => Number.isFinite(value) && Math.abs(value) >= SMALLEST_NORMAL;

/** One item of each list, in every way. */
function combinations(run: Run, lists: readonly unknown[], emit: Emit, chosen: readonly unknown[] = []): void {
  run.step();
  const [first, ...rest] = lists;
  if (lists.length === 0) {
    emit({ value: run.made([...chosen]) });
    return;
  }
  run.each({ value: first, path: [] }, ({ value }) => combinations(run, rest, emit, [...chosen, value]));
}

/** Rows of a table by what an expression says of each. */
const index =
  (rows: (run: Run, input: Hit, parts: readonly Jq[], take: (hit: Hit) => void) => void): Call =>
  (run, input, emit, ...parts) => {
    const found: Record<string, unknown> = {};
    rows(run, input, parts, ({ value }) => {
      for (const key of run.values(parts.at(-1)!, { value })) Object.assign(found, { [toText(key)]: value });
    });
    emit({ value: run.made(found) });
  };

/** Where an item is in a sorted list; one that is not there, by a negative number, where it would be. */
function search(list: unknown, wanted: unknown): number {
  if (!Array.isArray(list)) throw new Misfit(`${typeOf(list)} is no list`);
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (order(list[middle], wanted) < 0) from = middle + 1;
    else to = middle;
  }
  return from < list.length && order(list[from], wanted) === 0 ? from : -from - 1;
}

export const NUMBERS: Record<string, Call> = {
  "nan/0": (_run, _input, emit) => emit({ value: Number.NaN }),
  "infinite/0": (_run, _input, emit) => emit({ value: Number.POSITIVE_INFINITY }),
  "isnan/0": of(Number.isNaN),
  "isinfinite/0": of((value) => !Number.isNaN(value) && !Number.isFinite(value)),
  "isfinite/0": of((value) => !(Math.abs(value) === Number.POSITIVE_INFINITY)),
  "isnormal/0": of(isNormal),
  "finites/0": onlyIf((value) => Math.abs(value) !== Number.POSITIVE_INFINITY),
  "normals/0": onlyIf(isNormal),
  "trunc/0": of(Math.trunc),
  "cbrt/0": of(Math.cbrt),
  "exp/0": of(Math.exp),
  "exp2/0": of((value) => 2 ** value),
  "exp10/0": of((value) => 10 ** value),
  "log/0": of(Math.log),
  "log2/0": of(Math.log2),
  "log10/0": of(Math.log10),
  "pow/2": ofTwo((a, b) => a ** b),
  "fmin/2": ofTwo(Math.min),
  "fmax/2": ofTwo(Math.max),
  "fmod/2": ofTwo((a, b) => a % b),
  "toboolean/0": (_run, { value }, emit) => {
    if (typeof value === "boolean") return emit({ value });
    if (value !== "true" && value !== "false") throw new Misfit(`${typeOf(value)} is neither true nor false`);
    emit({ value: value === "true" });
  },
  "implode/0": (run, { value }, emit) => {
    if (!Array.isArray(value)) throw new Misfit(`${typeOf(value)} is no list`);
    const text = value.map((one) => {
      const code = Math.trunc(numeric(one));
      // What is no character is shown as one that is not known.
      return String.fromCodePoint(code >= 0 && code <= 0x10ffff ? code : 0xfffd);
    });
    emit({ value: run.made(text.join("")) });
  },
  "bsearch/1": (run, input, emit, part) => {
    for (const wanted of run.values(part!, input)) emit({ value: search(input.value, wanted) });
  },
  "combinations/0": (run, { value }, emit) => {
    const lists: unknown[] = [];
    run.each({ value, path: [] }, (hit) => lists.push(hit.value));
    combinations(run, lists, emit);
  },
  "combinations/1": (run, input, emit, part) => {
    for (const times of run.values(part!, input)) {
      const lists: unknown[] = [];
      for (let left = numeric(times); left > 0; left--) {
        run.step();
        lists.push(input.value);
      }
      combinations(run, lists, emit);
    }
  },
  "INDEX/1": index((run, input, _parts, take) => run.each({ ...input, path: [] }, take)),
  "INDEX/2": index((run, input, [source], take) => run.eval(source!, input, take)),
};
