import { Secret } from "../../base/secret.ts";
import type { KubeObject } from "../kube/object.ts";
import type { RepoAccess } from "../repo/types.ts";
import { normaliseUrl } from "../repo/url.ts";

interface Stored {
  access: RepoAccess;
  normal: string;
}

/** Repository credentials of the agent's namespace: exact address first, else the template with the longest matching prefix. */
export class Repositories {
  #repositories: Stored[] = [];
  #templates: Stored[] = [];
  #knownHosts = "";
  #certificates: Record<string, string> = {};

  replaceRepositories(secrets: readonly KubeObject[]): void {
    this.#repositories = secrets.map(read);
  }

  replaceTemplates(secrets: readonly KubeObject[]): void {
    this.#templates = secrets.map(read).sort((a, b) => b.normal.length - a.normal.length);
  }

  replaceTrust(configMaps: readonly KubeObject[]): void {
    const data = (name: string) => configMaps.find((c) => c.metadata.name === name)?.data ?? {};
    this.#knownHosts = data("argocd-ssh-known-hosts-cm").ssh_known_hosts ?? "";
    this.#certificates = data("argocd-tls-certs-cm");
  }

  /** How to get into a repository; without any Secret it is taken to be public. */
  find(url: string): RepoAccess {
    const normal = normaliseUrl(url);
    const own = this.#repositories.find((r) => r.normal === normal)?.access;
    const template = hasCredentials(own) ? undefined : this.#templates.find((t) => normal.startsWith(t.normal))?.access;
    const access: RepoAccess = { ...template, ...own, ...(template && own ? credentials(template) : {}), url };
    if (this.#knownHosts && !access.knownHosts) access.knownHosts = this.#knownHosts;
    const host = hostOf(url);
    if (host && this.#certificates[host] && !access.ca) access.ca = this.#certificates[host];
    return access;
  }
}

const hasCredentials = (access: RepoAccess | undefined): boolean => Boolean(access?.password || access?.sshPrivateKey || access?.username);
const credentials = ({ username, password, sshPrivateKey }: RepoAccess) => ({ username, password, sshPrivateKey });

function read(secret: KubeObject): Stored {
  const field = (name: string): string | undefined => {
    const value = secret.data?.[name];
    return typeof value === "string" && value !== "" ? Buffer.from(value, "base64").toString("utf8") : undefined;
  };
  const hidden = (name: string) => {
    const value = field(name);
    return value === undefined ? undefined : new Secret(value);
  };
  const url = field("url")?.trim() ?? "";
  return {
    normal: normaliseUrl(url),
    access: {
      url,
      type: field("type") as RepoAccess["type"],
      username: field("username") ?? (field("bearerToken") ? "x-access-token" : undefined),
      password: hidden("password") ?? hidden("bearerToken"),
      sshPrivateKey: hidden("sshPrivateKey"),
      insecure: field("insecure") === "true",
      insecureIgnoreHostKey: field("insecureIgnoreHostKey") === "true",
      proxy: field("proxy"),
      noProxy: field("noProxy"),
    },
  };
}

function hostOf(url: string): string | undefined {
  try {
    return new URL(url).hostname;
  } catch {
    return undefined;
  }
}
