import { join } from "node:path";
import { digest } from "../../../base/json/canonical.ts";
import { done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { namedTag } from "../revision.ts";
import { type Integrity, type Keyring, type RepoAccess, SIGNATURE, type Source } from "../types.ts";
import { redactUrl } from "../url.ts";
import { rawObject } from "./commit.ts";
import { History } from "./history.ts";
import type { Mirror } from "./mirror.ts";
import { signedCommit, signedTag, type Verdict, Verifier } from "./signature.ts";

/** Commits between two syncs that are looked at; a project that merges more at once syncs once in mode `head`. */
export const MAX_COMMITS = 1_000;
// A key may expire, so a good signature is checked again.
const KEPT_MS = 600_000;
const MAX_KEPT = 20_000;
const MAX_TAGS = 5;
const PARALLEL = 4;

interface Kept {
  verdict: Verdict;
  at: number;
}

/** Whether commits are signed as a project demands. */
export class Signatures {
  readonly #verifier: Verifier;
  readonly #history: History;
  readonly #kept = new Map<string, Kept>();

  constructor(folder: string, allowLocal = false) {
    this.#verifier = new Verifier(join(folder, "gpg"));
    this.#history = new History(join(folder, "history"), allowLocal);
  }

  close(): void {
    this.#history.close();
  }

  /** How the signature of a commit that the mirror has is judged. */
  async of(mirror: Mirror, commit: string, keyring: Keyring): Promise<Outcome<Verdict>> {
    return this.#judge(commit, keyring, async () => {
      const raw = await rawObject(mirror, commit);
      return raw.kind === "done" ? done(signedCommit(raw.value.content)) : raw;
    });
  }

  /** Why a commit may not be used; undefined when it may. */
  async refuses(
    mirror: Mirror,
    repo: RepoAccess,
    source: Source,
    commit: string,
    wanted: Integrity,
  ): Promise<Failure | undefined> {
    const { mode, keys, since } = wanted;
    const keyring = repo.keyring ?? {};
    const what = (sha: string) => `commit ${sha.slice(0, 12)} of ${redactUrl(repo.url)}`;
    if (keys.length === 0)
      return stop(
        SIGNATURE.policy,
        `project ${wanted.project} demands signed commits of ${redactUrl(repo.url)} and names no keys`,
      );
    const tags = mirror.lastRefs?.annotated ?? {};
    const tag = mirror.lastRefs && namedTag(mirror.lastRefs, source.targetRevision, source.tagPrefix);
    const annotated =
      tag !== undefined && Object.hasOwn(tags, tag) && mirror.lastRefs?.tags[tag] === commit ? tag : undefined;
    if (annotated !== undefined) {
      // A request for a tag gets what the tag's author signed.
      const verdict = await this.#tag(mirror, repo, tags[annotated]!, commit, keyring);
      if (verdict.kind !== "done") return verdict;
      const refused = refusal(verdict.value, `tag ${annotated} of ${redactUrl(repo.url)}`, wanted, keyring);
      if (refused) return refused;
    } else {
      const verdict = await this.of(mirror, commit, keyring);
      if (verdict.kind !== "done") return verdict;
      const refused = refusal(verdict.value, what(commit), wanted, keyring);
      if (refused && !(await this.#byTag(mirror, repo, commit, wanted, keyring))) return refused;
    }
    if (mode !== "strict" || !since || since === commit) return undefined;

    // All that came since the last sync, so that nothing unsigned comes in under a signed commit.
    const between = await this.#history.between(repo, since, commit, MAX_COMMITS);
    if (between.kind !== "done") return between;
    const todo = between.value.filter((sha) => sha !== commit || annotated !== undefined);
    let first: Failure | undefined;
    const next = async (): Promise<void> => {
      for (let sha = todo.shift(); sha !== undefined && !first; sha = todo.shift()) {
        const at = sha;
        const verdict = await this.#judge(at, keyring, async () => {
          const raw = await this.#history.raw(repo, at);
          return raw.kind === "done" ? done(signedCommit(raw.value)) : raw;
        });
        const refused = verdict.kind === "done" ? refusal(verdict.value, what(at), wanted, keyring) : verdict;
        first ??= refused;
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, next));
    return first;
  }

  /** A signed tag at a commit vouches for it too. */
  async #byTag(
    mirror: Mirror,
    repo: RepoAccess,
    commit: string,
    wanted: Integrity,
    keyring: Keyring,
  ): Promise<boolean> {
    const { annotated = {}, tags = {} } = mirror.lastRefs ?? {};
    const at = Object.keys(annotated).filter((name) => tags[name] === commit);
    for (const name of at.slice(0, MAX_TAGS)) {
      const verdict = await this.#tag(mirror, repo, annotated[name]!, commit, keyring);
      if (verdict.kind === "done" && !refusal(verdict.value, name, wanted, keyring)) return true;
    }
    return false;
  }

  #tag(mirror: Mirror, repo: RepoAccess, tag: string, commit: string, keyring: Keyring): Promise<Outcome<Verdict>> {
    return this.#judge(`${tag}:${commit}`, keyring, async () => {
      const raw = await mirror.tag(repo, tag);
      if (raw.kind !== "done") return raw;
      // A tag of a tag says nothing of the commit.
      const direct = raw.value.toString("latin1").startsWith(`object ${commit}\ntype commit\n`);
      return done(direct ? signedTag(raw.value) : undefined);
    });
  }

  async #judge(
    id: string,
    keyring: Keyring,
    read: () => Promise<Outcome<Parameters<Verifier["verify"]>[0]>>,
  ): Promise<Outcome<Verdict>> {
    const key = digest([id, keyring]);
    const kept = this.#kept.get(key);
    if (kept && Date.now() - kept.at < KEPT_MS) return done(kept.verdict);
    const signed = await read();
    if (signed.kind !== "done") return signed;
    const verdict = await this.#verifier.verify(signed.value, keyring);
    if (verdict.kind !== "done") return verdict;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    this.#kept.set(key, { verdict: verdict.value, at: Date.now() });
    return verdict;
  }
}

