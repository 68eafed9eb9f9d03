import { HOME_NAME, HOME_SERVER, isHomeAddress } from "../../base/cloud/home-cluster.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { KubeClient } from "../../kube/client.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { Resource } from "../../kube/path.ts";
import { serves, tenantOf } from "../project/tenant.ts";
import type { Application } from "./application.ts";
import { Adoption } from "./cluster/adopt.ts";
import { Claims } from "./cluster/claims.ts";
import { Live } from "./cluster/live.ts";
import { type ClusterSecret, readSecret } from "./cluster/secret.ts";
import { Settings } from "./settings.ts";
import { appLabel } from "./tracking.ts";

export const IN_CLUSTER = HOME_SERVER;

/** One destination cluster, and what is known of it. */
export interface Destination {
  id: string;
  server: string;
  name: string;
  /** The agent's own namespace: applications elsewhere are called otherwise. */
  own: string;
  /** The project the cluster is kept for; empty for none. */
  project: string;
  /** The tenant that registered the cluster; undefined for the agent's own cluster and for those of the agent's scope. */
  tenant?: string | undefined;
  /** The client for reads and comparisons. */
  client: KubeClient;
  /** The client for writes and deletions: as the account that the project names, or the same as `client`. */
  writer: KubeClient;
  /** Clients of accounts, by name. */
  accounts: Map<string, KubeClient>;
  /** Why the application's project does not permit an object; undefined when it does. */
  refuse?(object: KubeObject, resource?: Resource): string | undefined;
  live: Live;
  /** Takes over the objects that another engine applied there. */
  adoption: Adoption;
  /** The settings for all applications. */
  settings: Settings;
  /** The only namespaces this program may touch there; empty for all. */
  managed: readonly string[];
  /** Whether nothing is to be done there for now, by its Secret's annotation. */
  skipped?: boolean;
  /** Whether objects of the cluster itself may be managed there. */
  clusterWide: boolean;
  /** Aborted when this program ends: waits for the cluster end with it. */
  ending?: AbortSignal;
  /** Namespaces known to exist. */
  namespaces: Set<string>;
  /** Which application was the first to want an object, by key. */
  claims: Claims;
  /** An application by what it is called, or by its label, wherever it deploys to. Where the others are not known, no tenant is told of them. */
  application?: ((instance: string) => Application | undefined) | undefined;
  version?: string;
}

export interface DestinationsOptions {
  home: KubeClient;
  /** The agent's own namespace. */
  own: string;
  /** Undefined: there are no settings for all applications. */
  settings?: Settings;
  /** Namespaces of the home cluster this program may look at; empty for all. */
  namespaces: readonly string[];
  /** The applications that are known, by what they are called. */
  application?: ((instance: string) => Application | undefined) | undefined;
  changed(label: string, destination: string): void;
  corrected?(label: string): void;
  signal: AbortSignal;
  ending?: AbortSignal;
}

/** Clusters by their Secrets (label `argocd.argoproj.io/secret-type: cluster`), opened when the first application needs one. */
export class Destinations {
  readonly #options: DestinationsOptions;
  readonly #settings: Settings;
  readonly #secrets = new Map<string, ClusterSecret>();
  readonly #open = new Map<string, Open>();

  constructor(options: DestinationsOptions) {
    this.#options = options;
    this.#settings = options.settings ?? new Settings();
  }

