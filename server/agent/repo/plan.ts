import { digest } from "../../base/json/canonical.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import type { KubeObject } from "../../kube/object.ts";
import { buildEnv } from "./files/env.ts";
import type { Tree } from "./git/tree.ts";
import type { Plugins } from "./plugin/plugin.ts";
import { planDirectory, renderDirectory } from "./render/directory.ts";
import { type ClusterReader, type HelmNeeds, planHelm, renderHelm } from "./render/helm.ts";
import { KUSTOMIZATION_FILES, planKustomize, renderKustomize } from "./render/kustomize.ts";
import { withOverrides } from "./render/overrides.ts";
import type { Trees } from "./render/values.ts";
import { REPO, type RenderRequest, type RepoAccess, type Source, type SourceType } from "./types.ts";

// The versions of two programs and of the cache's format: another number makes every old entry unreachable.
const FORMAT = "2";

/** What one source will be rendered from. */
export interface Plan {
  sourceType: SourceType;
  key: string;
  /** Whether it starts a process. */
  heavy: boolean;
  render: () => Promise<Outcome<KubeObject[]>>;
}

/** The files of a source at the revision that was meant. */
export interface Fetched {
  source: Source;
  tree: Tree;
  /** The commit, or the version of a chart. */
  revision: string;
}

/** What of a source matters to this application? A commit that does not touch it has the same key. */
export async function plan(
  request: RenderRequest,
  fetched: Fetched,
  refs: Trees["refs"],
  {
    plugins,
    repo,
    cluster,
    ...needs
  }: Omit<HelmNeeds, "env"> & { plugins: Plugins; repo: RepoAccess; cluster?: ClusterReader | undefined },
): Promise<Outcome<Plan>> {
  const { tree, revision } = fetched;
  const path = (fetched.source.chart ? "" : (fetched.source.path ?? ""))
    .replace(/^\.?\/+|(?<!\/)\/+$/g, "")
    .replace(/^\.$/, "");
  if (!fetched.source.chart && fetched.source.path?.startsWith("/"))
    return stop(REPO.escape, `path ${fetched.source.path} is absolute; give it from the root of the repository`);
  const overridden = await withOverrides(tree, path, fetched.source, request.app.name);
  if (overridden.kind !== "done") return overridden;
  const source = overridden.value;
  const env = buildEnv(request, source, revision);
  const asked = { tree, path, repo, app: request.app.name, env, generatePaths: request.generatePaths };
  const kind = await detect(tree, path, source, () => plugins.discover(asked));
  if (kind.kind !== "done") return kind;
  const keyOf = (content: unknown) => digest({ format: FORMAT, type: kind.value, content });
  if (kind.value === "Plugin") {
    const planned = await plugins.plan({ ...asked, settings: source.plugin ?? {} });
    if (planned.kind !== "done") return planned;
    return done({ sourceType: "Plugin", key: keyOf(planned.value.content), heavy: true, render: planned.value.render });
  }
  if (kind.value === "Helm") {
    const planned = await planHelm({ own: tree, refs }, path, source.helm ?? {}, { ...needs, env });
    if (planned.kind !== "done") return planned;
    const { app, namespace, kubeVersion, apiVersions } = request;
    // A release is named as the application is in its own namespace: `namespace_name` would be no name for one.
    const context = { app: app.name.slice(app.name.indexOf("_") + 1), namespace, kubeVersion, apiVersions };
    return done({
      sourceType: "Helm",
      key: keyOf({ ...planned.value, source: undefined, context }),
      heavy: true,
      render: () => renderHelm({ own: tree, refs }, planned.value.source, context, cluster),
    });
  }
  if (kind.value === "Kustomize") {
    const planned = await planKustomize(tree, path, source.kustomize ?? {}, env);
    if (planned.kind !== "done") return planned;
    return done({
      sourceType: "Kustomize",
      key: keyOf({ path, ...planned.value }),
      heavy: true,
      render: () => renderKustomize(tree, path, planned.value),
    });
  }
  const planned = await planDirectory(tree, path, source.directory ?? {}, env);
  if (planned.kind !== "done") return planned;
  return done({
    sourceType: "Directory",
    // Where plain manifests are does not matter; Jsonnet finds its imports from there.
    key: keyOf(planned.value.jsonnet ? planned.value : planned.value.files),
    heavy: planned.value.jsonnet !== undefined,
    render: () => renderDirectory(tree, planned.value),
  });
}

/** Explicit settings win; then a plugin that takes the folder for its own; then the files at the path tell. */
async function detect(
  tree: Tree,
  path: string,
  source: Source,
  discover: () => Promise<Outcome<boolean>>,
): Promise<Outcome<SourceType>> {
  const { helm, kustomize, directory, plugin } = source;
  const explicit = Object.entries({ Helm: helm, Kustomize: kustomize, Directory: directory, Plugin: plugin })
    .filter(([, settings]) => settings)
    .map(([type]) => type as SourceType);
  if (explicit.length > 1) return stop(REPO.sources, `multiple application sources defined: ${explicit.join(",")}`);
  const found = await tree.find(path);
  if (found.kind !== "done") return found;
  if (found.value.kind === "blob") return stop(REPO.path, `path ${path} is a file; give the directory that holds it`);
  if (explicit[0]) return done(explicit[0]);
  if (source.chart) return done("Helm");
  const discovered = await discover();
  if (discovered.kind !== "done") return discovered;
  if (discovered.value) return done("Plugin");
  const entries = await tree.list(found.value.sha);
  if (entries.kind !== "done") return entries;
  const names = new Set(entries.value.filter(({ kind }) => kind !== "tree").map((entry) => entry.name));
  // A folder with both files is often a chart that a kustomization inflates: Argo CD builds the kustomization, and so do we.
  if (KUSTOMIZATION_FILES.some((file) => names.has(file))) return done("Kustomize");
  return done(names.has("Chart.yaml") ? "Helm" : "Directory");
}
