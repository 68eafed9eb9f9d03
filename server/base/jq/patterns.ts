import type { Jq } from "../../../openapi/rules/jq/tree.ts";
import { findAll, type Match, PatternFault, PatternTooMuch } from "../lang/go-pattern.ts";
import type { Call, Run } from "./calls.ts";
import { charsOf, type Find, Misfit, TooMuch, typeOf } from "./values.ts";

// For all of one expression together, in the time of the processor: nothing else is served meanwhile.
const BUDGET_MS = 200;
// Of each match this much is free. Thousands of matches together must not take seconds.
const BESIDES_MS = 0.2;
// What a short match costs, some 70 µs, in steps.
const STEPS = 100;

export function finder(): Find {
  let left = BUDGET_MS;
  return (pattern, flags, text) => {
    if (left <= 0) throw new TooMuch();
    const before = process.cpuUsage();
    try {
      return findAll(pattern, text, flags);
    } catch (error) {
      if (error instanceof PatternTooMuch) throw new TooMuch();
      if (error instanceof PatternFault) throw new Misfit(error.message);
      throw error;
    } finally {
      const { user, system } = process.cpuUsage(before);
      // What a match of any kind costs besides is not its fault.
      left -= Math.max(0, (user + system) / 1_000 - BESIDES_MS);
    }
  };
}

/** `g` finds every match, `i` takes letters of either case, `m` lets a dot be the end of a line. */
function matches(run: Run, value: unknown, pattern: unknown, flags: unknown): Match[] {
  if (typeof value !== "string") throw new Misfit(`${typeOf(value)} cannot be matched`);
  if (typeof pattern !== "string") throw new Misfit(`${typeOf(pattern)} is no regular expression`);
  if (flags !== null && typeof flags !== "string") throw new Misfit(`${typeOf(flags)} are no flags`);
  const given = flags ?? "";
  if (/[^gim]/.test(given)) throw new Misfit(`a regular expression has no flags ${given}`);
  const also = (given.includes("i") ? "i" : "") + (given.includes("m") ? "s" : "");
  for (let i = 0; i < STEPS; i++) run.step();
  const found = run.find(pattern, also, value);
  return given.includes("g") ? found : found.slice(0, 1);
}

const lengthOf = (text: string): number => charsOf(text).length;

/**
 * The matches as jq shows them. Places are counted in characters, each on from the match before: from the start each time takes the square of the
 * length.
 */
function* shown(text: string, found: readonly Match[]): Generator<Record<string, unknown>> {
  let [chars, from] = [0, 0];
  for (const { at, groups, places, names } of found) {
    chars += lengthOf(text.slice(from, at));
    from = at;
    yield {
      offset: chars,
      length: lengthOf(groups[0]!),
      string: groups[0],
      captures: groups.slice(1).map((string, i) => ({
        offset: string === undefined || string === null ? -1 : chars + lengthOf(text.slice(at, places[i + 1]!)),
        length: lengthOf(string ?? ""),
        string: string ?? null,
        name: names[i + 1] ?? null,
      })),
    };
  }
}

/** What a match has by name. */
const named = ({ groups, names }: Match): Record<string, unknown> =>
  Object.fromEntries(names.flatMap((name, i) => (name === undefined ? [] : [[name, groups[i] ?? null]])));

/** The texts between the matches. */
function pieces(text: string, found: readonly Match[]): string[] {
  let from = 0;
  const before = found.map(({ at, groups }) => {
    const piece = text.slice(from, at);
    from = at + groups[0]!.length;
    return piece;
  });
  return [...before, text.slice(from)];
}

/** A text with each match replaced by what an expression makes of its named groups; of several values each makes one text. */
function replaced(run: Run, text: string, found: readonly Match[], part: Jq): string[] {
  const between = pieces(text, found);
  const made: string[] = [];
  found.forEach((match, i) => {
    run.values(part, { value: named(match) }).forEach((value, n) => {
      if (typeof (value ?? "") !== "string") throw new Misfit(`${typeOf(value)} cannot replace text`);
      made[n] = run.made(`${made[n] ?? ""}${between[i]}${value ?? ""}`);
    });
  });
  return made.length ? made.map((one) => one + between.at(-1)!) : [text];
}

type Work = (run: Run, text: string, found: readonly Match[], emit: (value: unknown) => void) => void;

/** A function of a text, an expression and perhaps flags. */
const matching =
  (always: string, work: Work): Call =>
  (run, input, emit, pattern, flags) => {
    for (const signs of flags ? run.values(flags, input) : [null])
      for (const given of run.values(pattern!, input)) {
        // Without flags of their own, both may be one list.
        const [said, sign = null] = !flags && Array.isArray(given) ? given : [given, signs];
        const all = always && (sign === null || typeof sign === "string") ? (sign ?? "") + always : sign;
        work(run, input.value as string, matches(run, input.value, said, all), (value) =>
          emit({ value: run.made(value) }),
        );
      }
  };
const substituting =
  (always: string): Call =>
  (run, input, emit, pattern, part, flags) =>
    matching(always, (_run, text, found, give) => {
      for (const one of replaced(run, text, found, part!)) give(one);
    })(run, input, emit, pattern!, ...(flags ? [flags] : []));

const test = matching("", (_run, _text, found, emit) => emit(found.length > 0));
const match = matching("", (_run, text, found, emit) => {
  for (const one of shown(text, found)) emit(one);
});
const capture = matching("", (_run, _text, found, emit) => {
  for (const one of found) emit(named(one));
});
const scan = matching("g", (_run, _text, found, emit) => {
  for (const { groups } of found) emit(groups.length > 1 ? groups.slice(1).map((one) => one ?? null) : groups[0]);
});
const splits = matching("g", (_run, text, found, emit) => {
  for (const piece of pieces(text, found)) emit(piece);
});

export const PATTERNS: Record<string, Call> = {
  "test/1": test,
  "test/2": test,
  "match/1": match,
  "match/2": match,
  "capture/1": capture,
  "capture/2": capture,
  "scan/1": scan,
  "scan/2": scan,
  "splits/1": splits,
  "splits/2": splits,
  "split/2": matching("g", (_run, text, found, emit) => emit(pieces(text, found))),
  "sub/2": substituting(""),
  "sub/3": substituting(""),
  "gsub/2": substituting("g"),
  "gsub/3": substituting("g"),
};
