import { isMetadata } from "../../base/address.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { Secret } from "../../base/secret.ts";
import { KubeClient } from "../../kube/client.ts";
import type { KubeConfig } from "../../kube/config.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { Resource } from "../../kube/path.ts";
import { Adoption } from "./adopt.ts";
import type { Application } from "./application.ts";
import { Claims } from "./claims.ts";
import { Live } from "./live.ts";
import { Settings } from "./settings.ts";
import { basicOf, type SignIn, tokenOf } from "./sign-in.ts";
import { skips } from "./skips.ts";
import { appLabel } from "./tracking.ts";

export const IN_CLUSTER = "https://kubernetes.default.svc";

/** One cluster applications go to, and what is known of it. */
export interface Destination {
  id: string;
  server: string;
  name: string;
  /** The agent's own namespace: applications elsewhere are called otherwise. */
  own: string;
  /** The project the cluster is kept for; empty for none. */
  project: string;
  /** Reads, and compares. */
  client: KubeClient;
  /** Writes and deletes: as the account that the project names, or the same as `client`. */
  writer: KubeClient;
  /** Clients of accounts, by name. */
  accounts: Map<string, KubeClient>;
  /** Why the application's project does not permit an object; undefined when it does. */
  refuse?(object: KubeObject, resource?: Resource): string | undefined;
  live: Live;
  /** Takes over what another engine applied there. */
  adoption: Adoption;
  /** What holds for all applications. */
  settings: Settings;
  /** The only namespaces this program may touch there; empty for all. */
  managed: readonly string[];
  /** Whether nothing is to be done there for now, by its Secret's annotation. */
  skipped?: boolean;
  /** Whether objects of the cluster itself may be managed there. */
  clusterWide: boolean;
  /** Aborted when this program is told to end: what waits for something in the cluster waits no longer. */
  ending?: AbortSignal;
  /** Namespaces known to exist. */
  namespaces: Set<string>;
  /** Which application was the first to want an object, by key. */
  claims: Claims;
  version?: string;
}

export interface DestinationsOptions {
  home: KubeClient;
  /** The agent's own namespace. */
  own: string;
  /** None: nothing holds for all. */
  settings?: Settings;
  /** Namespaces of the home cluster this program may look at; empty for all. */
  namespaces: readonly string[];
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

  /** Takes the present set of cluster Secrets; a connection whose Secret changed is made anew. */
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

  /** The cluster an application names. */
  async find({ spec: { destination } }: Application): Promise<Outcome<Destination>> {
    const { server, name } = destination ?? {};
    if (server && name)
      return stop("DestinationInvalid", `application destination can't have both name and server defined: ${name} ${server}`);
    if (!server && !name) return stop("DestinationInvalid", "application destination has neither a server nor a name");
    const found = this.#named({ server, name });
    if (found.length > 1) return stop("DestinationAmbiguous", `there are ${found.length} clusters ${name ?? server}`);
    if (found[0]) return this.#connect(found[0]);
    if (name === "in-cluster" || (server && sameServer(server, IN_CLUSTER)))
      return done(
        this.#destination(
          { id: IN_CLUSTER, server: IN_CLUSTER, name: "in-cluster", project: "", clusterWide: true },
          this.#options.home,
          this.#options.namespaces,
        ),
      );
    return stop("ClusterNotFound", name ? `there are no clusters with this name: ${name}` : `cluster ${server} is not configured`);
  }

  /** The shard that the Secret of an application's cluster names. */
  shardOf({ spec }: Pick<Application, "spec">): number | undefined {
    return this.#named(spec.destination ?? {})[0]?.shard;
  }

  #named({ server, name }: { server?: string | undefined; name?: string | undefined }): ClusterSecret[] {
    return [...this.#secrets.values()].filter((c) => (name ? c.name === name : server !== undefined && sameServer(c.server, server)));
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
    if (cluster.problem) return stop("ClusterSecretInvalid", `the Secret of cluster ${cluster.name} cannot be read: ${cluster.problem}`);
    // A Secret may also describe the home cluster, to give it a name or namespaces.
    const inside = sameServer(cluster.server, IN_CLUSTER);
    const existing = this.#open.get(cluster.id);
    if (existing) return done(existing);
    const client = inside && !cluster.hasCredentials ? this.#options.home : new KubeClient(cluster.config!);
    return done(this.#destination(cluster, client, cluster.namespaces));
  }

  #destination(
    {
      id,
      server,
      name,
      project,
      clusterWide,
      skipped,
    }: Pick<Destination, "id" | "server" | "name" | "project" | "clusterWide" | "skipped">,
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

interface ClusterSecret {
  /** Changes with the content, so that a new credential means a new connection. */
  id: string;
  name: string;
  server: string;
  project: string;
  namespaces: string[];
  clusterWide: boolean;
  skipped: boolean;
  shard?: number;
  hasCredentials: boolean;
  config?: KubeConfig;
  problem?: string;
}

function readSecret(secret: KubeObject): ClusterSecret {
  const field = (name: string) =>
    typeof secret.data?.[name] === "string" ? Buffer.from(secret.data[name], "base64").toString("utf8") : "";
  const server = field("server")
    .trim()
    .replace(/(?<!\/)\/+$/, "");
  const cluster: ClusterSecret = {
    id: `${server}#${secret.metadata.uid}/${secret.metadata.resourceVersion}`,
    name: field("name") || server,
    server,
    project: field("project"),
    namespaces: field("namespaces")
      .split(",")
      .map((n) => n.trim())
      .filter(Boolean),
    clusterWide: true,
    skipped: skips(secret),
    hasCredentials: false,
  };
  // Whoever names namespaces means them alone, unless he says otherwise.
  cluster.clusterWide = cluster.namespaces.length === 0 || field("clusterResources") === "true";
  if (/^\d{1,4}$/.test(field("shard").trim())) cluster.shard = Number(field("shard"));
  try {
    const config = JSON.parse(field("config") || "{}") as ClusterConfig;
    const tls = config.tlsClientConfig ?? {};
    const pem = (text?: string) => (text ? Buffer.from(text, "base64").toString("utf8") : undefined);
    const key = pem(tls.keyData);
    const token = tokenOf(config, server);
    const basic = basicOf(config);
    cluster.hasCredentials = Boolean(token || basic || key);
    cluster.config = {
      server: new URL(server).href.replace(/(?<!\/)\/+$/, ""),
      namespace: "default",
      ca: pem(tls.caData),
      cert: pem(tls.certData),
      key: key ? new Secret(key) : undefined,
      insecure: tls.insecure === true,
      serverName: tls.serverName || undefined,
      proxyUrl: config.proxyUrl || undefined,
      token,
      ...(basic ? { basic } : {}),
    };
    const addresses = [cluster.config.server, ...(config.proxyUrl ? [config.proxyUrl] : [])];
    if (addresses.some((address) => isMetadata(new URL(address).hostname))) cluster.problem = "it leads to a refused address";
    // A proxy of another kind would only be seen to be silent.
    if (config.proxyUrl && !/^https?:$/.test(new URL(config.proxyUrl).protocol)) cluster.problem = "its proxyUrl is neither http nor https";
  } catch {
    // The message of the parser would quote the content.
    cluster.problem = "its server is no URL or its config no JSON";
  }
  return cluster;
}

/** The `config` field of a cluster Secret. */
interface ClusterConfig extends SignIn {
  tlsClientConfig?: { insecure?: boolean; serverName?: string; caData?: string; certData?: string; keyData?: string };
}

const sameServer = (a: string, b: string): boolean => a.replace(/(?<!\/)\/+$/, "") === b.replace(/(?<!\/)\/+$/, "");
