import type { SemVer } from "semver";
import { parseVersion, parseVersionRange } from "../../base/lang/version-range.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { REPO, type Refs } from "./types.ts";

export const isCommit = (revision: string): boolean => /^[0-9a-f]{40}$/.test(revision);

/** The commit a target revision means: branch, tag, commit, HEAD, or a semver range over tags. */
export function resolveRevision(refs: Refs, target: string | undefined, url: string, tagPrefix = ""): Outcome<string> {
  const wanted = !target || target === "HEAD" ? undefined : target;
  if (wanted === undefined) return refs.head ? done(refs.head) : stop(REPO.revision, `${url} is empty: it has no HEAD`);
  if (isCommit(wanted)) return done(wanted);
  const named =
    own(refs.branches, wanted) ??
    own(refs.tags, wanted) ??
    own(refs.branches, wanted.replace(/^refs\/heads\//, "")) ??
    own(refs.tags, wanted.replace(/^refs\/tags\//, ""));
  if (named) return done(named);
  const tags = new Map(
    Object.entries(refs.tags)
      .filter(([name]) => name.startsWith(tagPrefix))
      .map(([name, sha]) => [name.slice(tagPrefix.length), sha]),
  );
  const range = pinned(wanted, [...tags.keys()]);
  if (range) return done(tags.get(range)!);
  if (/^[0-9a-f]{7,39}$/.test(wanted)) {
    const tips = new Set(
      [refs.head, ...Object.values(refs.branches), ...Object.values(refs.tags)].filter((sha) =>
        sha?.startsWith(wanted),
      ),
    );
    if (tips.size === 1) return done([...tips][0]!);
    return stop(REPO.revision, `${url} has no branch or tag at commit ${wanted}; write all 40 digits of a commit`);
  }
  return stop(REPO.revision, `${url} has no branch, tag or commit ${wanted}`);
}

/** The name of the tag that a target revision means, where it is neither a branch nor a commit. */
export function namedTag(refs: Refs, target: string | undefined, tagPrefix = ""): string | undefined {
  if (!target || target === "HEAD" || isCommit(target) || own(refs.branches, target)) return undefined;
  if (own(refs.tags, target)) return target;
  if (own(refs.branches, target.replace(/^refs\/heads\//, ""))) return undefined;
  const plain = target.replace(/^refs\/tags\//, "");
  if (own(refs.tags, plain)) return plain;
  const names = Object.keys(refs.tags).filter((name) => name.startsWith(tagPrefix));
  const range = pinned(
    target,
    names.map((name) => name.slice(tagPrefix.length)),
  );
  return range === undefined ? undefined : tagPrefix + range;
}

/** A whole or a short version (`1.2`) is the tag of that very name; ranges are anything else. */
function pinned(wanted: string, tags: readonly string[]): string | undefined {
  if (parseVersion(wanted)) return tags.includes(wanted) ? wanted : undefined;
  return highest(wanted, tags);
}

/** The highest version in a range; prereleases take part only if the range names one (`-0` suffix). */
export function highest(range: string, versions: Iterable<string>): string | undefined {
  const test = rangeOf(range);
  if (!test) return undefined;
  let best: { name: string; version: SemVer } | undefined;
  for (const name of versions) {
    const version = parseVersion(name);
    if (version && test(version) && (!best || version.compare(best.version) > 0)) best = { name, version };
  }
  return best?.name;
}

/** Whether a version is in a range. */
export function satisfies(version: string, range: string): boolean {
  const parsed = parseVersion(version);
  return parsed !== undefined && (rangeOf(range)?.(parsed) ?? false);
}

/** A name without a digit or an x is no range, but a branch that is not there. */
const rangeOf = (range: string) => (/[\d*xX]/.test(range) ? parseVersionRange(range) : undefined);

// A branch may be called "constructor".
const own = (map: Record<string, string>, key: string): string | undefined =>
  Object.hasOwn(map, key) ? map[key] : undefined;
