import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { type Application, sourcesOf } from "../../controller/application.ts";
import type { Deps } from "../../controller/deps.ts";
import { type Destination, Destinations } from "../../controller/destination.ts";
import { Projects, place } from "../../controller/projects.ts";
import { render } from "../../controller/render.ts";
import { Settings } from "../../controller/settings.ts";
import { Store } from "../../controller/status/store.ts";
import type { Project } from "../../project/project.ts";
import type { Rendered, Source } from "../../repo/types.ts";
import type { AgentContext } from "../context.ts";
import { repositories } from "../credentials/repository-access.ts";
import { SECRET_TYPE } from "../credentials/secrets.ts";
import { ChartReads, refusedRevision } from "./lookup.ts";
import type { TaskContext } from "./task.ts";

/** An application as its controller sees it, for the time of one question: with the same rules, of the same objects of our namespace. */
export interface ReadOnlyContext {
  deps: Deps;
  app: Application;
  destination: Destination;
  project: Project;
  /** What its charts have read of the cluster. */
  reads: ChartReads;
}

export async function withReadOnlyContext<T>(
  tc: TaskContext,
  app: Application,
  work: (readOnlyContext: ReadOnlyContext) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  if (sourcesOf(app).length === 0) return stop("InvalidSpecError", "the application has no source");
  return withDeps(tc, async (deps, reads) => {
    const placed = await place(deps, app);
    if (placed.kind !== "done") return placed;
    const project = deps.projects.of(app);
    return project.kind === "done"
      ? await work({ deps, app, destination: placed.value, project: project.value, reads })
      : project;
  });
}

/** What a controller of the agent's namespace works with, as it is now, for the time of one question. */
export async function withDeps<T>(
  { ctx, repo, lookup }: TaskContext,
  work: (deps: Deps, reads: ChartReads) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  const { client, namespace } = ctx;
  const [known, rules, clusters] = await Promise.all([
    repositories(ctx),
    rulesOf(ctx),
    client.list(RESOURCES.secret, { namespace, labelSelector: `${SECRET_TYPE}=cluster` }),
  ]);
  if (known.kind !== "done") return known;
  if (rules.kind !== "done") return rules;
  if (clusters.kind !== "done") return clusters;
  const { settings, projects } = rules.value;
  const abort = new AbortController();
  const store = new Store(client, namespace);
  const destinations = new Destinations({
    home: client,
    own: namespace,
    settings,
    namespaces: [],
    application: (instance) => store.get(instance),
    changed: () => undefined,
    signal: abort.signal,
  });
  try {
    destinations.replace(clusters.value.items);
    const reads = new ChartReads();
    const deps: Deps = {
      home: client,
      namespace,
      repo,
      ...(lookup ? { lookup } : {}),
      readAs: reads.as,
      repositories: known.value,
      projects,
      settings,
      destinations,
      store,
      memory: new Map(),
      log: ctx.log,
      now: Date.now,
    };
    return await work(deps, reads);
  } finally {
    abort.abort();
    await destinations.close();
  }
}

/** What holds for all, and the projects of the agent's namespace, as they are now. */
export async function rulesOf({
  client,
  namespace,
}: AgentContext): Promise<Outcome<{ settings: Settings; projects: Projects }>> {
  const [configMaps, listed] = await Promise.all([
    client.list(RESOURCES.configMap, { namespace, labelSelector: "app.kubernetes.io/part-of=argocd" }),
    client.list(RESOURCES.appProject, { namespace }),
  ]);
  if (configMaps.kind !== "done") return configMaps;
  const settings = new Settings();
  settings.replace(configMaps.value.items);
  const projects = new Projects();
  projects.inherit(settings.globalProjects);
  if (listed.kind === "done") projects.replace(listed.value.items);
  else projects.failed(listed);
  return done({ settings, projects });
}

/** What Git describes now; a revision that is asked for is that of the first source. */
export async function desired(
  { deps, app, destination }: ReadOnlyContext,
  revision?: string,
): Promise<Outcome<Rendered>> {
  const refused = refusedRevision(app, revision);
  if (refused) return refused;
  const sources: Source[] = sourcesOf(app).map((source, i) =>
    revision && i === 0 ? { ...source, targetRevision: revision } : source,
  );
  const rendered = await render({ deps, app, destination }, { sources, freshness: "normal" });
  return rendered.kind === "done" ? done(rendered.value) : rendered;
}
