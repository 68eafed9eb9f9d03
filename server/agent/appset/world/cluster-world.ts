import { isHomeAddress } from "../../../base/cloud/home-cluster.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { Secret } from "../../../base/secret.ts";
import type { KubeClient } from "../../../kube/client.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES, type Resource } from "../../../kube/path.ts";
import { serves, tenantOf } from "../../project/tenant.ts";
import type { Integrity, RepoAccess, RepoApi } from "../../repo/types.ts";
import { APPSET, type Free, type LabelSelector } from "../types.ts";
import { type Cluster, type GithubApp, repositoryFiles, type World } from "./world.ts";

export interface WorldOptions {
  home: KubeClient;
  namespace: string;
  repo: Pick<RepoApi, "look">;
  /** How to get into a repository. */
  access(url: string, project?: string, tenant?: string): RepoAccess;
  /** Whose set it is, where its scope is below the agent's. */
  tenant?: string | undefined;
  /** What the project of the set's applications demands of a repository's commits. */
  integrity?(url: string, project?: string): Integrity | undefined;
  allowedProviders?: readonly string[];
  /** The Secrets of clusters. */
  clusters(): Iterable<KubeObject>;
}

/** What generators see of the namespace that the set is in, and of the repositories that it knows. */
export function clusterWorld(options: WorldOptions): World {
  const { home, namespace, repo, integrity, allowedProviders, clusters, tenant } = options;
  const access = (url: string, project?: string) => options.access(url, project, tenant);
  // By list, because only that is granted: which Secrets there are is not known before.
  const one = async (resource: Resource, name: string): Promise<Outcome<KubeObject>> => {
    if (!/^[a-z0-9][a-z0-9.-]*$/.test(name))
      return stop(APPSET.params, `${JSON.stringify(name)} is not a name of a ${resource.kind}`);
    const found = await home.list(resource, { namespace, fieldSelector: `metadata.name=${name}` });
    if (found.kind !== "done") return found;
    return found.value.items[0]
      ? done(found.value.items[0])
      : stop(APPSET.params, `there is no ${resource.kind} ${name} in namespace ${namespace}`);
  };
  return {
    tenant,
    clusters: () => [...clusters()].filter((secret) => servesSet(secret, tenant)).map(clusterOf),
    ...repositoryFiles(repo, access, integrity),
    allowedProviders,
    secret: async (name, key, chosen = "set") => {
      const secret = await one(RESOURCES.secret, name);
      if (secret.kind !== "done") return secret;
      const refused = withheld(secret.value) ?? notFor(secret.value, tenant, chosen);
      if (refused) return stop(APPSET.params, refused);
      const value = secret.value.data?.[key];
      if (typeof value !== "string") return stop(APPSET.params, `Secret ${name} has no ${key}`);
      return done(new Secret(Buffer.from(value, "base64").toString("utf8")));
    },
    githubApp: async (name, project) => {
      const secret = await one(RESOURCES.secret, name);
      if (secret.kind !== "done") return secret;
      // Another tenant's entries count as absent.
      if (!serves(tenantOf(secret.value), tenant))
        return stop(APPSET.params, `there is no Secret ${name} in namespace ${namespace}`);
      // A template is lent to what a project permits, and a host lists all that the app sees: in the agent's own scope the project must permit it.
      const lent = typeOf(secret.value) === "repo-creds" && tenantOf(secret.value) !== undefined;
      const refused = lent ? undefined : notFor(secret.value, tenant, "set");
      return refused ? stop(APPSET.params, refused) : appOf(secret.value, project);
    },
    configMap: async (name) => {
      const found = await one(RESOURCES.configMap, name);
      if (found.kind !== "done") return found;
      // It names a plugin with its token, or whom to trust.
      const refused = notFor(found.value, tenant, "set");
      return refused ? stop(APPSET.params, refused) : done((found.value.data ?? {}) as Record<string, string>);
    },
    objects: (apiVersion, plural, which) => objectsOf(home, namespace, apiVersion, plural, which),
    origins: async (name) => {
      const secret = await one(RESOURCES.secret, name);
      return secret.kind === "done" ? done(originsOf(secret.value)) : secret;
    },
  };
}

/**
 * Why a Secret is no token for a set. The set's author chooses where its token is sent: with the agent's identity, or the credentials of a
 * repository or cluster, the author would get credentials that the service keeps unreadable.
 */
export function withheld({ metadata, type }: KubeObject): string | undefined {
  const kind = typeOf({ metadata });
  if (kind === "scm-creds") return undefined;
  const own = metadata.name.startsWith("outpost-agent") || metadata.labels?.["outpost.dev/managed"] === "true";
  if (!own && kind === undefined && (type === undefined || type === "Opaque")) return undefined;
  const plain = own ? "what the agent itself needs" : `a secret of type ${type}`;
  const what = kind ? `the credentials of a ${kind}` : plain;
  return `Secret ${metadata.name} holds ${what} and is not sent to a host: put the token into a Secret of its own, labelled argocd.argoproj.io/secret-type: scm-creds`;
}

