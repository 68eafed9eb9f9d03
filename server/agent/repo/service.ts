import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { digest } from "../../base/json/canonical.ts";
import { done, type Failure, type Outcome, stop } from "../../base/outcome.ts";
import { FairSlots } from "../../base/process/fair-slots.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { ContentCache } from "../cache/cache.ts";
import { Artifacts } from "./charts/artifacts.ts";
import { Charts } from "./charts/charts.ts";
import { probe } from "./charts/probe.ts";
import { RemoteValues } from "./charts/remote-values.ts";
import { chartVersions } from "./charts/versions.ts";
import { markable } from "./files/objects.ts";
import { chartInfo, commitInfo } from "./git/commit-info.ts";
import { Signatures } from "./git/integrity.ts";
import { LfsStore } from "./git/lfs.ts";
import { Mirror } from "./git/mirror.ts";
import { withModules } from "./git/submodules.ts";
import type { Tree } from "./git/tree.ts";
import { look } from "./look.ts";
import { type Fetched, type Plan, plan } from "./plan.ts";
import { Plugins } from "./plugin/plugin.ts";
import type { ClusterReader } from "./render/helm.ts";
import { isCommit, resolveRevision } from "./revision.ts";
import { shaped } from "./shape.ts";
import { type Fresh, survey } from "./survey.ts";
import {
  type ChartList,
  type Freshness,
  type Integrity,
  type Looked,
  type LookRequest,
  REPO,
  type Refs,
  type Rendered,
  type RenderRequest,
  type RepoAccess,
  type RepoApi,
  type RevisionInfo,
  type RevisionRequest,
  type Source,
  type SourceAccess,
  type SourceType,
  type Surveyed,
  type SurveyRequest,
} from "./types.ts";
import { gitAccess, identityOf, redactUrl } from "./url.ts";

export interface RepoServiceOptions {
  /** Where the mirrors are; private to this process. */
  folder: string;
  cache: ContentCache;
  /** `file://` repositories and addresses of this machine, for tests and for rendering files at hand. */
  allowLocal?: boolean;
  /** Where the sidecars of config management plugins have their sockets; without it, none. */
  plugins?: string;
  /** Names of those that must be there. */
  expectedPlugins?: readonly string[];
  /** Renderings at once that start a process; each takes up to 256 MiB. */
  parallel?: number;
}

const MAX_MIRRORS = 200;
const MAX_SOURCES = 32;
const MAX_WHOLE = 200;

/** Fetches and renders; knows no cluster. One object serves any number of callers at once. */
export class RepoService implements RepoApi {
  readonly #options: RepoServiceOptions;
  readonly #charts: Charts;
  readonly #artifacts: Artifacts;
  readonly #remote: RemoteValues;
  readonly #plugins: Plugins;
  readonly #signatures: Signatures;
  readonly #lfs: LfsStore;
  readonly #whole = new Map<string, Tree>();
  readonly #mirrors = new Map<string, Mirror>();
  readonly #ways = new WeakMap<RepoAccess, Outcome<RepoAccess>>();
  readonly #identities = new WeakMap<RepoAccess, string>();
  readonly #rendering = new Map<string, Promise<Outcome<KubeObject[]>>>();
  readonly #slots: FairSlots;

  constructor(options: RepoServiceOptions) {
    this.#options = options;
    this.#charts = new Charts(join(options.folder, "charts"));
    this.#artifacts = new Artifacts(join(options.folder, "artifacts"));
    this.#remote = new RemoteValues(options.allowLocal);
    this.#lfs = new LfsStore(join(options.folder, "lfs"));
    this.#signatures = new Signatures(options.folder, options.allowLocal);
    this.#plugins = new Plugins(options.plugins, options.expectedPlugins);
    this.#slots = new FairSlots(options.parallel ?? 4);
  }

  async start(): Promise<void> {
    await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
  }

