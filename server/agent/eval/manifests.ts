import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { done, type Failure, type Outcome, stop } from "../../base/outcome.ts";
import { describe, type KubeObject } from "../../kube/object.ts";
import { generate } from "../appset/generate.ts";
import { validateSpec } from "../appset/reconcile/validate.ts";
import type { ApplicationSet } from "../appset/types.ts";
import { repositoryFiles, type World } from "../appset/world/world.ts";
import { MemoryCache } from "../cache/memory.ts";
import { type Application, META, sourcesOf } from "../controller/application.ts";
import type { CompareTarget } from "../controller/compare/normalise.ts";
import { validate } from "../controller/config/validate.ts";
import { toTargets } from "../controller/render.ts";
import type { Tracking } from "../controller/tracking.ts";
import { RepoService } from "../repo/service.ts";
import type { Source } from "../repo/types.ts";
import { normaliseUrl } from "../repo/url.ts";
import { type Checkout, checkOut, isBranch, nameHead } from "./checkout.ts";
import { type Asked, type InputFile, readInputs } from "./inputs.ts";
import { type Find, findOffline } from "./scope.ts";

export interface Ask {
  files: readonly InputFile[];
  /** Local folders in place of repositories, by address. */
  folders: Readonly<Record<string, string>>;
  /** The folder of the repository of each application's first source from Git, unless `folders` names it. */
  path?: string;
  /** A revision of those folders; without it their files as they are now. */
  revision?: string;
  kubeVersion?: string;
  apiVersions?: string[];
  /** Where kinds live, if a cluster can tell. */
  find?: Find;
}

export interface RenderedApplication {
  app: Application;
  revisions: string[];
  targets: CompareTarget[];
  /** What the status would tell beside. */
  warnings: string[];
  settings: Asked["settings"];
}

