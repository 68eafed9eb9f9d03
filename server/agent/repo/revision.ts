import semver from "semver";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { REPO, type Refs } from "./types.ts";

export const isCommit = (revision: string): boolean => /^[0-9a-f]{40}$/.test(revision);

/** The commit a target revision means: branch, tag, commit, HEAD, or a semver range over tags. */
export function resolveRevision(refs: Refs, target: string | undefined, url: string): Outcome<string> {
  const wanted = !target || target === "HEAD" ? undefined : target;
  if (wanted === undefined) return refs.head ? done(refs.head) : stop(REPO.revision, `${url} is empty: it has no HEAD`);
  if (isCommit(wanted)) return done(wanted);
  const named =
    own(refs.branches, wanted) ??
    own(refs.tags, wanted) ??
    own(refs.branches, wanted.replace(/^refs\/heads\//, "")) ??
    own(refs.tags, wanted.replace(/^refs\/tags\//, ""));
  if (named) return done(named);
  const range = highest(wanted, Object.keys(refs.tags));
  if (range) return done(refs.tags[range]!);
  if (/^[0-9a-f]{7,39}$/.test(wanted)) {
    const tips = new Set(
      [refs.head, ...Object.values(refs.branches), ...Object.values(refs.tags)].filter((sha) => sha?.startsWith(wanted)),
    );
    if (tips.size === 1) return done([...tips][0]!);
    return stop(REPO.revision, `${url} has no branch or tag at commit ${wanted}; write all 40 digits of a commit`);
  }
  return stop(REPO.revision, `${url} has no branch, tag or commit ${wanted}`);
}

/** The highest version in a range; prereleases take part only if the range names one (`-0` suffix). */
export function highest(range: string, versions: string[]): string | undefined {
  if (!/[\d*xX]/.test(range) || range.length > 200 || semver.validRange(range) === null) return undefined;
  let best: { name: string; version: semver.SemVer } | undefined;
  for (const name of versions) {
    const version = semver.parse(name.replace(/^v/, ""));
    if (version && semver.satisfies(version, range) && (!best || semver.gt(version, best.version))) best = { name, version };
  }
  return best?.name;
}

// A branch may be called "constructor".
const own = (map: Record<string, string>, key: string): string | undefined => (Object.hasOwn(map, key) ? map[key] : undefined);
