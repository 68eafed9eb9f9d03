import { readdir } from "node:fs/promises";
import { join, posix } from "node:path";
import { digest } from "../../../base/json/canonical.ts";
import { again, done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { parseManifests } from "../../../kube/yaml.ts";
import { withToken } from "../auth/authorization.ts";
import { type BuildEnv, expand } from "../files/env.ts";
import { newBudget } from "../files/extract.ts";
import { contentOf } from "../files/links.ts";
import { pack } from "../files/pack.ts";
import type { Tree } from "../git/tree.ts";
import { type PluginParameters, REPO, type RepoAccess } from "../types.ts";
import { identityOf, isSsh, redactUrl } from "../url.ts";
import { AskPass } from "./ask-pass.ts";
import { type Bundle, PluginClient, type Traits } from "./client.ts";
import { MAX_MESSAGE, type Variable } from "./wire.ts";

// A Pod has a handful of sidecars.
const MAX_PLUGINS = 50;
const MAX_REMEMBERED = 10_000;
// For all variables of a plugin: the system refuses to start a program with much more.
const MAX_VARIABLES = 1_000;
const MAX_VARIABLE_BYTES = 100_000;

/** What a plugin is asked with. */
export interface PluginAsk {
  tree: Tree;
  path: string;
  app: string;
  env: BuildEnv;
  settings: PluginParameters;
  /** What lets one into the repository: lent to a plugin that asks for it, for one rendering. */
  repo: RepoAccess;
  /** The only files that the application says it reads; without them all of the repository. */
  generatePaths?: readonly string[];
}

export interface PluginPlan {
  content: unknown;
  render: () => Promise<Outcome<KubeObject[]>>;
}

interface Chosen {
  client: PluginClient;
  traits: Traits;
}

/** The config management plugins of this Pod: each sidecar has put its socket, named after it, into one folder. */
export class Plugins {
  readonly #folder: string | undefined;
  readonly #expected: readonly string[];
  /** Whether a plugin takes what it was shown for its own: the same files get the same answer. */
  readonly #matched = new Map<string, boolean>();
  #askPass: AskPass | undefined;

  /** `expected` names the plugins that must run before a folder is matched: a Pod's containers start in any order. */
  constructor(folder: string | undefined, expected: readonly string[] = []) {
    this.#folder = folder;
    this.#expected = expected;
  }

  /** The plugin that takes a folder for one of its own, when the source names no tool. Not knowing is no answer: another tool would do harm. */
  async discover(ask: Omit<PluginAsk, "settings">): Promise<Outcome<boolean>> {
    if (this.#folder === undefined) return done(false);
    const found = await this.#choose({ ...ask, settings: {} });
    if (found.kind === "done") return done(true);
    return found.reason === REPO.pluginNotFound ? done(false) : found;
  }

  async plan(ask: PluginAsk): Promise<Outcome<PluginPlan>> {
    if (this.#folder === undefined)
      return stop(REPO.unsupported, "config management plugins: this repo server has no sidecar for any");
    const chosen = await this.#choose(ask);
    if (chosen.kind !== "done") return chosen;
    const { client, traits } = chosen.value;
    const wants = traits.wantsGitCredentials;
    if (wants && isSsh(ask.repo.url))
      return stop(
        REPO.unsupported,
        `plugin ${client.name} wants Git credentials (provideGitCreds): a key of SSH is lent to none; use HTTPS`,
      );
    if (wants && ask.repo.borrowed) return notLent(client.name, ask.repo.url);
    const env = variables(ask);
    if (env.kind !== "done") return env;
    const files = await filesOf(ask);
    if (files.kind !== "done") return files;
    return done({
      content: {
        plugin: client.name,
        digest: traits.digest,
        path: ask.path,
        app: ask.app,
        files: files.value.content,
        env: env.value,
        ...(wants ? { repo: identityOf(ask.repo) } : {}),
      },
      render: async () => {
        const bundle = await bundled(ask, files.value.paths, env.value);
        if (bundle.kind !== "done") return bundle;
        const made = wants
          ? await this.#generateWith(client, bundle.value, ask.repo)
          : await client.generate(bundle.value);
        return made.kind === "done" ? objectsOf(made.value, client.name) : made;
      },
    });
  }

  async #generateWith(client: PluginClient, bundle: Bundle, repo: RepoAccess): Promise<Outcome<string[]>> {
    const signedIn = await withToken(repo);
    if (signedIn.kind !== "done") return signedIn;
    this.#askPass ??= new AskPass(this.#folder!);
    const lent = await this.#askPass.lend(signedIn.value);
    if (lent.kind !== "done") return lent;
    try {
      return await client.generate({ ...bundle, env: [...bundle.env, ...lent.value.env] });
    } finally {
      lent.value.end();
    }
  }

  close(): void {
    this.#askPass?.close();
    this.#askPass = undefined;
  }

  /** By name, or the first that takes the folder for its own. */
  async #choose(ask: PluginAsk): Promise<Outcome<Chosen>> {
    const { name } = ask.settings;
    const all = await this.#list();
    const missing = this.#expected.find((one) => !all.some((there) => there === one || there.startsWith(`${one}-`)));
    if (missing !== undefined && !(name && all.includes(name)))
      return again(REPO.plugin, `plugin ${missing} is not there yet`);
    const named = name ? byName(all, name) : done(all);
    if (named.kind !== "done") return named;
    for (const plugin of named.value) {
      const client = new PluginClient(plugin, join(this.#folder!, `${plugin}.sock`));
      const traits = await client.traits();
      if (traits.kind !== "done") return traits;
      if (name && !traits.value.discovers) return done({ client, traits: traits.value });
      if (!traits.value.discovers) continue;
      const fits = await this.#matches(client, traits.value, ask);
      if (fits.kind !== "done") return fits;
      if (fits.value) return done({ client, traits: traits.value });
    }
    const where = ask.path || "the root";
    return stop(
      REPO.pluginNotFound,
      name ? `plugin ${name} does not accept ${where}` : `no plugin takes ${where} for its own`,
    );
  }

  async #matches(client: PluginClient, traits: Traits, ask: PluginAsk): Promise<Outcome<boolean>> {
    const env = variables(ask);
    if (env.kind !== "done") return env;
    const files = await filesOf(ask);
    if (files.kind !== "done") return files;
    // Its command may read variables, but the files decide, not the commit's id.
    const key = digest([client.name, traits.digest, ask.path, files.value.content, stable(env.value)]);
    const known = this.#matched.get(key);
    if (known !== undefined) return done(known);
    const bundle = await bundled(ask, files.value.paths, env.value);
    if (bundle.kind !== "done") return bundle;
    const matches = await client.matches(bundle.value);
    if (matches.kind !== "done") return matches;
    if (this.#matched.size >= MAX_REMEMBERED) this.#matched.clear();
    this.#matched.set(key, matches.value);
    return matches;
  }

  async #list(): Promise<string[]> {
    const entries = await readdir(this.#folder!).catch(() => [] as string[]);
    return entries
      .filter((entry) => /^[A-Za-z0-9][A-Za-z0-9._-]*\.sock$/.test(entry))
      .map((entry) => entry.slice(0, -".sock".length))
      .sort()
      .slice(0, MAX_PLUGINS);
  }
}

/** `name-version`, or `name` when there is one version of it. */
function byName(all: readonly string[], name: string): Outcome<string[]> {
  if (all.includes(name)) return done([name]);
  const versions = all.filter((one) => one.startsWith(`${name}-`) && /^-v?\d/.test(one.slice(name.length)));
  if (versions.length === 1) return done(versions);
  const shown = JSON.stringify(name.slice(0, 100));
  if (versions.length > 1)
    return stop(REPO.pluginNotFound, `plugin ${shown} has several versions, name one: ${versions.join(", ")}`);
  return stop(
    REPO.pluginNotFound,
    `there is no plugin ${shown}${all.length ? `; there are ${all.join(", ")}` : " and no other"}`,
  );
}

/** What a plugin finds in its environment besides its own: the build environment, and what the source says. */
function variables({ env, settings, generatePaths }: PluginAsk): Outcome<Variable[]> {
  const { env: given = [], parameters = [] } = settings;
  const all = Object.entries(env).map(([name, value]) => ({ name, value }));
  for (const { name, value = "" } of given) all.push({ name: `ARGOCD_ENV_${name}`, value: expand(value, env) });
  if (parameters.length) all.push({ name: "ARGOCD_APP_PARAMETERS", value: JSON.stringify(parameters) });
  for (const { name = "", string, array, map } of parameters) {
    const base = `PARAM_${escaped(name)}`;
    if (string !== undefined) all.push({ name: base, value: string });
    for (const [key, value] of Object.entries(map ?? {})) all.push({ name: `${base}_${escaped(key)}`, value });
    for (const [i, value] of (array ?? []).entries()) all.push({ name: `${base}_${i}`, value });
  }
  const bad = all.find(({ name, value }) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || value.includes("\0"));
  if (bad)
    return stop(
      REPO.manifest,
      `source.plugin: ${JSON.stringify(bad.name.slice(0, 100))} cannot be an environment variable`,
    );
  const size = all.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
  if (all.length > MAX_VARIABLES || size > MAX_VARIABLE_BYTES)
    return stop(
      REPO.tooLarge,
      `source.plugin: more than ${MAX_VARIABLES} variables or ${MAX_VARIABLE_BYTES} bytes of them`,
    );
  // Who says which files count says that nothing else of a commit does.
  return done(generatePaths ? stable(all) : all);
}

const escaped = (name: string): string => name.toUpperCase().replace(/[^A-Z0-9_]/g, "_");
/** A program that a tenant's files and parameters steer could show what it is lent, or read another repository of the host with it. */
const notLent = (plugin: string, url: string): Failure =>
  stop(
    REPO.notLent,
    `plugin ${plugin} wants Git credentials (provideGitCreds), and those for ${redactUrl(url)} belong to a scope above the application's: register the repository with credentials of its own in the application's scope`,
  );

const stable = (all: Variable[]): Variable[] => all.filter(({ name }) => !name.startsWith("ARGOCD_APP_REVISION"));

/** The files a plugin sees, and what they are: all of the repository, unless the application says which it reads. */
async function filesOf({
  tree,
  path,
  generatePaths,
}: PluginAsk): Promise<Outcome<{ paths: string[]; content: unknown }>> {
  const wanted = [
    ...new Set([
      path,
      ...(generatePaths ?? []).map((one) => (one.startsWith("/") ? one.slice(1) : posix.join(path, one))),
    ]),
  ];
  // A pattern could mean anything.
  const paths =
    generatePaths && !wanted.some((one) => /[*?[\]{}]/.test(one))
      ? wanted.map((one) => posix.normalize(one || "."))
      : ["."];
  const kept: string[] = [];
  const content: unknown[] = [];
  for (const one of paths.map((each) => (each === "." ? "" : each.replace(/(?<!\/)\/+$/, ""))).sort()) {
    if (kept.some((other) => other === "" || one === other || one.startsWith(`${other}/`))) continue;
    const found = await contentOf(tree, one);
    if (found.kind !== "done") {
      if (found.reason === REPO.path && one !== path) continue;
      return found;
    }
    kept.push(one);
    content.push([one, found.value]);
  }
  return done({ paths: kept, content });
}

async function bundled({ tree, path, app }: PluginAsk, paths: string[], env: Variable[]): Promise<Outcome<Bundle>> {
  const archive = await pack(tree, paths, newBudget());
  return archive.kind === "done" ? done({ archive: archive.value, app, path: path || ".", env }) : archive;
}

function objectsOf(manifests: readonly string[], plugin: string): Outcome<KubeObject[]> {
  if (manifests.reduce((sum, one) => sum + one.length, 0) > MAX_MESSAGE)
    return stop(REPO.tooLarge, `plugin ${plugin} renders to more than is accepted`);
  const objects: KubeObject[] = [];
  for (const one of manifests) {
    const parsed = parseManifests(one, `output of plugin ${plugin}`, { nameless: true });
    if (parsed.kind !== "done") return parsed;
    for (const object of parsed.value) objects.push(object);
  }
  return done(objects);
}
