import { digest } from "../../base/canonical.ts";
import { Secret } from "../../base/secret.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { Keyring, RepoAccess } from "../repo/types.ts";
import { normaliseUrl } from "../repo/url.ts";

interface Stored {
  access: RepoAccess;
  normal: string;
}

/** What of credentials a template lends to a repository that has none of its own. */
const LENT = [
  "username",
  "password",
  "sshPrivateKey",
  "bearerToken",
  "tlsClientCert",
  "tlsClientKey",
  "githubApp",
  "githubAppPrivateKey",
  "gcpServiceAccountKey",
  "azureWorkloadIdentity",
  "azurePrincipal",
  "azurePrincipalSecret",
] as const;
// A submodule has few places to be at; the question to the repo server takes 4 MB.
const MAX_WAYS = 200;

/** Repository credentials of the agent's namespace: exact address first, else the template with the longest matching prefix. */
export class Repositories {
  #repositories: Stored[] = [];
  #templates: Stored[] = [];
  #knownHosts = "";
  #certificates: Record<string, string> = {};
  #keyring: Keyring = {};
  #keyringDigest = digest({});

  replaceRepositories(secrets: readonly KubeObject[]): void {
    this.#repositories = secrets.map((secret) => stored(secret, normaliseUrl));
  }

  replaceTemplates(secrets: readonly KubeObject[]): void {
    this.#templates = secrets.map((secret) => stored(secret, normalisePrefix)).sort((a, b) => b.normal.length - a.normal.length);
  }

  /** True when the keys by which commits are judged are others now. */
  replaceTrust(configMaps: readonly KubeObject[]): boolean {
    const data = (name: string) => configMaps.find((c) => c.metadata.name === name)?.data ?? {};
    this.#knownHosts = data("argocd-ssh-known-hosts-cm").ssh_known_hosts ?? "";
    this.#certificates = data("argocd-tls-certs-cm");
    const keys = Object.entries(data("argocd-gpg-keys-cm")).filter((entry): entry is [string, string] => typeof entry[1] === "string");
    this.#keyring = Object.fromEntries(keys);
    const before = this.#keyringDigest;
    this.#keyringDigest = digest(this.#keyring);
    return before !== this.#keyringDigest;
  }

  /** Public keys of who signs commits, by their ids. */
  get keyring(): Keyring {
    return this.#keyring;
  }

  /** Another one for each set of keys. */
  get keyringDigest(): string {
    return this.#keyringDigest;
  }

