import { canonical } from "../../../base/json/canonical.ts";

/** A field that differs; one without `before` is new, one without `after` is gone. */
export interface FieldChange {
  /** A JSON pointer into the specification. */
  path: string;
  before?: unknown;
  after?: unknown;
}

/** The trail keeps lines for a year and more: what a line may take is small, and more than a person reads. */
const MOST = 100;
const LONGEST_VALUE = 1_024;
const MOST_BYTES = 16_384;

type Fields = Record<string, unknown>;

/** In which fields two specifications differ. Lists are compared as a whole; long values are cut, and what is too much is counted. */
export function changesBetween(before: Fields | undefined, after: Fields | undefined): FieldChange[] {
  const all = [...walk(before ?? {}, after ?? {}, "")];
  const kept: FieldChange[] = [];
  let bytes = 0;
  for (const change of all) {
    bytes += JSON.stringify(change).length;
    if (kept.length === MOST || bytes > MOST_BYTES) break;
    kept.push(change);
  }
  if (kept.length < all.length) kept.push({ path: "", after: `${all.length - kept.length} more fields` });
  return kept;
}

function* walk(before: Fields, after: Fields, path: string): Generator<FieldChange> {
  for (const key of [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()) {
    const [old, now] = [before[key], after[key]];
    if (old === undefined && now === undefined) continue;
    if (old !== undefined && now !== undefined && canonical(old) === canonical(now)) continue;
    const at = `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if ([old, now].every((one) => one === undefined || isFields(one)))
      yield* walk((old ?? {}) as Fields, (now ?? {}) as Fields, at);
    else
      yield {
        path: at,
        ...(old === undefined ? {} : { before: short(old) }),
        ...(now === undefined ? {} : { after: short(now) }),
      };
  }
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function short(value: unknown): unknown {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= LONGEST_VALUE ? value : `${text.slice(0, LONGEST_VALUE)}… (${text.length} characters)`;
}
