import { done, type Outcome, stop } from "../../base/outcome.ts";
import { redactUrl } from "../repo/url.ts";
import type { Ask } from "./http.ts";
import { findAll } from "./template/regex.ts";
import { APPSET, type Free } from "./types.ts";
import type { World } from "./world.ts";

export interface Repository {
  organization: string;
  repository: string;
  id: string;
  url: { ssh: string; https: string };
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

/** What a host of repositories is asked; each host has a file of its own. */
export interface Host {
  pulls(settings: Free, ask: Ask): Promise<Outcome<Pull[]>>;
  repositories(settings: Free, ask: Ask): Promise<Outcome<Repository[]>>;
  /** Branches of a repository: all, or the default one. None where it is empty. */
  branches(settings: Free, repository: Repository, all: boolean, ask: Ask): Promise<Outcome<Branch[]>>;
  hasPath(settings: Free, repository: Repository, branch: string, path: string, ask: Ask): Promise<Outcome<boolean>>;
}

/** How to ask a host: the token of its Secret, and whom to trust. The address must be one that may be asked. */
export async function access(
  settings: Free,
  fallback: string,
  world: World,
  header: (token: string) => Record<string, string>,
): Promise<Outcome<Ask>> {
  const api = String(settings.api || fallback);
  const { allowedProviders } = world;
  const plain = (url: string) => url.trim().replace(/(?<!\/)\/+$/, "");
  if (allowedProviders && !allowedProviders.some((one) => plain(one) === plain(api))) {
    return stop(APPSET.params, `scm provider not allowed: ${redactUrl(api)} is not among OUTPOST_SCM_PROVIDERS`);
  }
  const ask: Ask = { insecure: settings.insecure === true };
  if (settings.tokenRef) {
    const token = await world.secret(String(settings.tokenRef.secretName), String(settings.tokenRef.key));
    if (token.kind !== "done") return token;
    ask.headers = header(token.value.reveal().trim());
  }
  if (settings.caRef) {
    const trust = await world.configMap(String(settings.caRef.configMapName));
    if (trust.kind !== "done") return trust;
    ask.ca = trust.value[String(settings.caRef.key)];
    if (!ask.ca) return stop(APPSET.params, `ConfigMap ${settings.caRef.configMapName} has no ${settings.caRef.key}`);
  }
  return done(ask);
}

/** Whether an expression of the user is found in a text. */
export const found = (pattern: string | undefined | null, text: string): boolean => !pattern || findAll(pattern, text).length > 0;

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