  close(): void {
    for (const mirror of this.#mirrors.values()) mirror.close();
    this.#signatures.close();
    this.#plugins.close();
    void this.#remote.close();
  }

  async refs(asked: RepoAccess): Promise<Outcome<Refs>> {
    const repo = this.#way(asked);
    return repo.kind === "done" ? this.#mirror(repo.value).refs(repo.value) : repo;
  }

  async look(request: LookRequest): Promise<Outcome<Looked>> {
    const repo = this.#way(request.repo);
    if (repo.kind !== "done") return repo;
    const mirror = this.#mirror(repo.value);
    const source = { repoURL: repo.value.url, targetRevision: request.revision };
    const commit = await this.#commit(mirror, repo.value, source, request.freshness);
    if (commit.kind !== "done") return commit;
    const tree = await this.#tree(mirror, repo.value, commit.value);
    if (tree.kind !== "done") return tree;
    const refused = await this.#unsigned(mirror, repo.value, source, commit.value, request.integrity);
    if (refused) return refused;
    const looked = await look(tree.value, request);
    return looked.kind === "done" ? done({ revision: commit.value, ...looked.value }) : looked;
  }

  async revision({ repo: access, source, revision, keyring }: RevisionRequest): Promise<Outcome<RevisionInfo>> {
    const wanted = { ...source, targetRevision: revision };
    if (source.chart || access.url.startsWith("oci://")) {
      const fetched = await this.#fetch({ source: wanted, repo: access }, "cached");
      return fetched.kind === "done" ? done(await chartInfo(fetched.value.tree, fetched.value.revision)) : fetched;
    }
    const repo = this.#way(access);
    if (repo.kind !== "done") return repo;
    const mirror = this.#mirror(repo.value);
    // The tags that point at a commit are only known after a request for them.
    if (!mirror.lastRefs) await mirror.refs(repo.value);
    const commit = await this.#commit(mirror, repo.value, wanted, "cached");
    if (commit.kind !== "done") return commit;
    const tree = await mirror.tree(repo.value, commit.value);
    if (tree.kind !== "done") return tree;
    const made = await commitInfo(mirror, commit.value);
    const verdict =
      made.kind === "done" && keyring ? await this.#signatures.of(mirror, commit.value, keyring) : undefined;
    if (made.kind !== "done" || verdict?.kind !== "done") return made;
    const { state, signer } = verdict.value;
    return done({ ...made.value, signature: state, ...(signer ? { signer } : {}) });
  }

  async probe(repo: RepoAccess): Promise<Outcome<true>> {
    const found = await probe(repo, (git) => this.refs(git));
    return found.kind === "done" ? done(true) : found;
  }

  charts(repo: RepoAccess): Promise<Outcome<ChartList>> {
    return chartVersions(repo);
  }

  async render(request: RenderRequest): Promise<Outcome<Rendered>> {
    const { freshness } = request;
    const planned = await this.#plan(request, () => freshness);
    if (planned.kind !== "done") return planned;
    const { rendered, plans } = planned.value;
    if (request.known === rendered.key && freshness !== "hard") return done(rendered);

    // Render, unless it was rendered before.
    const objects: KubeObject[] = [];
    for (const one of await Promise.all(plans.map((p) => this.#objects(p, freshness === "hard", laneOf(request))))) {
      if (one.kind !== "done") return one;
      for (const object of one.value) objects.push(object);
    }
    return done({ ...rendered, objects });
  }

  /**
   * The same with a cluster that charts may read. What they find is part of the content and known only afterwards: nothing of it is kept.
   */
  async renderReading(request: RenderRequest, cluster: ClusterReader): Promise<Outcome<Rendered>> {
    const { freshness } = request;
    const planned = await this.#plan(request, () => freshness, cluster);
    if (planned.kind !== "done") return planned;
    // A process that knows the cluster holds a credential for it: no other tool is started there.
    const other = planned.value.plans.find(({ sourceType, heavy }) => heavy && sourceType !== "Helm");
    if (other)
      return stop(
        REPO.unsupported,
        `an application whose charts read the cluster has no ${other.sourceType} source beside them`,
      );
    const objects: KubeObject[] = [];
    for (const one of planned.value.plans) {
      const made =
        one.sourceType === "Helm"
          ? await this.#slots.run(laneOf(request), one.render)
          : await this.#objects(one, freshness === "hard", laneOf(request));
      const good = made.kind === "done" ? markable(made.value) : made;
      if (good.kind !== "done") return good;
      for (const object of good.value) objects.push(object);
    }
    const { rendered } = planned.value;
    const key = digest([rendered.key, objects]);
    return done(request.known === key && freshness !== "hard" ? { ...rendered, key } : { ...rendered, key, objects });
  }

  /** Asks one remote once, and tells what each of many applications would be made of now. */
  survey(request: SurveyRequest): Promise<Outcome<Surveyed>> {
    return survey(request, {
      refs: (repo) => this.refs(repo),
      plan: async (ask, freshness) => {
        const planned = await this.#plan(ask, freshness);
        return planned.kind === "done" ? done(planned.value.rendered) : planned;
      },
    });
  }

  /** What an application is made of, and under which key its objects are known: all but rendering them. */
  async #plan(
    request: RenderRequest,
    freshness: Fresh,
    cluster?: ClusterReader,
  ): Promise<Outcome<{ rendered: Rendered; plans: Plan[] }>> {
    const { sources } = request;
    const invalid = misfit(sources);
    if (invalid) return stop(REPO.sources, invalid);
    const since = performance.now() - Math.max(0, request.sinceMs ?? 0);

    // Which commits and charts are meant? All are asked for at once.
    const fetched: Fetched[] = [];
    for (const one of await Promise.all(
      sources.map((one) =>
        this.#fetch(one, freshness("source", one.repo.url, one.source.chart, one.source.targetRevision), since),
      ),
    )) {
      if (one.kind !== "done") return one;
      fetched.push(one.value);
    }
    const refs = new Map(fetched.flatMap(({ source, tree }) => (source.ref ? [[source.ref, tree] as const] : [])));

    // What of them matters to this application?
    const plans: Plan[] = [];
    // One for each source, as Argo CD has them: a source that others only refer to has none.
    const sourceTypes: (SourceType | "")[] = [];
    for (const [i, one] of fetched.entries()) {
      if (!yields(one.source)) {
        sourceTypes.push("");
        continue;
      }
      const planned = await plan(request, one, refs, {
        dependencies: {
          registered: request.charts ?? [],
          permitted: request.dependencyRepos,
          allowLocal: this.#options.allowLocal,
        },
        fetchChart: (repo, name, version) =>
          this.#charts.find(repo, name, version, freshness("part", repo.url, name, version)),
        fetchValues: (url) => this.#remote.get(url, freshness("part", url) !== "cached"),
        plugins: this.#plugins,
        repo: sources[i]!.repo,
        cluster,
      });
      if (planned.kind !== "done") return planned;
      plans.push(planned.value);
      sourceTypes.push(planned.value.sourceType);
    }
    const revisions = fetched.map(({ revision }) => revision);
    const key = plans.length === 1 ? plans[0]!.key : digest(plans.map((one) => one.key));
    return done({
      rendered: { revision: revisions[0]!, revisions, key, sourceType: plans[0]!.sourceType, sourceTypes },
      plans,
    });
  }

  async #fetch(asked: SourceAccess, freshness: Freshness, since?: number): Promise<Outcome<Fetched>> {
    const { source: given, repo: access, commit: pinned, integrity } = asked;
    const shape = shaped(given);
    if (shape.kind !== "done") return shape;
    const source = shape.value;
    if (source.chart) {
      const { chart, targetRevision = "" } = source;
      const found = await this.#charts.find(access, chart, targetRevision, freshness, source.helm?.passCredentials);
      return found.kind === "done" ? done({ source, tree: found.value.tree, revision: found.value.version }) : found;
    }
    if (access.url.startsWith("oci://")) {
      const found = await this.#artifacts.find(access, source.targetRevision ?? "", freshness);
      return found.kind === "done" ? done({ source, ...found.value }) : found;
    }
    const repo = this.#way(access);
    if (repo.kind !== "done") return repo;
    const mirror = this.#mirror(repo.value);
    const commit = pinned ? done(pinned) : await this.#commit(mirror, repo.value, source, freshness, since);
    if (commit.kind !== "done") return commit;
    const tree = await this.#tree(mirror, repo.value, commit.value);
    if (tree.kind !== "done") return tree;
    const refused = await this.#unsigned(mirror, repo.value, source, commit.value, integrity);
    if (refused) return refused;
    return done({ source, tree: tree.value, revision: commit.value });
  }

  /** Why a commit is not signed well enough; undefined when it is, or need not be. */
  async #unsigned(
    mirror: Mirror,
    repo: RepoAccess,
    source: Source,
    commit: string,
    wanted?: Integrity,
  ): Promise<Failure | undefined> {
    if (!wanted) return undefined;
    // Which tags point at it is only known after a request for them.
    if (!mirror.lastRefs) await mirror.refs(repo);
    return this.#signatures.refuses(mirror, repo, source, commit, wanted);
  }

