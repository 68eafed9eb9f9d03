import { digest } from "../../../base/json/canonical.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { distance, serves, tenantOf } from "../../project/tenant.ts";
import { type Keyring, REPO, type RepoAccess } from "../../repo/types.ts";
import { identityOf, normaliseUrl, redactUrl } from "../../repo/url.ts";
import { hasCredentials, lent, withheld } from "./lending.ts";
import { beginsWith, normalisePrefix, type Stored, stored } from "./repository-secret.ts";
import { Trust } from "./trust.ts";

// A submodule has few possible URLs; a request to the repo server is limited to 4 MB.
const MAX_WAYS = 200;

/** Whose application, set or repository asks. */
interface Asker {
  /** The AppProject. */
  project?: string | undefined;
  /** The scope below the agent's; undefined for the agent's own. */
  tenant?: string | undefined;
}

/**
 * Repository credentials of the agent's namespace. Only what serves the asker's scope counts: a tenant's own, and those of the scopes above.
 * The exact address comes first, else the template with the longest matching prefix; the nearest scope comes before those above it.
 */
export class Repositories {
  #repositories: Stored[] = [];
  #templates: Stored[] = [];
  readonly #trust = new Trust();

  replaceRepositories(secrets: readonly KubeObject[]): void {
    this.#repositories = secrets.map((secret) => stored(secret, normaliseUrl)).sort(byName);
  }

  replaceTemplates(secrets: readonly KubeObject[]): void {
    this.#templates = secrets.map((secret) => stored(secret, normalisePrefix)).sort(byName);
  }

  /** True when the keys by which commits are judged are others now. */
  replaceTrust(configMaps: readonly KubeObject[]): boolean {
    return this.#trust.replace(configMaps);
  }

  /** Public keys of those who sign commits, by their ids, as the agent's own scope trusts them. */
  get keyring(): Keyring {
    return this.keyringOf(undefined);
  }

  /** The same as a tenant trusts them. */
  keyringOf(tenant: string | undefined): Keyring {
    return this.#trust.keyring(tenant).keyring;
  }

  /** Another one for each set of keys. */
  keyringDigestOf(tenant: string | undefined): string {
    return this.#trust.keyring(tenant).digest;
  }

  /** Chart repositories and registries: the only places that a chart's dependencies may come from. */
  charts(project?: string, tenant?: string): RepoAccess[] {
    const asker = { project, tenant };
    const isChart = ({ access: { type, url } }: Stored) => url !== "" && (type === "helm" || type === "oci");
    return this.#serving(asker)
      .filter(isChart)
      .map(({ access: { url, name } }) => ({ ...this.find(url, project, tenant), name }));
  }

  /** The access to a repository; without a Secret it counts as public. A Secret for one AppProject serves that project only. */
  find(url: string, project?: string, tenant?: string): RepoAccess {
    const asker = { project, tenant };
    const normal = normaliseUrl(url);
    const own = nearest(
      this.#repositories.filter((one) => one.normal === normal && mayUse(one, asker)),
      tenant,
    );
    return own.twice ? ambiguous("repositories", own.twice, url) : this.#complete(own.one, url, asker);
  }

