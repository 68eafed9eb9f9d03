import { digest } from "../../../base/json/canonical.ts";
import { readJson } from "../../../base/json/nesting.ts";
import { repositoryKey } from "../../../base/repository-key.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { RepositoryHint } from "./polls.ts";

/** The ConfigMap with hints that a repository has changed: a key for each repository, the value a Hint as JSON. */
export const HINTS = "outpost-hints";
/** Repositories that are remembered; the oldest go first. */
export const MAX_HINTS = 500;
// A value is an address, a time, a commit and some refs.
const MAX_VALUE = 16_384;

export interface Hint extends RepositoryHint {
  url: string;
  at: string;
}

export const hintKey = (url: string): string => digest(repositoryKey(url) ?? url).slice(0, 20);

/** A value of the ConfigMap. It is not trusted: its only effect is another look at the repository. */
export function readHint(value: unknown): Hint | undefined {
  if (typeof value !== "string" || value.length > MAX_VALUE) return undefined;
  let found: Partial<Hint> | null;
  try {
    found = readJson(value) as typeof found;
  } catch {
    return undefined;
  }
  if (typeof found?.url !== "string" || found.url.length > 2_048 || typeof found.at !== "string") return undefined;
  const { url, at, revision } = found;
  return { url, at, ...(typeof revision === "string" ? { revision } : {}) };
}

/** Returns the new hints of the ConfigMaps, and whether anything else has changed. */
export class Hints {
  #seen: Map<string, unknown> | undefined;
  #others = "";

  take(configMaps: readonly KubeObject[]): { hints: Hint[]; others: boolean } {
    const data = configMaps.find(({ metadata }) => metadata.name === HINTS)?.data ?? {};
    const now = new Map(Object.entries(data).slice(0, 2 * MAX_HINTS));
    const before = this.#seen;
    this.#seen = now;
    // Hints from before the start are covered: everything is looked at then.
    const fresh = before ? [...now].filter(([key, value]) => before.get(key) !== value) : [];
    const others = configMaps
      .filter(({ metadata }) => metadata.name !== HINTS)
      .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`)
      .sort()
      .join("\n");
    const changed = !before || others !== this.#others;
    this.#others = others;
    return { hints: fresh.map(([, value]) => readHint(value)).filter((hint) => hint !== undefined), others: changed };
  }
}
