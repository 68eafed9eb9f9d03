import semver from "semver";
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
  const range = highest(wanted, [...tags.keys()]);
  if (range) return done(tags.get(range)!);
  if (/^[0-9a-f]{7,39}$/.test(wanted)) {
    const tips = new Set(
      [refs.head, ...Object.values(refs.branches), ...Object.values(refs.tags)].filter((sha) => sha?.startsWith(wanted)),
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
  const range = highest(
    target,
    names.map((name) => name.slice(tagPrefix.length)),
  );
  return range === undefined ? undefined : tagPrefix + range;
}

/** The highest version in a range; prereleases take part only if the range names one (`-0` suffix). */
export function highest(range: string, versions: Iterable<string>): string | undefined {
  const test = rangeOf(range);
  if (!test) return undefined;
  let best: { name: string; version: semver.SemVer } | undefined;
  for (const name of versions) {
    const version = name.length <= 256 ? semver.parse(name.replace(/^v/, "")) : null;
    if (version && test(version) && (!best || semver.gt(version, best.version))) best = { name, version };
  }
  return best?.name;
}

/** Whether a version is in a range. */
export function satisfies(version: string, range: string): boolean {
  const parsed = semver.parse(version.replace(/^v/, ""));
  return parsed !== null && (rangeOf(range)?.(parsed) ?? false);
}

/**
 * A range as the ecosystem's tools write it: `,` and blanks are and, `||` is or, `!=` is allowed, `v` may be there. Undefined when it is
 * none.
 */
function rangeOf(range: string): ((version: semver.SemVer) => boolean) | undefined {
  if (range.length > 200 || !/[\d*xX]/.test(range)) return undefined;
  const either: ((version: semver.SemVer) => boolean)[] = [];
  for (const part of range.split("||")) {
    const text = part
      .replace(/\s*,\s*/g, " ")
      .replace(/([<>=!~^])\s+/g, "$1")
      .trim();
    const not = [...text.matchAll(/!=(\S+)/g)].map((match) => parseRange(match[1]!));
    const rest = text.replace(/!=\S+/g, "").trim() || "*";
    // A prerelease in the range opens it for all of them, not only for those of the same version.
    const wanted = parseRange(rest, /\d-[0-9A-Za-z]/.test(rest) && !/ - /.test(rest));
    if (!wanted || not.includes(undefined)) return undefined;
    either.push((version) => wanted.test(version) && !not.some((one) => one!.test(version)));
  }
  return (version) => either.some((test) => test(version));
}

function parseRange(text: string, includePrerelease = false): semver.Range | undefined {
  try {
    return new semver.Range(text, { includePrerelease });
  } catch {
    return undefined;
  }
}

// A branch may be called "constructor".
const own = (map: Record<string, string>, key: string): string | undefined => (Object.hasOwn(map, key) ? map[key] : undefined);