/** Names the tenants whose sets may send a Secret's tokens to hosts: `ORG/-`, `ORG/PROJECT`, with commas between them, or `*`. */
export const FOR_TENANTS = "outpost.dev/tenants";

/** Why a tenant's set may not use a Secret or ConfigMap of the agent's namespace: the set says where the token goes. */
function notFor(
  { kind = "Secret", metadata }: KubeObject,
  tenant: string | undefined,
  chosen: "set" | "operator",
): string | undefined {
  if (tenant === undefined || chosen === "operator") return undefined;
  const listed = (metadata.annotations?.[FOR_TENANTS] ?? "").split(",").map((one) => one.trim());
  if (listed.some((one) => one === "*" || (one !== "" && serves(one, tenant)))) return undefined;
  return `${kind} ${metadata.name} is not for sets of ${tenant}: ask the agent's operator to name this scope in its annotation ${FOR_TENANTS}`;
}

/** A tenant's Secret that claims to be the agent's own cluster is no cluster at all. */
function servesSet(secret: KubeObject, tenant: string | undefined): boolean {
  const owner = tenantOf(secret);
  return serves(owner, tenant) && !(owner !== undefined && isHomeAddress(fieldsOf(secret)("server"), process.env));
}

/**
 * The GitHub App that a Secret holds, as credentials of repositories do. Its key goes nowhere, and what it is good for only to the app's own
 * address; an entry for a project serves that one's applications only.
 */
export function appOf(secret: KubeObject, project: string | undefined): Outcome<GithubApp> {
  const { name } = secret.metadata;
  const refused = typeOf(secret) === "repo-creds" ? undefined : withheld(secret);
  if (refused) return stop(APPSET.params, refused);
  const field = fieldsOf(secret);
  const [id, key, own] = [field("githubAppID").trim(), field("githubAppPrivateKey"), field("project").trim()];
  if (!id || !key)
    return stop(APPSET.params, `Secret ${name} holds no GitHub App: it needs githubAppID and githubAppPrivateKey`);
  if (own && own !== project)
    return stop(APPSET.params, `Secret ${name} is kept for project ${own}: the set's template must name that project`);
  const [installationId, baseUrl] = [
    field("githubAppInstallationID").trim(),
    field("githubAppEnterpriseBaseUrl").trim(),
  ];
  const githubApp = { id, ...(installationId ? { installationId } : {}), ...(baseUrl ? { baseUrl } : {}) };
  return done({ githubApp, githubAppPrivateKey: new Secret(key) });
}

const typeOf = ({ metadata }: Pick<KubeObject, "metadata">): string | undefined =>
  metadata.labels?.["argocd.argoproj.io/secret-type"];

const fieldsOf =
  ({ data }: KubeObject) =>
  (name: string): string =>
    typeof data?.[name] === "string" ? Buffer.from(data[name], "base64").toString("utf8") : "";

async function objectsOf(
  home: KubeClient,
  namespace: string,
  apiVersion: string,
  plural: string,
  { name, selector }: { name?: string; selector?: LabelSelector },
): Promise<Outcome<Free[]>> {
  const [group, version] = apiVersion.includes("/") ? (apiVersion.split("/") as [string, string]) : ["", apiVersion];
  const resource: Resource = { group, version, kind: plural, plural, namespaced: true };
  const words = [
    ...Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`),
    ...(selector?.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
      if (operator === "Exists") return key;
      if (operator === "DoesNotExist") return `!${key}`;
      return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
    }),
  ];
  const found = await home.list(resource, {
    namespace,
    labelSelector: words.join(",") || undefined,
    fieldSelector: name ? `metadata.name=${name}` : undefined,
  });
  return found.kind === "done" ? done(found.value.items) : found;
}

/** Annotation of a token's Secret: the origins that it may be sent to, with blanks between them. */
export const ORIGINS = "outpost.dev/origins";

export const originsOf = ({ metadata }: Pick<KubeObject, "metadata">): string[] | undefined =>
  metadata.annotations?.[ORIGINS]?.split(/[\s,]+/).flatMap((one) => URL.parse(one)?.origin ?? []);

// In these, tools keep a copy of the whole object: kubectl, kapp, Rancher, and the operators of Banzai.
const COPIES: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  "kapp.k14s.io/original",
  "kapp.k14s.io/original-diff",
  "kapp.k14s.io/original-diff-full",
  "objectset.rio.cattle.io/applied",
  "banzaicloud.com/last-applied",
]);

function clusterOf(secret: KubeObject): Cluster {
  const field = fieldsOf(secret);
  const { labels } = secret.metadata;
  const annotations = Object.fromEntries(
    Object.entries(secret.metadata.annotations ?? {}).filter(([key]) => !COPIES.has(key)),
  );
  return {
    name: field("name") || field("server"),
    server: field("server"),
    project: field("project"),
    labels,
    annotations,
  };
}
