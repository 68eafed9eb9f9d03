import { type GlobBudget, matchGlob } from "../../base/lang/glob.ts";
import { MAX_STEPS } from "./permits.ts";
import { normalizeRepoUrl, spellingsOf, spellingsOfPattern } from "./spellings.ts";

interface Policy {
  repos?: { url?: string }[] | null;
  gpg?: { mode?: string; keys?: string[] | null } | null;
}

/** Which commits a project wants to be signed. */
export interface IntegritySpec {
  sourceIntegrity?: { git?: { policies?: Policy[] | null } | null } | null;
  /** The older form: every repository, the last commit alone. */
  signatureKeys?: { keyID?: string }[] | null;
}

/** The signature rules for the commits of one repository. */
export interface Demand {
  mode: "head" | "strict";
  keys: string[];
}

const MODES = ["none", "head", "strict"];

/** The error of a project's signature rules; undefined when they can be read. Unreadable rules must not let anything through. */
export function misreads({
  sourceIntegrity,
  signatureKeys,
}: {
  sourceIntegrity?: unknown;
  signatureKeys?: unknown;
}): string | undefined {
  if (!isList(signatureKeys, (one) => isMap(one) && isKey(one.keyID)))
    return "spec.signatureKeys must be a list of keyID, each with at least 16 digits";
  if (sourceIntegrity === undefined || sourceIntegrity === null) return undefined;
  const git = isMap(sourceIntegrity) ? (sourceIntegrity.git ?? {}) : undefined;
  if (!isMap(git) || !isList(git.policies, isPolicy))
    return "spec.sourceIntegrity.git.policies must be a list of repos (url) and gpg (mode none, head or strict; keys of at least 16 digits)";
  return undefined;
}

/** The first policy that matches a repository; without one, the older list of keys. Undefined when any commit will do. */
export function demandFor({ sourceIntegrity, signatureKeys }: IntegritySpec, repoUrl: string): Demand | undefined {
  const budget = { left: MAX_STEPS };
  const policy = (sourceIntegrity?.git?.policies ?? []).find(({ repos }) => means(repos ?? [], repoUrl, budget));
  // Which policy it is cannot be found out in time: no commit fits that.
  if (budget.left < 0) return { mode: "strict", keys: [] };
  if (policy) {
    const mode = policy.gpg?.mode;
    return mode === "head" || mode === "strict" ? { mode, keys: policy.gpg?.keys ?? [] } : undefined;
  }
  const keys = (signatureKeys ?? []).flatMap(({ keyID }) => keyID ?? []);
  return keys.length ? { mode: "head", keys } : undefined;
}

/** What several projects demand together: the stricter way, and only keys that each of them takes. */
export function demandForAll(specs: readonly IntegritySpec[], repoUrl: string): Demand | undefined {
  const demands = specs.flatMap((spec) => demandFor(spec, repoUrl) ?? []);
  const [first, ...others] = demands;
  if (!first || others.length === 0) return first;
  const mode = demands.some((one) => one.mode === "strict") ? "strict" : "head";
  const keys = others.reduce(
    (kept, other) => kept.flatMap((key) => other.keys.flatMap((one) => sameKey(key, one) ?? [])),
    first.keys,
  );
  return { mode, keys: [...new Set(keys)] };
}

/** A key is named by its fingerprint, or by the end of it: of two names of one key, the longer. */
function sameKey(a: string, b: string): string | undefined {
  const [short, long] = [a.toUpperCase(), b.toUpperCase()].sort((x, y) => x.length - y.length) as [string, string];
  return long.endsWith(short) ? long : undefined;
}

/**
 * Unlike elsewhere in a project, a deny alone means no repository: it takes away from what the others name. A demand is not got rid of by a user
 * or a port in the address.
 */
function means(repos: { url?: string }[], repoUrl: string, budget: GlobBudget): boolean {
  const url = normalizeRepoUrl(repoUrl);
  const spellings = spellingsOf(repoUrl);
  let named = false;
  for (const { url: pattern = "" } of repos) {
    if (pattern.startsWith("!")) {
      if (matchGlob(normalizeRepoUrl(pattern.slice(1)), url, "", budget)) return false;
    } else if (spellings.some((one) => spellingsOfPattern(pattern).some((what) => matchGlob(what, one, "", budget))))
      named = true;
  }
  return named;
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isList = (value: unknown, fits: (one: unknown) => boolean): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.every(fits));
const isKey = (value: unknown): boolean => typeof value === "string" && /^[0-9A-Fa-f]{16,64}$/.test(value);
const isPolicy = (one: unknown): boolean =>
  isMap(one) &&
  Array.isArray(one.repos) &&
  one.repos.every((repo) => isMap(repo) && typeof repo.url === "string") &&
  isMap(one.gpg) &&
  MODES.includes(String(one.gpg.mode)) &&
  isList(one.gpg.keys, isKey);