/** Every application of the given manifests, rendered and normalised by the functions that the repo server and the controller call. */
export async function renderManifests(ask: Ask): Promise<Outcome<RenderedApplication[]>> {
  const asked = readInputs(ask.files);
  if (asked.kind !== "done") return asked;
  const folder = await mkdtemp(join(tmpdir(), "outpost-eval-"));
  const door = new RepoService({ folder: join(folder, "repo"), cache: new MemoryCache(), allowLocal: true });
  try {
    await door.start();
    const checkouts = new Checkouts(ask, folder);
    const { applications, sets } = asked.value;
    const all = [...applications];
    for (const set of sets) {
      const made = await applicationsOf(set, asked.value, door, checkouts);
      if (made.kind !== "done") return { ...made, message: `ApplicationSet ${set.metadata.name}: ${made.message}` };
      all.push(...made.value);
    }
    const rendered: RenderedApplication[] = [];
    for (const app of all) {
      const one = await renderOne(ask, asked.value, app, door, checkouts);
      if (one.kind !== "done")
        return { ...one, message: `Application ${app.metadata.name}: ${one.reason}: ${one.message}` };
      rendered.push(one.value);
    }
    return done(rendered);
  } finally {
    door.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The object as it is sent, or without the marks of the application it belongs to. */
export function withoutTracking(object: KubeObject, { method, labelKey }: Tracking): KubeObject {
  const drop = (map: Record<string, string> | undefined, keys: string[]) => {
    const rest = Object.entries(map ?? {}).filter(([key]) => !keys.includes(key));
    return rest.length ? Object.fromEntries(rest) : undefined;
  };
  const { annotations, labels, ...metadata } = object.metadata;
  const kept = {
    // What a chart says with that label is its own where nothing else is said with it.
    labels: drop(labels, method === "annotation" ? [META.app] : [META.app, labelKey]),
    annotations: drop(annotations, [META.trackingId, META.installationId]),
  };
  return { ...object, metadata: { ...metadata, ...JSON.parse(JSON.stringify(kept)) } };
}

async function renderOne(
  ask: Ask,
  { settings }: Asked,
  app: Application,
  door: RepoService,
  checkouts: Checkouts,
): Promise<Outcome<RenderedApplication>> {
  const invalid = validate(app);
  if (invalid) return invalid;
  const { destination, project } = app.spec;
  const sources: { source: Source; repo: { url: string } }[] = [];
  const first = drySources(app).find(isGit)?.repoURL;
  for (const source of drySources(app)) {
    const at = isGit(source) ? await checkouts.find(source.repoURL, source.repoURL === first) : done(undefined);
    if (at.kind !== "done") return at;
    if (!at.value) {
      sources.push({ source, repo: { url: source.repoURL } });
      continue;
    }
    const wanted = ask.revision ?? source.targetRevision;
    const branch = isBranch(wanted) ? wanted : undefined;
    const named = branch ? await nameHead(at.value, branch) : done(undefined);
    if (named.kind !== "done") return named;
    sources.push({ source: { ...source, targetRevision: branch ?? at.value.commit }, repo: { url: at.value.address } });
  }
  const { kubeVersion, apiVersions } = ask;
  const rendered = await door.render({
    app: { name: app.metadata.name, namespace: app.metadata.namespace ?? "argocd", project: project || "default" },
    namespace: destination.namespace ?? "",
    sources,
    freshness: "normal",
    kubeVersion,
    apiVersions,
  });
  if (rendered.kind !== "done") return rendered;
  const objects = rendered.value.objects!;
  const find = ask.find ?? findOffline(objects);
  const shape = {
    client: { discovery: { find } },
    settings,
    server: destination.server ?? "",
    own: app.metadata.namespace ?? "",
  };
  const { targets, repeated, excluded = [] } = await toTargets(app, shape, objects);
  const broken = targets.find(({ problem }) => problem && problem.kind !== "stop")?.problem as Failure | undefined;
  if (broken) return broken;
  const warnings = [
    ...repeated.map(({ name, times }) => `${name} appears ${times} times; the last one counts`),
    ...excluded.map((what) => `${what} is left out by the settings`),
    ...targets.flatMap(({ object, problem }) => (problem ? [`${describe(object)}: ${problem.message}`] : [])),
  ];
  return done({ app, revisions: rendered.value.revisions, targets, warnings, settings });
}

async function applicationsOf(
  set: ApplicationSet,
  { clusters }: Asked,
  door: RepoService,
  checkouts: Checkouts,
): Promise<Outcome<Application[]>> {
  const problem = validateSpec(set.spec);
  if (problem) return stop("SpecInvalid", problem);
  const none = async (): Promise<Outcome<never>> => stop("NoCluster", "there is no cluster to ask");
  const looking = {
    look: async (request: Parameters<RepoService["look"]>[0]) => {
      const at = await checkouts.find(request.repo.url, true);
      if (at.kind !== "done") return at;
      const { value } = at;
      return door.look(value ? { ...request, repo: { url: value.address }, revision: value.commit } : request);
    },
  };
  const world: World = {
    clusters: () => clusters,
    ...repositoryFiles(looking, (url) => ({ url })),
    secret: none,
    githubApp: none,
    configMap: none,
    objects: none,
  };
  const made = await generate(set.metadata.name, set.spec, world);
  if (made.kind !== "done") return made;
  const { namespace } = set.metadata;
  return done(
    made.value.map(({ metadata, spec }) => {
      const app = {
        apiVersion: "argoproj.io/v1alpha1",
        kind: "Application",
        metadata: { ...metadata, namespace },
        spec,
      };
      return app as unknown as Application;
    }),
  );
}

const isGit = ({ chart, repoURL }: Source): boolean =>
  !chart && typeof repoURL === "string" && !repoURL.startsWith("oci://");

/** The local folders in place of repositories, each read once. */
class Checkouts {
  readonly #ask: Ask;
  readonly #into: string;
  readonly #folders: Map<string, string>;
  readonly #made = new Map<string, Promise<Outcome<Checkout>>>();

  constructor(ask: Ask, into: string) {
    this.#ask = ask;
    this.#into = into;
    this.#folders = new Map(Object.entries(ask.folders).map(([url, folder]) => [normaliseUrl(url), folder]));
  }

  /** Nothing when the repository is to be fetched from where it is. */
  async find(url: string, first: boolean): Promise<Outcome<Checkout | undefined>> {
    const folder = this.#folders.get(normaliseUrl(url)) ?? (first ? this.#ask.path : undefined);
    if (folder === undefined) return done(undefined);
    const path = resolve(folder);
    let made = this.#made.get(path);
    if (!made) {
      made = checkOut(path, this.#ask.revision, join(this.#into, `checkout-${this.#made.size}`));
      this.#made.set(path, made);
    }
    return made;
  }
}

/** The dry source: for a hydrated application, what a pipeline has to render and commit. */
const drySources = (app: Application): Source[] =>
  app.spec.sourceHydrator ? [app.spec.sourceHydrator.drySource] : sourcesOf(app);