  /** Chart repositories and registries: the only places that a chart's dependencies may come from. */
  charts(project?: string): RepoAccess[] {
    const all = [...this.#repositories, ...this.#templates].map(({ access }) => access);
    const own = all.filter(({ type, url, project: only }) => url && (type === "helm" || type === "oci") && isFor(only, project));
    return own.map(({ url, name }) => ({ ...this.find(url, project), name }));
  }

  /** How to get into a repository; without any Secret it is taken to be public. What is kept for one project is for that one alone. */
  find(url: string, project?: string): RepoAccess {
    const normal = normaliseUrl(url);
    const same = this.#repositories.filter((one) => one.normal === normal && isFor(one.access.project, project));
    // A project's own comes before what is for everybody.
    return this.#complete((same.find(({ access }) => access.project) ?? same[0])?.access, url, project);
  }

  /** How to get into a repository by what its own Secret says. */
  of(secret: KubeObject): RepoAccess {
    const { access } = stored(secret, normaliseUrl);
    return this.#complete(access, access.url, access.project);
  }

  #ways(project: string | undefined): RepoAccess[] {
    const all = [...this.#repositories, ...this.#templates].map(({ access }) => access);
    const git = all.filter(({ type, url, project: only }) => url && (type ?? "git") === "git" && isFor(only, project));
    return git.slice(0, MAX_WAYS).map((access) => this.#complete(access, access.url, project, true));
  }

  #complete(own: RepoAccess | undefined, url: string, project: string | undefined, nested = false): RepoAccess {
    const normal = normaliseUrl(url);
    const fits = ({ normal: prefix, access }: Stored) => prefix !== "" && normal.startsWith(prefix) && isFor(access.project, project);
    const template = hasCredentials(own) ? undefined : this.#templates.find(fits)?.access;
    const access: RepoAccess = { ...template, ...own, ...(template && own ? lent(template, own) : {}), url };
    if (this.#knownHosts && !access.knownHosts) access.knownHosts = this.#knownHosts;
    const certificate = certificateFor(this.#certificates, url);
    if (certificate && !access.ca) access.ca = certificate;
    // Once is enough: what is kept for a submodule's place lends it nothing more.
    if (access.submodules && !nested) access.ways = this.#ways(project);
    return access;
  }
}

const isFor = (only: string | undefined, project: string | undefined): boolean => !only || only === project;

const hasCredentials = (access: RepoAccess | undefined): boolean =>
  access !== undefined && LENT.some((field) => access[field] !== undefined);

/** A template's credentials, and its way there where the repository names none. */
function lent(template: RepoAccess, own: RepoAccess): Partial<RepoAccess> {
  const { proxy, noProxy, forceBasicAuth, insecure, forceHttp } = template;
  return {
    ...Object.fromEntries(LENT.map((field) => [field, template[field]])),
    proxy: own.proxy ?? proxy,
    noProxy: own.noProxy ?? noProxy,
    forceBasicAuth: own.forceBasicAuth || forceBasicAuth,
    insecure: own.insecure || insecure,
    forceHttp: own.forceHttp || forceHttp,
  };
}

/** A certificate for the host with its port comes before one for the host. */
function certificateFor(certificates: Record<string, string>, url: string): string | undefined {
  if (!URL.canParse(url.includes("://") ? url : `oci://${url}`)) return undefined;
  const { host, hostname } = new URL((url.includes("://") ? url : `oci://${url}`).replace(/^oci:/, "https:"));
  const named = [host, hostname].find((name) => Object.hasOwn(certificates, name));
  return named === undefined ? undefined : certificates[named] || undefined;
}

function stored(secret: KubeObject, normalise: (url: string) => string): Stored {
  const field = (name: string): string | undefined => {
    const value = secret.data?.[name];
    return typeof value === "string" && value !== "" ? Buffer.from(value, "base64").toString("utf8") : undefined;
  };
  const hidden = (name: string) => {
    const value = field(name);
    return value === undefined ? undefined : new Secret(value);
  };
  const given = (access: RepoAccess): RepoAccess =>
    Object.fromEntries(Object.entries(access).filter(([, value]) => value !== undefined)) as unknown as RepoAccess;
  const url = field("url")?.trim() ?? "";
  const [app, installation] = [field("githubAppID")?.trim(), field("githubAppInstallationID")?.trim()];
  const depth = Number(field("depth"));
  const [clientId, tenantId] = [field("azureServicePrincipalClientId")?.trim(), field("azureServicePrincipalTenantId")?.trim() ?? ""];
  const authority = field("azureActiveDirectoryEndpoint")?.trim();
  const principal = clientId ? { clientId, tenantId, ...(authority ? { authority } : {}) } : undefined;
  return {
    normal: url && normalise(url),
    access: given({
      url,
      name: field("name"),
      type: field("enableOCI") === "true" ? "oci" : (field("type") as RepoAccess["type"]),
      project: field("project")?.trim(),
      forceHttp: field("insecureOCIForceHttp") === "true",
      username: field("username"),
      password: hidden("password"),
      bearerToken: hidden("bearerToken"),
      sshPrivateKey: hidden("sshPrivateKey"),
      tlsClientCert: field("tlsClientCertData"),
      tlsClientKey: hidden("tlsClientCertKey"),
      githubApp: app ? { id: app, installationId: installation, baseUrl: field("githubAppEnterpriseBaseUrl")?.trim() } : undefined,
      githubAppPrivateKey: hidden("githubAppPrivateKey"),
      gcpServiceAccountKey: hidden("gcpServiceAccountKey"),
      azureWorkloadIdentity: field("useAzureWorkloadIdentity") === "true" || undefined,
      azurePrincipal: principal,
      azurePrincipalSecret: principal && hidden("azureServicePrincipalClientSecret"),
      forceBasicAuth: field("forceHttpBasicAuth") === "true",
      insecure: field("insecure") === "true",
      insecureIgnoreHostKey: field("insecureIgnoreHostKey") === "true",
      proxy: field("proxy"),
      noProxy: field("noProxy"),
      lfs: field("enableLfs") === "true",
      submodules: field("submodules") === "true",
      depth: depth > 0 ? depth : undefined,
    }),
  };
}

/**
 * The beginning of addresses in one spelling. A slash at its end stays, and a host is a whole one: `https://host` does not mean
 * `https://host.example.com`.
 */
export function normalisePrefix(url: string): string {
  const trimmed = url.trim();
  const scp = /^([A-Za-z0-9._-]+)@([A-Za-z0-9][A-Za-z0-9.-]+):(\/*)$/.exec(trimmed);
  if (scp) return `ssh://${scp[1]}@${scp[2]!.toLowerCase()}/`;
  const normal = normaliseUrl(trimmed);
  return /[^/]\/+$/.test(trimmed) && !normal.endsWith("/") ? `${normal}/` : normal;
}