  /** The access to a repository according to its own Secret. */
  of(secret: KubeObject): RepoAccess {
    const own = stored(secret, normaliseUrl);
    const { url, project } = own.access;
    const same = this.#repositories.filter(
      (one) => one.normal === own.normal && one.tenant === own.tenant && one.access.project === project,
    );
    const { twice } = nearest(same, own.tenant);
    return twice
      ? ambiguous("repositories", twice, url)
      : this.#complete(own, url, { project, tenant: tenantOf(secret) });
  }

  /** All that serves an asker, the nearest scope first. */
  #serving(asker: Asker): Stored[] {
    const serving = [...this.#repositories, ...this.#templates].filter((one) => mayUse(one, asker));
    return serving.sort((a, b) => distance(a.tenant, asker.tenant) - distance(b.tenant, asker.tenant));
  }

  #ways(asker: Asker): RepoAccess[] {
    const git = this.#serving(asker).filter(({ access: { type, url } }) => url !== "" && (type ?? "git") === "git");
    const ways = git.slice(0, MAX_WAYS).map((one) => this.#complete(one, one.access.url, asker, true));
    return ways.filter(({ refused }) => !refused);
  }

  #complete(own: Stored | undefined, url: string, asker: Asker, nested = false): RepoAccess {
    const normal = normaliseUrl(url);
    const fits = (one: Stored) => beginsWith(normal, one.normal) && mayUse(one, asker);
    const template = hasCredentials(own?.access) ? {} : nearest(this.#templates.filter(fits), asker.tenant);
    if (template.twice) return ambiguous("credential templates", template.twice, url);
    const from = template.one;
    const lends = from !== undefined && hasCredentials(from.access);
    const why = lends ? withheld(from.access, own?.access, url) : undefined;
    if (why) return { url, refused: { reason: REPO.notLent, message: why } };
    const access: RepoAccess = { ...(from ? lent(from.access, own?.access) : own?.access), url };
    if (lends) access.lentBelow = from.access.url;
    const owner = lends ? from : own;
    if (access.azureWorkloadIdentity && owner?.tenant !== undefined) return { url, refused: agentIdentity(url) };
    const keeper = hasCredentials(access) ? owner?.tenant : asker.tenant;
    if (keeper !== asker.tenant) access.borrowed = true;
    this.#secure(access, keeper);
    // Once is enough: an entry for the submodule's own address adds nothing.
    if (access.submodules && !nested) access.ways = this.#ways(asker);
    return access;
  }

  /** Credentials are shown to hosts that their own scope trusts: a tenant's certificate must not open another's password. */
  #secure(access: RepoAccess, scope: string | undefined): void {
    const hosts = [access.knownHosts, this.#trust.knownHosts(scope)].filter(Boolean).join("\n");
    const ca = this.#trust.certificate(scope, access.url);
    if (hosts) access.knownHosts = hosts;
    if (ca) access.ca = ca;
    const [usualHosts, usualCa] = [this.#trust.knownHosts(undefined), this.#trust.certificate(undefined, access.url)];
    if (hosts !== usualHosts || ca !== usualCa) access.trust = digest([hosts, ca ?? ""]);
  }
}

const byName = (a: Stored, b: Stored): number => (a.secret < b.secret ? -1 : Number(a.secret > b.secret));

const mayUse = ({ tenant: owner, access }: Stored, { project, tenant }: Asker): boolean =>
  (!access.project || access.project === project) && serves(owner, tenant);

/** The entry that counts: of the nearest scope, with the longest address, one for the caller's project before one for all. */
function nearest(all: readonly Stored[], tenant: string | undefined): { one?: Stored; twice?: Stored[] } {
  const rank = (one: Stored) => [distance(one.tenant, tenant), -one.normal.length, one.access.project ? 0 : 1] as const;
  const compare = (a: Stored, b: Stored) => {
    const [left, right] = [rank(a), rank(b)];
    return left[0] - right[0] || left[1] - right[1] || left[2] - right[2];
  };
  const [one, ...others] = [...all].sort(compare);
  if (!one) return {};
  const same = others.filter((other) => compare(one, other) === 0);
  // Two equal entries count as one.
  const differing = same.filter((other) => wayOf(other.access) !== wayOf(one.access));
  return differing.length ? { twice: [one, ...same] } : { one };
}

const wayOf = (access: RepoAccess): string => digest([...identityOf({ ...access, url: "" }), access.knownHosts ?? ""]);

function ambiguous(what: string, all: readonly Stored[], url: string): RepoAccess {
  const names = all.map(({ secret }) => secret).join(", ");
  const message = `${redactUrl(url)} has ${all.length} different ${what} of one scope (Secrets ${names}): keep one of them`;
  return { url, refused: { reason: REPO.ambiguous, message } };
}

const agentIdentity = (url: string) => ({
  reason: REPO.notLent,
  message: `${redactUrl(url)}: the repo server's own identity in Azure belongs to the agent's scope; give the repository credentials of its own`,
});
