import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { digest } from "../../base/canonical.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import type { ContentCache } from "../cache/cache.ts";
import { Charts } from "./charts.ts";
import { directoryFiles, renderDirectory } from "./directory.ts";
import { helmInputs, renderChart, renderHelm } from "./helm.ts";
import { KUSTOMIZATION_FILES, kustomizeInputs, renderKustomize } from "./kustomize.ts";
import { Mirror } from "./mirror.ts";
import { isCommit, resolveRevision } from "./revision.ts";
import type { Tree } from "./tree.ts";
import { REPO, type Refs, type Rendered, type RenderRequest, type RepoAccess, type RepoDoor, type SourceType } from "./types.ts";
import { gitAccess, redactUrl } from "./url.ts";

export interface RepoServiceOptions {
  /** Where the mirrors are; private to this process. */
  folder: string;
  cache: ContentCache;
  /** `file://` repositories, for tests. */
  allowLocal?: boolean;
  /** Renderings at once that start a process; each takes up to 256 MiB. */
  parallel?: number;
}

// Two programs and the format of what is cached: another number makes every old entry unreachable.
const FORMAT = "1";
const MAX_MIRRORS = 200;

/** Fetches and renders; knows no cluster. One object serves any number of callers at once. */
export class RepoService implements RepoDoor {
  readonly #options: RepoServiceOptions;
  readonly #charts: Charts;
  readonly #mirrors = new Map<string, Mirror>();
  readonly #rendering = new Map<string, Promise<Outcome<Rendered["objects"]>>>();
  #free: number;
  #waiting: (() => void)[] = [];

  constructor(options: RepoServiceOptions) {
    this.#options = options;
    this.#charts = new Charts(join(options.folder, "charts"));
    this.#free = options.parallel ?? 4;
  }

  async start(): Promise<void> {
    await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
  }

  close(): void {
    for (const mirror of this.#mirrors.values()) mirror.close();
  }

  async refs(asked: RepoAccess): Promise<Outcome<Refs>> {
    const repo = gitAccess(asked, this.#options);
    return repo.kind === "done" ? this.#mirror(repo.value).refs(repo.value) : repo;
  }

  async render(request: RenderRequest): Promise<Outcome<Rendered>> {
    const { source } = request;
    if (source.plugin) return stop(REPO.unsupported, "config management plugins are not supported");
    if (source.chart) return this.#renderChart(request, source.chart);
    if (source.repoURL.startsWith("oci://")) return stop(REPO.unsupported, "OCI sources are not rendered by this version");
    const repo = gitAccess({ ...request.repo, url: source.repoURL }, this.#options);
    if (repo.kind !== "done") return repo;
    const mirror = this.#mirror(repo.value);

    // Which commit is meant?
    const commit = await this.#commit(mirror, repo.value, request);
    if (commit.kind !== "done") return commit;
    const tree = await mirror.tree(repo.value, commit.value);
    if (tree.kind !== "done") return tree;

    // What of it matters to this application? A commit that does not touch it has the same key.
    const plan = await this.#plan(tree.value, request);
    if (plan.kind !== "done") return plan;
    const { key, sourceType } = plan.value;
    const rendered: Rendered = { revision: commit.value, key, sourceType };
    if (request.known === key && request.freshness !== "hard") return done(rendered);

    // Render, unless somebody has before.
    const objects = await this.#objects(key, request.freshness === "hard", plan.value.render);
    return objects.kind === "done" ? done({ ...rendered, objects: objects.value }) : objects;
  }

  async #renderChart(request: RenderRequest, name: string): Promise<Outcome<Rendered>> {
    const { source, app, namespace, kubeVersion, freshness } = request;
    const chart = await this.#charts.find({ ...request.repo, url: source.repoURL }, name, source.targetRevision ?? "", freshness);
    if (chart.kind !== "done") return chart;
    const helm = source.helm ?? {};
    const context = { app: app.name, namespace, kubeVersion };
    const key = digest({ format: FORMAT, type: "Chart", content: { chart: chart.value.digest, helm, context } });
    const rendered: Rendered = { revision: chart.value.version, key, sourceType: "Helm" };
    if (request.known === key && freshness !== "hard") return done(rendered);
    const objects = await this.#objects(key, freshness === "hard", () => this.#bounded(() => renderChart(chart.value, helm, context)));
    return objects.kind === "done" ? done({ ...rendered, objects: objects.value }) : objects;
  }

  async #commit(mirror: Mirror, repo: RepoAccess, { source, freshness }: RenderRequest): Promise<Outcome<string>> {
    const { targetRevision } = source;
    if (targetRevision && isCommit(targetRevision)) return done(targetRevision);
    const last = freshness === "cached" ? mirror.lastRefs : undefined;
    const refs = last ? done(last) : await mirror.refs(repo);
    return refs.kind === "done" ? resolveRevision(refs.value, targetRevision, redactUrl(repo.url)) : refs;
  }

  async #plan(tree: Tree, request: RenderRequest): Promise<Outcome<Plan>> {
    const { source, app, namespace, kubeVersion } = request;
    const path = (source.path ?? "").replace(/^\.?\/+|\/+$/g, "").replace(/^\.$/, "");
    const kind = await detect(tree, path, request);
    if (kind.kind !== "done") return kind;
    const keyOf = (content: unknown) => digest({ format: FORMAT, type: kind.value, content });
    if (kind.value === "Helm") {
      const helm = source.helm ?? {};
      const inputs = await helmInputs(tree, path, helm);
      if (inputs.kind !== "done") return inputs;
      const context = { app: app.name, namespace, kubeVersion };
      return done({
        sourceType: "Helm",
        key: keyOf({ path, inputs: inputs.value, helm, context }),
        render: () => this.#bounded(() => renderHelm(tree, path, inputs.value, helm, context)),
      });
    }
    if (kind.value === "Kustomize") {
      const overrides = source.kustomize ?? {};
      const inputs = await kustomizeInputs(tree, path, overrides);
      if (inputs.kind !== "done") return inputs;
      return done({
        sourceType: "Kustomize",
        key: keyOf({ path, inputs: inputs.value, overrides }),
        render: () => this.#bounded(() => renderKustomize(tree, path, inputs.value, overrides)),
      });
    }
    const files = await directoryFiles(tree, path, source.directory ?? {});
    if (files.kind !== "done") return files;
    return done({ sourceType: "Directory", key: keyOf(files.value), render: () => renderDirectory(tree, files.value) });
  }