/** Why a signature does not do, and what to do about it; undefined when it does. */
function refusal(
  { state, signer = "", keys }: Verdict,
  what: string,
  { keys: permitted, project }: Integrity,
  keyring: Keyring,
): Failure | undefined {
  const id = keys[0]?.slice(-16) ?? "";
  const names = permitted.map((key) => key.toUpperCase());
  const allowed = keys.some((key) => names.some((name) => name.length >= 16 && key.endsWith(name)));
  if (state === "Good" && allowed) return undefined;
  const by = signer && signer !== id ? `${id} (${signer})` : id;
  const missing = names.filter(
    (name) => !Object.keys(keyring).some((key) => name.endsWith(key.toUpperCase()) || key.toUpperCase().endsWith(name)),
  );
  const absent = missing.length
    ? `; of the keys it names ${missing.slice(0, 3).join(", ")} is not in argocd-gpg-keys-cm`
    : "";
  switch (state) {
    case "Good":
      return stop(
        SIGNATURE.notPermitted,
        `${what} is signed by key ${by}, which project ${project} does not permit; add the key to its policy, or sign with one that is there`,
      );
    case "None":
      return stop(
        SIGNATURE.missing,
        `${what} has no GnuPG signature, and project ${project} demands one${absent}; sign it (git commit -S), or change the project's sourceIntegrity`,
      );
    case "Bad":
      return stop(
        SIGNATURE.bad,
        `${what} has a signature that does not fit it: it was changed after it was signed, or the signature is damaged`,
      );
    case "UnknownKey":
      return stop(
        SIGNATURE.unknownKey,
        `${what} is signed by key ${id}, which is not in argocd-gpg-keys-cm; add its public key if it is to be trusted`,
      );
    case "ExpiredKey":
      return stop(
        SIGNATURE.expiredKey,
        `${what} is signed by key ${by}, which has expired; prolong the key and add it again, or sign with another one`,
      );
    case "ExpiredSignature":
      return stop(SIGNATURE.expired, `${what} has a signature by key ${by} that has expired; sign it again`);
    case "RevokedKey":
      return stop(
        SIGNATURE.revokedKey,
        `${what} is signed by key ${by}, which has been revoked; sign with another one and take this one out of the policy`,
      );
  }
}
