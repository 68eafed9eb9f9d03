import { again, done, type Failure, type Outcome, stop } from "../../base/outcome.ts";
import { KubeClient } from "../../kube/client.ts";
import { KUBE } from "../../kube/errors.ts";
import { describe, gvkOf, type KubeObject, keyOf } from "../../kube/object.ts";
import type { Resource } from "../../kube/path.ts";
import type { Labels } from "../../kube/selector.ts";
import { inherit } from "../project/global.ts";
import { instanceOf } from "../project/instance.ts";
import { listsNamespace } from "../project/namespaces.ts";
import {
  accountFor,
  chainOf,
  DEFAULT_PROJECT,
  type Held,
  type Project,
  readProject,
  refusesApplication,
  refusesObject,
} from "../project/project.ts";
import { serves, sharesWith, sharingOf, tenantOf } from "../project/tenant.ts";
import { type Application, listedOf, META, sourcesOf } from "./application.ts";
import { guardTenant, placeTenant } from "./config/tenancy.ts";
import type { Destination, Destinations } from "./destination.ts";
import type { GlobalProject } from "./settings.ts";
import { appLabel, markOf, ownerOf } from "./tracking.ts";

interface Known {
  text: string;
  project: Project | string;
}

/** The AppProjects of our namespace, each with what it inherits. */
export class Projects {
  #objects: readonly KubeObject[] = [];
  #globals: readonly GlobalProject[] = [];
  #known = new Map<string, Known>();
  #failure: Failure | undefined = again("ProjectsUnknown", "the AppProjects have not been read yet");

  /** The changed projects; all, if none were known before. */
  replace(objects: readonly KubeObject[]): ReadonlySet<string> | "all" {
    const first = this.#failure !== undefined;
    this.#objects = objects;
    this.#failure = undefined;
    const changed = this.#read();
    return first ? "all" : changed;
  }

  /** Which projects others inherit from. */
  inherit(globals: readonly GlobalProject[]): void {
    this.#globals = globals;
    this.#read();
  }

  /** The projects cannot be read: the last known ones stay valid. A cluster without the kind has none; else nothing is permitted meanwhile. */
  failed(failure: Failure): void {
    if (!this.#failure) return;
    if (failure.reason === KUBE.kindNotFound) this.replace([]);
    else this.#failure = failure;
  }

  #find(name: string): Outcome<Project> {
    if (this.#failure) return again(this.#failure.reason, `the AppProjects cannot be read: ${this.#failure.message}`);
    const known = this.#known.get(name)?.project;
    if (typeof known === "string")
      return stop("ProjectInvalid", `AppProject ${name} permits nothing, because it cannot be read: ${known}`);
    if (known) return done(known);
    return stop("ProjectNotFound", `Application referencing project ${name} which does not exist`);
  }

  /** The project of an application, with what limits it; a tenant's application may use only one that serves the tenant. */
  of(app: Application): Outcome<Project> {
    return this.under(projectOf(app), tenantOf(app));
  }

  /** A project for what a tenant asks; without a tenant, for the one that the project belongs to. */
  under(name: string, asking: string | undefined): Outcome<Project> {
    const found = this.#find(name);
    if (found.kind !== "done") return found;
    const tenant = asking ?? found.value.sharing?.owner;
    if (tenant === undefined) return found;
    if (!found.value.sharing || !sharesWith(found.value.sharing, tenant)) return notAllowed(name, tenant);
    return this.#limited(found.value, tenant);
  }

  /** A tenant's own project permits no more than one of the agent's own scope, which the tenant could use as well. */
  #limited(project: Project, tenant: string): Outcome<Project> {
    const { owner, within } = project.sharing!;
    if (owner === undefined) return done(project);
    const found =
      within === undefined ? this.#onlyLimit(project.name, tenant) : this.#namedLimit(project, within, tenant);
    if (found.kind !== "done") return found;
    const limit = this.#limited(found.value, tenant);
    if (limit.kind !== "done") return limit;
    const known = limited.get(project) ?? new WeakMap<Project, Project>();
    limited.set(project, known);
    const whole = known.get(limit.value) ?? { ...project, limit: limit.value };
    known.set(limit.value, whole);
    return done(whole);
  }

