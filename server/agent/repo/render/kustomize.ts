import { writeFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { parseManifests, parseYaml } from "../../../kube/yaml.ts";
import { type BuildEnv, expand } from "../files/env.ts";
import { extract, newBudget, withFolder } from "../files/extract.ts";
import { contentOf } from "../files/links.ts";
import type { Tree } from "../git/tree.ts";
import { type KustomizeParameters, REPO } from "../types.ts";
import { runTool } from "./bounded.ts";
import { kubeVersionOf } from "./kube-version.ts";
import { type Kustomization, list, override, strings } from "./kustomization.ts";
import { isRemote } from "./remote-base.ts";

export const KUSTOMIZATION_FILES = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
const MAX_BASES = 200;

export interface KustomizeSource {
  /** Directories and files of the repository that can take part, with the hash of what each holds. */
  inputs: { path: string; sha: string }[];
  /** The settings with the environment put in, without components that are not there. */
  overrides: KustomizeParameters;
}

/**
 * Finds every directory a kustomization reaches. What would leave the repository, ask the network or start a program is
 * refused here by name, before kustomize runs.
 */
export async function planKustomize(
  tree: Tree,
  path: string,
  given: KustomizeParameters,
  env: BuildEnv,
): Promise<Outcome<KustomizeSource>> {
  if (given.version)
    return stop(
      REPO.unsupported,
      `kustomize version ${given.version.slice(0, 64)} is not registered; there is only the built-in one`,
    );
  // Nothing here depends on it, but a malformed one is a mistake.
  if (given.kubeVersion && kubeVersionOf(given.kubeVersion) === undefined)
    return stop(
      REPO.kustomize,
      `kubeVersion ${JSON.stringify(given.kubeVersion.slice(0, 64))} is not a version; write 1.33.0`,
    );
  const present = await withoutMissing(tree, path, substituted(given, env));
  if (present.kind !== "done") return present;
  const overrides = present.value;
  const inputs = new Map<string, string>();
  const pending = [{ path, first: true }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (inputs.has(next.path)) continue;
    const found = await tree.find(next.path);
    if (found.kind !== "done") return found;
    if (inputs.size >= MAX_BASES) return stop(REPO.tooLarge, `${path} reaches more than ${MAX_BASES} directories`);
    const content = await contentOf(tree, next.path);
    if (content.kind !== "done") return content;
    inputs.set(next.path, content.value);
    if (found.value.kind === "blob") continue;
    const read = await readKustomization(tree, next.path);
    if (read.kind !== "done") return read;
    const where = posix.join(next.path || ".", read.value.file);
    const effective = next.first ? override(read.value.content, overrides) : read.value.content;
    if (typeof effective === "string") return stop(REPO.kustomize, `${where}: ${effective}`);
    const refused = forbidden(effective);
    if (refused) return stop(REPO.refused, `${where}: ${refused}`);
    for (const base of ["resources", "bases", "components"].flatMap((field) => strings(effective[field]))) {
      if (isRemote(base))
        return stop(REPO.refused, `${where}: remote base ${base.slice(0, 200)} is refused; keep it in the repository`);
      if (base.startsWith("/")) return stop(REPO.escape, `${where}: ${base.slice(0, 200)} is outside the repository`);
      const target = posix.normalize(posix.join(next.path || ".", base));
      if (target === ".." || target.startsWith("../"))
        return stop(REPO.escape, `${where}: ${base.slice(0, 200)} leads out of the repository`);
      // A directory inside the one that is taken anyway is still read for its own references.
      pending.push({ path: target === "." ? "" : target.replace(/(?<!\/)\/+$/, ""), first: false });
    }
  }
  return done({
    inputs: [...inputs].map(([p, sha]) => ({ path: p, sha })).sort((a, b) => (a.path < b.path ? -1 : 1)),
    overrides,
  });
}

/** Images and labels take the build environment; annotations only when told to. */
function substituted(o: KustomizeParameters, env: BuildEnv): KustomizeParameters {
  const all = (map: Record<string, string> | undefined) =>
    map && Object.fromEntries(Object.entries(map).map(([name, value]) => [name, expand(value, env)]));
  return {
    ...o,
    ...(o.images ? { images: o.images.map((image) => expand(image, env)) } : {}),
    ...(o.commonLabels ? { commonLabels: all(o.commonLabels)! } : {}),
    ...(o.commonAnnotations && o.commonAnnotationsEnvsubst ? { commonAnnotations: all(o.commonAnnotations)! } : {}),
  };
}

async function withoutMissing(tree: Tree, path: string, o: KustomizeParameters): Promise<Outcome<KustomizeParameters>> {
  if (!o.components?.length || !o.ignoreMissingComponents) return done(o);
  const components: string[] = [];
  for (const component of o.components) {
    const found = isRemote(component) ? done(undefined) : await tree.find(`${path}/${component}`);
    if (found.kind === "done") components.push(component);
    else if (found.reason !== REPO.path) return found;
  }
  return done({ ...o, components });
}

async function readKustomization(tree: Tree, path: string): Promise<Outcome<{ content: Kustomization; file: string }>> {
  for (const file of KUSTOMIZATION_FILES) {
    const found = await tree.find(posix.join(path, file));
    if (found.kind !== "done") {
      if (found.reason === REPO.path) continue;
      return found;
    }
    const blob = await tree.blob(found.value.sha, file);
    if (blob.kind !== "done") return blob;
    const parsed = parseYaml(blob.value.toString("utf8"), posix.join(path, file));
    if (parsed.kind !== "done") return parsed;
    if (typeof parsed.value !== "object" || parsed.value === null)
      return stop(REPO.manifest, `${posix.join(path, file)}: is not an object`);
    return done({ content: parsed.value as Kustomization, file });
  }
  return stop(REPO.kustomize, `${path || "the root"} has no kustomization.yaml`);
}

/** Features that reach the network or run programs, and every file reference that is a URL. */
function forbidden(k: Kustomization): string | undefined {
  if (k.helmCharts || k.helmChartInflationGenerator)
    return "helmCharts is refused: charts are fetched from the network; use a Helm source";
  for (const field of ["generators", "transformers", "validators"]) {
    for (const item of strings(k[field]))
      if (/\b(exec|container|starlark)\s*:/.test(item)) return `${field} with exec or container functions are refused`;
  }
  const files = [
    ...["crds", "configurations", "generators", "transformers", "validators", "patchesStrategicMerge"].flatMap(
      (field) => strings(k[field]),
    ),
    ...["patches", "patchesJson6902", "replacements"].flatMap((field) =>
      list(k[field]).flatMap((item) => strings([item?.path])),
    ),
    ...["configMapGenerator", "secretGenerator"].flatMap((field) =>
      list(k[field]).flatMap((item) => [
        ...strings(item?.files).map((f) => f.replace(/^[^=]*=/, "")),
        ...strings(item?.envs),
        ...strings([item?.env]),
      ]),
    ),
    ...strings([k.openapi?.path]),
  ];
  const remote = files.find((file) => !file.includes("\n") && isRemote(file));
  return remote ? `remote file ${remote} is refused; keep it in the repository` : undefined;
}

/** Renders an overlay with the `kustomize` binary in a private folder holding only its inputs. */
export async function renderKustomize(
  tree: Tree,
  path: string,
  { inputs, overrides }: KustomizeSource,
): Promise<Outcome<KubeObject[]>> {
  return withFolder(async (folder) => {
    const budget = newBudget();
    const root = join(folder, "source");
    for (const input of inputs) {
      const covered = inputs.some(
        (other) => other !== input && (other.path === "" || input.path.startsWith(`${other.path}/`)),
      );
      if (covered) continue;
      const written = await extract(tree, input.path, { to: root, budget });
      if (written.kind !== "done") return written;
    }
    const read = await readKustomization(tree, path);
    if (read.kind !== "done") return read;
    const changed = override(read.value.content, overrides);
    if (typeof changed === "string") return stop(REPO.kustomize, `${path}: ${changed}`);
    if (Object.keys(overrides).length) await writeFile(join(root, path, read.value.file), JSON.stringify(changed));
    const ran = await runTool({
      tool: "kustomize",
      args: ["build", "--load-restrictor=LoadRestrictionsRootOnly", "--", "."],
      cwd: join(root, path),
      folder,
      reason: REPO.kustomize,
      what: `kustomize build of ${path || "the root"}`,
    });
    if (ran.kind !== "done") return ran;
    return parseManifests(ran.value.stdout.toString("utf8"), `kustomize output of ${path || "the root"}`, {
      nameless: true,
    });
  });
}
