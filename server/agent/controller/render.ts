import { type Outcome, stop } from "../../base/outcome.ts";
import type { KubeClient } from "../../kube/client.ts";
import { gvkOf } from "../../kube/object.ts";
import { instanceOf } from "../project/instance.ts";
import { chainOf, type Project, refusesSource } from "../project/project.ts";
import { tenantOf } from "../project/tenant.ts";
import type { Freshness, Keyring, Rendered, RenderRequest, RepoAccess, Source } from "../repo/types.ts";
import { type Application, META } from "./application.ts";
import { looksUp, renderReading, versionsOf } from "./cluster/lookup.ts";
import { type Normalised, normalise } from "./compare/normalise.ts";
import { integrityOf } from "./config/integrity.ts";
import type { Repositories } from "./config/repositories.ts";
import { inherited } from "./config/tenancy.ts";
import type { Deps } from "./deps.ts";
import type { Destination } from "./destination.ts";
import { projectOf } from "./projects.ts";

/** The application whose objects are asked for, and where they go. */
interface Asking {
  deps: Deps;
  app: Application;
  destination: Destination;
}

export interface Question {
  sources: readonly Source[];
  freshness: Freshness;
  /** The caller's key of the content that it already has. */
  key?: string | undefined;
  /** The commits that a look a moment ago has found. */
  revisions?: readonly string[] | undefined;
  /** The age of the request. */
  sinceMs?: number;
  /** Finds the access to a repository. */
  access?: Pick<Repositories, "find" | "charts">;
}

/**
 * Asks the repo server for an application's objects, for the cluster they go to. The sources may be those of an operation, of a status or of a
 * deletion, which the application's author chooses too: the project is asked of them here, where all pass.
 */
export async function render(asking: Asking, question: Question): Promise<Outcome<Rendered>> {
  const { deps, app, destination } = asking;
  const project = deps.projects.of(app);
  if (project.kind !== "done") return project;
  const [refused] = question.sources.flatMap(({ repoURL }) => refusesSource(project.value, repoURL) ?? []);
  if (refused) return stop(refused.reason, refused.message);
  const request = await requestFor(asking, question);
  return looksUp(app) ? renderReading(deps, app, destination, request) : deps.repo.render(request);
}

/** The question to the repo server. */
export async function requestFor({ deps, app, destination }: Asking, question: Question): Promise<RenderRequest> {
  const { sources, freshness, key, revisions, sinceMs, access = deps.repositories } = question;
  if (destination.version === undefined) {
    const version = await destination.client.json<{ gitVersion: string }>("GET", "/version");
    if (version.kind === "done") destination.version = version.value.gitVersion;
  }
  const [project, tenant] = [projectOf(app), tenantOf(app)];
  const rules = deps.projects.of(app);
  return {
    app: { name: instanceOf(app, deps.namespace), namespace: deps.namespace, project, ...(tenant ? { tenant } : {}) },
    namespace: app.spec.destination.namespace ?? "",
    sources: sources.map((source, i) => {
      const commit = revisions?.[i];
      const integrity = integrityOf(deps, app, source, i);
      const found = within(
        access.find(source.repoURL, project, tenant),
        rules.kind === "done" ? lendingTo(rules.value) : [],
      );
      return {
        source,
        repo: integrity ? withKeys(found, deps.repositories.keyringOf(tenant)) : found,
        ...(integrity ? { integrity } : {}),
        ...(commit && COMMIT.test(commit) && !source.chart ? { commit } : {}),
      };
    }),
    // A chart's dependencies are sources too.
    charts: access
      .charts(project, tenant)
      .filter(({ url }) => rules.kind === "done" && !refusesSource(rules.value, url)),
    ...(rules.kind === "done"
      ? { dependencyRepos: chainOf(rules.value).map(({ sourceRepos = [] }) => sourceRepos) }
      : {}),
    freshness,
    sinceMs,
    kubeVersion: destination.version,
    // The list of a cluster's kinds is long, and a new kind would change the cache key of every chart: it is sent only for charts that use it.
    ...(looksUp(app) ? { apiVersions: await versionsOf(destination) } : {}),
    generatePaths: generatePathsOf(app),
    known: key,
  };
}

/** To which repositories a source's credentials may be shown too: as the outermost project says, which no tenant writes. */
export const lendingTo = (project: Project): string[] => chainOf(project).at(-1)!.sourceRepos ?? [];

const generatePathsOf = (app: Application): string[] | undefined =>
  app.metadata.annotations?.[META.generatePaths]
    ?.split(";")
    .map((path) => path.trim())
    .filter(Boolean);

const bounded = new WeakMap<RepoAccess, RepoAccess>();

/** With what the project permits, where the repository's commits lead into others. */
export function within(access: RepoAccess, sourceRepos: readonly string[]): RepoAccess {
  if (!access.submodules) return access;
  const before = bounded.get(access);
  if (before?.sourceRepos === sourceRepos) return before;
  const made = { ...access, sourceRepos };
  bounded.set(access, made);
  return made;
}

// The same copy for all applications of a question, so that it carries the keys once.
const keyed = new WeakMap<RepoAccess, RepoAccess>();

function withKeys(access: RepoAccess, keyring: Keyring): RepoAccess {
  const before = keyed.get(access);
  if (before?.keyring === keyring) return before;
  const made = { ...access, keyring };
  keyed.set(access, made);
  return made;
}

const COMMIT = /^[0-9a-f]{40}$/;

/** The properties of a destination that change the rendered objects: its kinds, and the kinds that are excluded there. */
export type Shape = Pick<Destination, "settings" | "server" | "own" | "tenant" | "application"> & {
  client: { discovery: Pick<KubeClient["discovery"], "find"> };
};

/** The rendered objects as targets, without the kinds that the settings leave out. */
export async function toTargets(
  app: Application,
  shape: Shape,
  rendered: Parameters<typeof normalise>[0],
): Promise<Normalised> {
  const { client, settings, server, own } = shape;
  const objects = inherited(app, shape, rendered);
  const excluded = objects.filter((object) => settings.excludes(gvkOf(object).group, object.kind, server));
  const normalised = await normalise(
    excluded.length ? objects.filter((object) => !excluded.includes(object)) : objects,
    { app: instanceOf(app, own), namespace: app.spec.destination.namespace ?? "", settings },
    (group, version, kind) => client.discovery.find(group, version, kind),
  );
  return {
    ...normalised,
    excluded: excluded.map((object) => `${gvkOf(object).group}/${object.kind} ${object.metadata.name}`),
  };
}
