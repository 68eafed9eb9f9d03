import { done, type Outcome, stop } from "../../base/outcome.ts";
import { Source as SOURCE } from "../model/generated/shapes.ts";
import { misshapen, type Reading } from "../model/shape.ts";
import { REPO, type Source } from "./types.ts";

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const MAX_TEXT = 1_000_000;

const READING: Reading = {
  isText: (value) => typeof value === "string" && value.length <= MAX_TEXT && !value.includes("\0"),
  isItem: isMap,
  maxItems: 1_000,
};

/**
 * A source whose fields have the types that everything behind this relies on; those that are null count as not set. The API server leaves them
 * open, and a repository may bring its own.
 */
export function shaped(source: Source): Outcome<Source> {
  const problem = misshapen(SOURCE, source, "source", READING);
  return problem ? stop(REPO.manifest, problem) : done(withoutNull(source) as Source);
}

/** Nulls of the settings themselves are dropped; those inside values stay, as Helm gives them a meaning. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNull);
  if (!isMap(value)) return value;
  const kept = Object.entries(value).filter(([, v]) => v !== null);
  return Object.fromEntries(
    kept.map(([name, v]) => [name, name === "valuesObject" || name === "patches" ? v : withoutNull(v)]),
  );
}