  /** Takes the present set of cluster Secrets; a connection whose Secret changed is opened again. */
  replace(secrets: readonly KubeObject[]): void {
    this.#secrets.clear();
    for (const secret of secrets) {
      const cluster = readSecret(secret);
      this.#secrets.set(secret.metadata.name, cluster);
    }
    const ids = new Set([IN_CLUSTER, ...[...this.#secrets.values()].map((cluster) => cluster.id)]);
    for (const [id, destination] of this.#open) {
      if (ids.has(id)) continue;
      this.#open.delete(id);
      void closed(destination);
    }
  }

  /**
   * The cluster an application names. The agent's own cluster is never looked up: its name is reserved, and its address always means the
   * agent's own client. Any other name or address is looked up among the clusters that serve the application's tenant.
   */
  async find({
    metadata,
    spec: { destination },
  }: Pick<Application, "metadata" | "spec">): Promise<Outcome<Destination>> {
    const { server, name } = destination ?? {};
    if (server && name)
      return stop(
        "DestinationInvalid",
        `application destination can't have both name and server defined: ${name} ${server}`,
      );
    if (!server && !name) return stop("DestinationInvalid", "application destination has neither a server nor a name");
    if (isHome({ server, name })) return done(this.#home());
    const found = this.#named({ server, name }, tenantOf({ metadata }));
    if (found.length > 1) return stop("DestinationAmbiguous", `there are ${found.length} clusters ${name ?? server}`);
    if (found[0]) return this.#connect(found[0]);
    return stop(
      "ClusterNotFound",
      name ? `there are no clusters with this name: ${name}` : `cluster ${server} is not configured`,
    );
  }

  /** The cluster that one Secret describes, whatever others are called. */
  async of(secret: KubeObject): Promise<Outcome<Destination>> {
    const cluster = this.#secrets.get(secret.metadata.name);
    return cluster
      ? this.#connect(cluster)
      : stop("ClusterNotFound", `there is no cluster Secret ${secret.metadata.name}`);
  }

  /** The shard that the Secret of an application's cluster names. */
  shardOf({ metadata, spec }: Pick<Application, "metadata" | "spec">): number | undefined {
    const destination = spec.destination ?? {};
    return isHome(destination) ? undefined : this.#named(destination, tenantOf({ metadata }))[0]?.shard;
  }

  /** All clusters that are registered, and the agent's own. */
  known(): Pick<Destination, "id" | "server">[] {
    const registered = [...this.#secrets.values()].filter(({ problem, home }) => !problem && !home);
    return [{ id: HOME_SERVER, server: HOME_SERVER }, ...registered];
  }

  /** The cluster that an application names, without a connection to it. */
  idOf({ metadata, spec }: Pick<Application, "metadata" | "spec">): string | undefined {
    const destination = spec.destination ?? {};
    return isHome(destination) ? HOME_SERVER : this.#named(destination, tenantOf({ metadata }))[0]?.id;
  }

  /** Never matches an address across scopes: a tenant's cluster is invisible to other tenants and to the agent's own applications. */
  #named({ server, name }: Place, tenant: string | undefined): ClusterSecret[] {
    const serving = [...this.#secrets.values()].filter((cluster) => serves(cluster.tenant, tenant));
    return serving.filter((c) =>
      name ? c.name === name : !c.home && server !== undefined && sameServer(c.server, server),
    );
  }

  #home(): Destination {
    const home = {
      id: HOME_SERVER,
      server: HOME_SERVER,
      name: HOME_NAME,
      project: "",
      tenant: undefined,
      clusterWide: true,
    };
    return this.#destination(home, this.#options.home, this.#options.namespaces);
  }

  async close(): Promise<void> {
    for (const destination of this.#open.values()) {
      await closed(destination);
    }
    this.#open.clear();
    await this.#settings.judge.close();
  }

  /** The agent's own namespace. */
  get own(): string {
    return this.#options.own;
  }

  get open(): Iterable<Destination> {
    return this.#open.values();
  }

  /** An application is gone: it holds nothing and asks for nothing any more. */
  forget(name: string): void {
    for (const { claims, live, adoption } of this.#open.values()) {
      claims.release(name);
      adoption.forget(name);
      live.forget(appLabel(name));
    }
  }

  async #connect(cluster: ClusterSecret): Promise<Outcome<Destination>> {
    if (cluster.problem)
      return stop("ClusterSecretInvalid", `the Secret of cluster ${cluster.name} cannot be used: ${cluster.problem}`);
    const existing = this.#open.get(cluster.id);
    if (existing) return done(existing);
    // A Secret may also describe the home cluster, to limit the applications that name it to some namespaces.
    const { home } = this.#options;
    const client = cluster.home ? home : new KubeClient(cluster.config!, { tryOnly: home.tryOnly });
    return done(this.#destination(cluster, client, cluster.namespaces));
  }

  #destination(
    {
      id,
      server,
      name,
      project,
      tenant,
      clusterWide,
      skipped,
    }: Pick<Destination, "id" | "server" | "name" | "project" | "tenant" | "clusterWide" | "skipped">,
    client: KubeClient,
    namespaces: readonly string[],
  ): Destination {
    const existing = this.#open.get(id);
    if (existing) return existing;
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, this.#options.signal]);
    const live = new Live({
      client,
      namespaces,
      signal,
      changed: (label) => this.#options.changed(label, id),
      corrected: this.#options.corrected,
    });
    const adoption = new Adoption(client, namespaces, () => this.#settings.tracking);
    const destination: Open = {
      adoption,
      id,
      server,
      name,
      project,
      tenant,
      own: this.#options.own,
      client,
      writer: client,
      accounts: new Map(),
      live,
      settings: this.#settings,
      managed: namespaces,
      clusterWide,
      skipped,
      ending: this.#options.ending,
      namespaces: new Set<string>(),
      claims: new Claims(),
      application: this.#options.application,
      abort,
      owned: client !== this.#options.home,
    };
    this.#open.set(id, destination);
    return destination;
  }
}

type Open = Destination & { abort: AbortController; owned: boolean };

async function closed({ abort, owned, client, accounts }: Open): Promise<void> {
  abort.abort();
  await Promise.all([...accounts.values()].map((account) => account.close()));
  if (owned) await client.close();
}

interface Place {
  server?: string | undefined;
  name?: string | undefined;
}

const isHome = ({ server, name }: Place): boolean =>
  name ? name === HOME_NAME : server !== undefined && isHomeAddress(server, process.env);

const sameServer = (a: string, b: string): boolean => a.replace(/(?<!\/)\/+$/, "") === b.replace(/(?<!\/)\/+$/, "");