  /** The files of a commit: with what its pointers and submodules stand for, where the repository allows it. */
  async #tree(mirror: Mirror, repo: RepoAccess, commit: string): Promise<Outcome<Tree>> {
    if (!repo.enableLfs && !repo.submodules) return mirror.tree(repo, commit);
    const id = digest([
      [repo, ...(repo.ways ?? [])].map(identityOf),
      commit,
      repo.enableLfs ?? false,
      repo.submodules ?? false,
      repo.sourceRepos ?? null,
    ]);
    const known = this.#whole.get(id);
    if (known) return done(known);
    const open = async (at: RepoAccess, sha: string): Promise<Outcome<Tree>> => {
      const tree = await this.#mirror(at).tree(at, sha);
      return tree.kind === "done" && repo.enableLfs ? done(this.#lfs.over(tree.value, at)) : tree;
    };
    const tree = await open(repo, commit);
    const whole =
      tree.kind === "done" && repo.submodules
        ? await withModules(tree.value, repo, open, this.#options.allowLocal)
        : tree;
    if (whole.kind !== "done") return whole;
    if (this.#whole.size >= MAX_WHOLE) this.#whole.clear();
    this.#whole.set(id, whole.value);
    return whole;
  }

  async #commit(
    mirror: Mirror,
    repo: RepoAccess,
    source: Source,
    freshness: Freshness,
    since?: number,
  ): Promise<Outcome<string>> {
    const { targetRevision, tagPrefix } = source;
    if (targetRevision && isCommit(targetRevision)) return done(targetRevision);
    const last = freshness === "cached" ? mirror.lastRefs : undefined;
    const refs = last ? done(last) : await mirror.refs(repo, freshness === "normal" ? since : undefined);
    return refs.kind === "done" ? resolveRevision(refs.value, targetRevision, redactUrl(repo.url), tagPrefix) : refs;
  }

  #objects({ key, heavy, render }: Plan, again: boolean, lane: string): Promise<Outcome<KubeObject[]>> {
    const { cache } = this.#options;
    let running = this.#rendering.get(key);
    if (!running) {
      const work = async (): Promise<Outcome<KubeObject[]>> => {
        const cached = again ? undefined : await cache.get(key);
        if (cached) return done(cached as KubeObject[]);
        const rendered = heavy ? await this.#slots.run(lane, render) : await render();
        const good = rendered.kind === "done" ? markable(rendered.value) : rendered;
        if (good.kind === "done") await cache.set(key, good.value);
        return good;
      };
      running = work().finally(() => this.#rendering.delete(key));
      this.#rendering.set(key, running);
    }
    return running;
  }

  /** The way into a repository, checked; a question about a thousand applications has the same one for all of them. */
  #way(repo: RepoAccess): Outcome<RepoAccess> {
    let way = this.#ways.get(repo);
    if (!way) {
      way = gitAccess(repo, this.#options);
      this.#ways.set(repo, way);
    }
    return way;
  }

  #mirror(repo: RepoAccess): Mirror {
    const id = this.#identities.get(repo) ?? digest(identityOf(repo));
    this.#identities.set(repo, id);
    let mirror = this.#mirrors.get(id);
    if (!mirror) {
      mirror = new Mirror(this.#options.folder, id, this.#options.allowLocal === true);
      this.#mirrors.set(id, mirror);
      this.#dropOldest();
    }
    return mirror;
  }

  #dropOldest(): void {
    if (this.#mirrors.size <= MAX_MIRRORS) return;
    const [id, oldest] = [...this.#mirrors].reduce((a, b) => (b[1].usedAt < a[1].usedAt ? b : a));
    this.#mirrors.delete(id);
    this.#whole.clear();
    void oldest.remove();
  }
}

/** Who waits for a rendering: tenants take turns. */
const laneOf = ({ app: { tenant = "" } }: RenderRequest): string => tenant;

/** Whether a source gives objects: one that is only there for others to refer to has neither path nor chart. */
const yields = ({ path, chart, ref }: Source): boolean => !ref || Boolean(path || chart);

/** What is wrong with these sources together. */
function misfit(sources: readonly SourceAccess[]): string | undefined {
  if (sources.length === 0) return "the application has no source";
  if (sources.length > MAX_SOURCES) return `the application has more than ${MAX_SOURCES} sources`;
  const refs = new Set<string>();
  for (const { source } of sources) {
    const { ref, chart } = source;
    if (!ref) continue;
    if (typeof ref !== "string" || !/^[A-Za-z0-9_-]{1,63}$/.test(ref))
      return `ref ${JSON.stringify(ref).slice(0, 80)} must have letters, digits, - and _ only`;
    if (chart) return `source "${ref}": a source with a chart cannot have a ref`;
    if (refs.has(ref)) return `two sources have ref ${ref}`;
    refs.add(ref);
  }
  if (!sources.some(({ source }) => yields(source))) return "every source is only a ref: none gives objects";
  return undefined;
}
