import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { redactUrl } from "../../repo/url.ts";
import { findAll } from "../template/sprig/regex.ts";
import { APPSET, type Free } from "../types.ts";
import { type Ask, HTTP } from "./http.ts";
import type { World } from "./world.ts";

export interface Repository {
  organization: string;
  repository: string;
  /** A whole number where the host has one. */
  id: string | bigint;
  /** What the host calls it in its addresses, where that is not its name. */
  slug?: string;
  /** Where it is cloned from, by protocol. */
  url: { ssh: string; https: string; "https-fips"?: string | undefined };
  defaultBranch: string;
  labels: string[];
}
export interface Branch {
  name: string;
  sha: string;
}
export interface Pull {
  number: number;
  title: string;
  branch: string;
  target: string;
  sha: string;
  labels: string[];
  author: string;
}

/** What a host of repositories is asked; each host has a file of its own. `api` is always among the settings. */
export interface Browse {
  repositories(settings: Free, ask: Ask): Promise<Outcome<Repository[]>>;
  /** Branches of a repository: all, or the default one. None where it is empty. */
  branches(settings: Free, repository: Repository, all: boolean, ask: Ask): Promise<Outcome<Branch[]>>;
  hasPath(
    settings: Free,
    file: { repository: Repository; branch: Branch; path: string },
    ask: Ask,
  ): Promise<Outcome<boolean>>;
}
export interface Review {
  pulls(settings: Free, ask: Ask): Promise<Outcome<Pull[]>>;
}
export type Host = Browse & Review;

/** Who asks a host for what a set says. */
export interface Asker {
  world: World;
  /** The project that the set's applications belong to, where one is named. */
  project?: string;
}

/** A host, where it is, and how one signs in there. */
export interface Provider<H> {
  host: H;
  /** The default, or the function that computes it from the user's settings. */
  api: string | ((settings: Free, asker: Asker) => Promise<Outcome<string>>);
  signIn(settings: Free, asker: Asker): Promise<Outcome<SignedIn>>;
}
/** `identity`: as the agent itself or as an app, and not by what the set's author could read. Then he does not say whose certificate is good either. */
export type SignedIn = Pick<Ask, "headers" | "sign"> & { identity?: true };

/** How to ask a host: its address, sign-in and trusted certificates. The address must be a permitted one. */
export async function access(
  given: Free,
  { api, signIn }: Provider<unknown>,
  asker: Asker,
): Promise<Outcome<{ settings: Free; ask: Ask }>> {
  const { world } = asker;
  const at = typeof api === "string" ? done(String(given.api || api)) : await api(given, asker);
  if (at.kind !== "done") return at;
  const { allowedProviders } = world;
  const plain = (url: string) => url.trim().replace(/(?<!\/)\/+$/, "");
  if (allowedProviders && !allowedProviders.some((one) => plain(one) === plain(at.value))) {
    return stop(APPSET.params, `scm provider not allowed: ${redactUrl(at.value)} is not among OUTPOST_SCM_PROVIDERS`);
  }
  const settings = { ...given, api: at.value };
  const bound = await boundTo(settings, world, typeof api === "string" && !given.api);
  if (bound.kind !== "done") return bound;
  const signed = await signIn(settings, asker);
  if (signed.kind !== "done") return signed;
  const { identity: own, ...headers } = signed.value;
  const identity = own || bound.value;
  const ask: Ask = { insecure: given.insecure === true && !identity, ...headers };
  if (given.caRef && !identity) {
    const trust = await world.configMap(String(given.caRef.configMapName));
    if (trust.kind !== "done") return trust;
    ask.ca = trust.value[String(given.caRef.key)];
    if (!ask.ca) return stop(APPSET.params, `ConfigMap ${given.caRef.configMapName} has no ${given.caRef.key}`);
  }
  return done({ settings, ask });
}

/**
 * Whether the token's Secret names the origins that it may be sent to. The author of a set chooses the Secret and the address: he must not
 * get the token by naming a host of his own, and then does not say whose certificate is good either. A tenant's set sends a token whose
 * Secret names no origins to the host's own address (`usual`) and nowhere else: to use a token is not to read it.
 */
async function boundTo(
  { api, tokenRef, accessTokenRef, bearerToken, basicAuth, appPasswordRef }: Free,
  world: World,
  usual: boolean,
): Promise<Outcome<boolean>> {
  let bound = false;
  for (const ref of [tokenRef, accessTokenRef, bearerToken?.tokenRef, basicAuth?.passwordRef, appPasswordRef]) {
    if (!ref?.secretName || !world.origins) continue;
    const origins = await world.origins(String(ref.secretName));
    if (origins.kind !== "done") return origins;
    if (!origins.value && world.tenant === undefined) continue;
    bound = true;
    if (!origins.value && usual) continue;
    if (!origins.value)
      return stop(
        APPSET.params,
        `the token of Secret ${ref.secretName} is not sent to ${redactUrl(String(api))}: ask the agent's operator to name this origin in its annotation outpost.dev/origins`,
      );
    if (!origins.value.includes(URL.parse(String(api))?.origin ?? ""))
      return stop(
        APPSET.params,
        `the token of Secret ${ref.secretName} is not sent to ${redactUrl(String(api))}: its annotation outpost.dev/origins does not name this origin`,
      );
  }
  return done(bound);
}

export const idOf = (id: unknown): string | bigint =>
  Number.isSafeInteger(id) ? BigInt(id as number) : String(id ?? "");

/** Branches as a host tells them: one without a name or a commit is half an answer. */
export function branchesFrom(
  told: readonly unknown[],
  read: (one: Free) => { name: unknown; sha: unknown },
): Outcome<Branch[]> {
  const all = told.map((one) => read((one ?? {}) as Free));
  const whole = all.every(
    ({ name, sha }) => typeof name === "string" && name !== "" && typeof sha === "string" && sha !== "",
  );
  return whole ? done(all as Branch[]) : stop(HTTP.refused, "the host told of a branch without its name or its commit");
}

/** Reads expressions of the user: a malformed one must be an error, and not look like one that matches nothing. */
export function readAll(patterns: readonly (string | undefined | null)[]): void {
  for (const pattern of patterns) if (pattern) findAll(pattern, "");
}

/** Whether an expression of the user is found in a text. */
export const found = (pattern: string | undefined | null, text: string): boolean =>
  !pattern || findAll(pattern, text).length > 0;

const SLUG_LENGTH = 50;

/** A branch's name as part of an address, of whole words as far as they fit. */
export function slug(text: string): string {
  const words = text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/["'’]/g, "")
    .replaceAll("&", "and")
    .replaceAll("@", "at")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  if (words.length <= SLUG_LENGTH) return words;
  const at = words.lastIndexOf("-", SLUG_LENGTH);
  return words.slice(0, at >= 0 ? at : SLUG_LENGTH);
}