  #namedLimit({ name, sharing }: Project, within: string, tenant: string): Outcome<Project> {
    const found = this.#find(within);
    if (found.kind !== "done") return found;
    const above = found.value.sharing;
    const isAbove = above && above.owner !== sharing?.owner && serves(above.owner, sharing?.owner);
    if (isAbove && sharesWith(above, tenant)) return found;
    return stop(
      PROJECT_REFUSED,
      `AppProject ${name} is within AppProject ${within}, which scope ${scopeText(tenant)} may not use: add the scope to its allowedScopes, or name another one in within`,
    );
  }

  /** Without a name, the one project of the agent's own scope that the tenant may use. */
  #onlyLimit(name: string, tenant: string): Outcome<Project> {
    const all = [...this.#known.values()].flatMap(({ project }) => (typeof project === "string" ? [] : [project]));
    const found = all.filter(({ sharing }) => sharing && sharing.owner === undefined && sharesWith(sharing, tenant));
    if (found.length === 1) return done(found[0]!);
    const why = found.length
      ? `scope ${scopeText(tenant)} may use ${found.length} projects of the agent's own scope: name the one that limits it in within`
      : `no project of the agent's own scope says what scope ${scopeText(tenant)} may do: ask the administrator of the agent for one that serves this scope`;
    return stop(PROJECT_REFUSED, `AppProject ${name} permits nothing yet, because ${why}`);
  }

  #read(): Set<string> {
    const own = new Map(this.#objects.map((object) => [object.metadata.name, readShared(object)]));
    const labels = new Map(this.#objects.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
    if (!own.has(DEFAULT_PROJECT.name)) own.set(DEFAULT_PROJECT.name, DEFAULT_PROJECT);
    const before = this.#known;
    this.#known = new Map();
    for (const [name, project] of own) {
      const [whole, text] = written(this.#whole(project, labels.get(name) ?? {}, own));
      const old = before.get(name);
      // An equal project keeps its object identity, so cached answers for it stay valid.
      this.#known.set(name, old?.text === text ? old : { text, project: whole });
    }
    const changed = [...before.keys(), ...own.keys()].filter((name) => before.get(name) !== this.#known.get(name));
    // Any change may concern what limits the projects of tenants.
    return new Set(changed.length ? [...changed, ...this.#ofTenants()] : []);
  }

  #ofTenants(): string[] {
    return [...this.#known].flatMap(([name, { project }]) =>
      typeof project !== "string" && project.sharing?.owner ? [name] : [],
    );
  }

  /** A project with all that it inherits; what a global project says must be known, because it may be a denial. */
  #whole(project: Project | string, labels: Labels, all: ReadonlyMap<string, Project | string>): Project | string {
    let whole = project;
    for (const { projectName, covers } of this.#globals) {
      if (typeof whole === "string") return whole;
      // A project is not its own global project.
      if (projectName === whole.name || !covers(labels)) continue;
      const global = all.get(projectName);
      if (typeof global === "string") return `its global project ${projectName} cannot be read: ${global}`;
      if (global) whole = inherit(whole, global);
    }
    return whole;
  }
}

// By both, so that a cached answer for a pair is valid until one of them changes.
const limited = new WeakMap<Project, WeakMap<Project, Project>>();

export const PROJECT_REFUSED = "ProjectNotAllowed";

function notAllowed(name: string, tenant: string) {
  return stop(
    PROJECT_REFUSED,
    `scope ${scopeText(tenant)} may not use AppProject ${name}: name a project of this scope or of one above, or have its allowedScopes list this scope`,
  );
}

const scopeText = (tenant: string): string => tenant.replace(/\/-$/, "");

/** The tenant whose permissions an application has: a tenant's project always means that tenant, whichever client made the application. */
const tenantUnder = (app: Application, { sharing }: Project): string | undefined => tenantOf(app) ?? sharing?.owner;

function readShared(object: KubeObject): Project | string {
  const project = readProject(object.metadata.name, object.spec);
  return typeof project === "string" ? project : { ...project, sharing: sharingOf(object) };
}

/** A project beside its text; one so deep that it has none must not keep the others from being read. */
function written(project: Project | string): [Project | string, string] {
  try {
    return [project, JSON.stringify(project)];
  } catch {
    const problem = "it is nested too deeply";
    return [problem, problem];
  }
}

const MAX_REMEMBERED = 10_000;

export const projectOf = (app: Application): string => app.spec.project || DEFAULT_PROJECT.name;

interface Places {
  destinations: Destinations;
  projects: Projects;
}

/** Where an application goes and under which restrictions; a refusal is the project's. */
export async function place({ destinations, projects }: Places, app: Application): Promise<Outcome<Destination>> {
  const project = projects.of(app);
  if (project.kind !== "done") return project;
  const outside = refusesPlace(project.value, app, destinations.own);
  if (outside) return outside;
  const found = await destinations.find(app);
  if (found.kind !== "done") return found;
  const { server, name, project: clusterProject } = found.value;
  // Argo CD lets every project use it that permits its address. A set names clusters by parameters, which the service cannot judge.
  if (clusterProject && clusterProject !== projectOf(app) && tenantOf(app) !== undefined)
    return stop(
      "DestinationNotPermitted",
      `cluster ${name} is kept for applications of another project than '${projectOf(app)}'`,
    );
  const to = { server, name, namespace: app.spec.destination.namespace ?? "" };
  // The dry source of a hydrated one counts too: the branch contains only its result.
  const dry = app.spec.sourceHydrator ? [app.spec.sourceHydrator.drySource] : [];
  const urls = [...dry, ...sourcesOf(app)].map(({ repoURL }) => repoURL);
  const refused = refusesApplication(project.value, urls, to, clusterProject);
  if (refused) return stop(refused.reason, refused.message);
  const bound = bind(found.value, project.value, to.namespace, tenantUnder(app, project.value));
  return bound.kind === "done" ? placeTenant(bound.value, app) : bound;
}

/** The destination for a deletion: its sources no longer need to be permitted. */
export async function placeOfDeletion(
  { destinations, projects }: Places,
  app: Application,
): Promise<Outcome<Destination>> {
  const found = await destinations.find(app);
  if (found.kind !== "done") return found;
  const project = projects.of(app);
  if (project.kind !== "done") return project;
  const { namespace = "" } = app.spec.destination;
  const outside = refusesPlace(project.value, app, destinations.own);
  const bound = outside ?? bind(found.value, project.value, namespace, tenantUnder(app, project.value));
  return bound.kind === "done" ? done(guardTenant(bound.value, app)) : bound;
}

export const NAMESPACE_REFUSED = "NamespaceNotPermitted";

/** An application outside the agent's namespace may be under a project only if the project lists that namespace. */
function refusesPlace(project: Project, { metadata }: Application, own: string) {
  const { name, namespace = own } = metadata;
  if (namespace === own) return undefined;
  const refusing = chainOf(project).find(({ sourceNamespaces = [] }) => !listsNamespace(sourceNamespaces, namespace));
  if (!refusing) return undefined;
  return stop(
    NAMESPACE_REFUSED,
    `application '${name}' in namespace '${namespace}' is not permitted to use project '${refusing.name}'`,
  );
}

// By destination and project, so that a change of either makes a new one, and looking again costs nothing.
const bound = new WeakMap<Destination, WeakMap<Project, Map<string, Destination>>>();

/** The destination as the project allows it: a guard for objects, and a client that acts as the project's account. */
function bind(
  destination: Destination,
  project: Project,
  namespace: string,
  tenant: string | undefined,
): Outcome<Destination> {
  const { server, name, settings } = destination;
  const account = accountFor(project, { server, name, namespace }, { impersonation: settings.impersonation, tenant });
  if ("problem" in account) return stop("ServiceAccountNotFound", account.problem);
  if (project === DEFAULT_PROJECT && !account.user) return done(destination);
  const projects = bound.get(destination) ?? new WeakMap<Project, Map<string, Destination>>();
  bound.set(destination, projects);
  const accounts = projects.get(project) ?? new Map<string, Destination>();
  projects.set(project, accounts);
  let made = accounts.get(account.user);
  if (!made) {
    const refuse = remembered((held) => refusesObject(project, { server, name }, held));
    made = { ...destination, writer: account.user ? actingAs(destination, account.user) : destination.client, refuse };
    accounts.set(account.user, made);
  }
  return done(made);
}

/** The same for all objects of a kind in a namespace; only of cluster-wide ones the name counts. */
function remembered(judge: (held: Held) => string | undefined): NonNullable<Destination["refuse"]> {
  const known = new Map<string, string | undefined>();
  return (object, resource) => {
    const held = heldOf(object, resource);
    const key = `${held.group}/${held.kind}/${held.namespaced}/${held.namespaced ? held.namespace : held.name}`;
    if (known.has(key)) return known.get(key);
    const refused = judge(held);
    if (known.size >= MAX_REMEMBERED) known.clear();
    known.set(key, refused);
    return refused;
  };
}

/** One client for each account of a destination; the destination closes them. */
export function actingAs(destination: Destination, user: string): KubeClient {
  let client = destination.accounts.get(user);
  if (!client) {
    const { config, tryOnly } = destination.client;
    client = new KubeClient({ ...config, impersonate: user }, { tryOnly });
    destination.accounts.set(user, client);
  }
  return client;
}

/** Whether a live object is the application's to prune or delete: objects that are not permitted or excluded are not, whatever their marks. */
export function belongs(
  app: Application,
  { refuse, settings, server, own }: Pick<Destination, "refuse" | "settings" | "server" | "own">,
): (object: KubeObject) => boolean {
  const instance = instanceOf(app, own);
  const mark = markOf(instance, settings.tracking);
  const isProven = settings.tracking.method === "label" ? provenOf(app, instance) : () => true;
  return (object) =>
    ownerOf(object, settings.tracking) === mark &&
    isProven(object) &&
    !refuse?.(object) &&
    !settings.excludes(gvkOf(object).group, object.kind, server);
}

/**
 * The instance label is copied to what templates and operators make, and any template may say it. So it counts only beside our own label, which
 * we leave out of templates, or of what the application is known to have: that is how another engine's objects are known.
 */
function provenOf(app: Application, instance: string): (object: KubeObject) => boolean {
  let listed: Set<string> | undefined;
  return (object) => {
    const own = object.metadata.labels?.[META.app];
    if (own !== undefined) return own === appLabel(instance);
    listed ??= listedOf(app);
    return listed.has(keyOf(object));
  };
}

/** Why an object may not be managed on this cluster. */
export function unmanaged(
  { managed, clusterWide }: Destination,
  object: KubeObject,
  resource?: Resource,
): string | undefined {
  const { namespace, name } = object.metadata;
  if (!clusterWide && !(resource?.namespaced ?? namespace))
    return `Cluster level ${object.kind} "${name}" can not be managed when in namespaced mode`;
  if (!namespace || managed.length === 0 || managed.includes(namespace)) return undefined;
  return `Namespace "${namespace}" for ${describe(object)} is not managed`;
}

/** A kind that the cluster does not have yet is judged by whether the object names a namespace, and again when it is there. */
export function heldOf(object: KubeObject, resource?: Resource): Held {
  const { namespace = "", name } = object.metadata;
  const { group, kind } = gvkOf(object);
  return { group, kind, name, namespace, namespaced: resource ? resource.namespaced : namespace !== "" };
}