  #objects(key: string, again: boolean, render: Plan["render"]): Promise<Outcome<Rendered["objects"]>> {
    const { cache } = this.#options;
    let running = this.#rendering.get(key);
    if (!running) {
      const work = async (): Promise<Outcome<Rendered["objects"]>> => {
        const cached = again ? undefined : await cache.get(key);
        if (cached) return done(cached as NonNullable<Rendered["objects"]>);
        const rendered = await render();
        if (rendered.kind === "done") await cache.set(key, rendered.value);
        return rendered;
      };
      running = work().finally(() => this.#rendering.delete(key));
      this.#rendering.set(key, running);
    }
    return running;
  }

  async #bounded<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }

  #mirror(repo: RepoAccess): Mirror {
    const id = digest([repo.url, repo.username ?? "", repo.password?.reveal() ?? "", repo.sshPrivateKey?.reveal() ?? ""]);
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
    void oldest.remove();
  }
}

interface Plan {
  sourceType: SourceType;
  key: string;
  render: () => Promise<Outcome<NonNullable<Rendered["objects"]>>>;
}

/** Explicit settings win; then the files at the path tell. */
async function detect(tree: Tree, path: string, { source }: RenderRequest): Promise<Outcome<SourceType>> {
  if (source.helm) return done("Helm");
  if (source.kustomize) return done("Kustomize");
  if (source.directory) return done("Directory");
  const found = await tree.find(path);
  if (found.kind !== "done") return found;
  if (found.value.kind === "blob") return stop(REPO.path, `path ${path} is a file; give the directory that holds it`);
  const entries = await tree.list(found.value.sha);
  if (entries.kind !== "done") return entries;
  const names = new Set(entries.value.map((entry) => entry.name));
  if (names.has("Chart.yaml")) return done("Helm");
  return done(KUSTOMIZATION_FILES.some((file) => names.has(file)) ? "Kustomize" : "Directory");
}
