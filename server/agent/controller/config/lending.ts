import type { RepoAccess } from "../../repo/types.ts";
import { isCrooked, redactUrl } from "../../repo/url.ts";

/** The credentials that a template lends to a repository without its own. */
const LENT = [
  "username",
  "password",
  "sshPrivateKey",
  "bearerToken",
  "tlsClientCertData",
  "tlsClientCertKey",
  "githubApp",
  "githubAppPrivateKey",
  "gcpServiceAccountKey",
  "azureWorkloadIdentity",
  "azurePrincipal",
  "azurePrincipalSecret",
] as const;

/** How a repository is reached, as a user names each setting. Credentials go this way, so they are lent only with their template's own. */
const TRANSPORT = {
  proxy: "proxy",
  noProxy: "noProxy",
  insecure: "insecure",
  insecureIgnoreHostKey: "insecureIgnoreHostKey",
  forceHttp: "insecureOciForceHttp",
  forceHttpBasicAuth: "forceHttpBasicAuth",
  knownHosts: "sshKnownHosts",
  ca: "a certificate",
} as const satisfies Partial<Record<keyof RepoAccess, string>>;
const WAYS = Object.keys(TRANSPORT) as (keyof typeof TRANSPORT)[];

export const hasCredentials = (access: RepoAccess | undefined): boolean =>
  access !== undefined && LENT.some((field) => access[field] !== undefined);

/** Why a template's credentials are not lent to a repository; undefined when they are. */
export function withheld(template: RepoAccess, own: RepoAccess | undefined, url: string): string | undefined {
  if (isCrooked(url))
    return `${redactUrl(url)} has ".." or an encoded "/", "." or "%" in its path: write the path plainly`;
  const differing = own ? WAYS.filter((field) => own[field] && own[field] !== template[field]) : [];
  if (differing.length === 0) return undefined;
  const names = differing.map((field) => TRANSPORT[field]).join(", ");
  return `the repository sets ${names} itself, and a template's credentials are sent only the template's own way: remove ${names}, or give the repository its own credentials`;
}

/** A repository with what a template lends: credentials, and the way they go; the rest is the repository's own. */
export function lent(template: RepoAccess, own: RepoAccess | undefined): Omit<RepoAccess, "url"> {
  const fields = hasCredentials(template) ? [...LENT, ...WAYS] : [];
  const ways = Object.fromEntries(WAYS.map((field) => [field, own?.[field] || template[field]]));
  return { ...template, ...own, ...ways, ...Object.fromEntries(fields.map((field) => [field, template[field]])) };
}
