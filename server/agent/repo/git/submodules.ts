import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { run } from "../../../base/process/run.ts";
import { permitsSource } from "../../project/permits.ts";
import { signsIn } from "../auth/authorization.ts";
import { REPO, type RepoAccess } from "../types.ts";
import { gitAccess, isCrooked, isSsh, normaliseUrl, redactUrl } from "../url.ts";
import { gitEnv } from "./git.ts";
import { GraftedTree } from "./grafted.ts";
import { DANGEROUS, segments, type Tree } from "./tree.ts";

const MAX_FILE = 100_000;
const MAX_MODULES = 20;
const MAX_DEPTH = 4;

interface Module {
  name: string;
  path: string;
  url: string;
}

/** What opens a repository's commit as files. */
export type Open = (repo: RepoAccess, commit: string) => Promise<Outcome<Tree>>;

/** A commit's files with those of its submodules in their places, and of theirs. */
export async function withModules(
  tree: Tree,
  repo: RepoAccess,
  open: Open,
  allowLocal = false,
): Promise<Outcome<Tree>> {
  const grafts = new Map<string, Tree>();
  const add = async (at: Tree, from: RepoAccess, depth: number): Promise<Outcome<void>> => {
    const modules = await modulesOf(at);
    if (modules.kind !== "done") return modules;
    for (const module of modules.value) {
      const commit = await gitlink(at, module);
      if (commit.kind !== "done") return commit;
      if (commit.value === undefined || grafts.has(commit.value)) continue;
      if (depth >= MAX_DEPTH)
        return stop(REPO.tooLarge, `submodule ${module.path} is nested more than ${MAX_DEPTH} deep`);
      if (grafts.size >= MAX_MODULES) return stop(REPO.tooLarge, `the source has more than ${MAX_MODULES} submodules`);
      const access = wayTo(module, from, repo, allowLocal);
      if (access.kind !== "done") return access;
      const opened = await open(access.value, commit.value);
      if (opened.kind !== "done") {
        const why = lends(repo, access.value.url)
          ? ""
          : "; the project's sourceRepos do not permit it, so no credentials are shown there";
        return { ...opened, message: `submodule ${module.path}: ${opened.message}${why}` };
      }
      grafts.set(commit.value, opened.value);
      const below = await add(opened.value, access.value, depth + 1);
      if (below.kind !== "done") return below;
    }
    return done(undefined);
  };
  const added = await add(tree, repo, 0);
  return added.kind === "done" ? done(new GraftedTree(tree, grafts)) : added;
}

/** What `.gitmodules` says, read by git itself as the configuration that it is; nothing it includes is read. */
async function modulesOf(tree: Tree): Promise<Outcome<Module[]>> {
  const entries = await tree.list(tree.root);
  if (entries.kind !== "done") return entries;
  const file = entries.value.find(({ name }) => name === ".gitmodules");
  if (!file) return done([]);
  if (file.kind !== "blob") return stop(REPO.refused, ".gitmodules is not a plain file");
  const blob = await tree.blob(file.sha, ".gitmodules", MAX_FILE);
  if (blob.kind !== "done") return blob;
  const ran = await run("git", {
    args: ["config", "--file", "-", "--no-includes", "--null", "--get-regexp", "^submodule\\..*\\.(path|url|update)$"],
    cwd: "/",
    env: gitEnv(),
    stdin: blob.value,
    deadlineMs: 10_000,
    maxBytes: 1_000_000,
  });
  if (ran.kind !== "done") return ran;
  // 1 means that nothing fits.
  if (ran.value.code > 1) return stop(REPO.manifest, ".gitmodules cannot be read: it is not a configuration of git");
  const modules = new Map<string, Module>();
  for (const line of ran.value.stdout.toString("utf8").split("\0").filter(Boolean)) {
    const [key = "", value = ""] = [line.slice(0, line.indexOf("\n")), line.slice(line.indexOf("\n") + 1)];
    const [, name = "", field = ""] = /^submodule\.(.*)\.(path|url|update)$/s.exec(key) ?? [];
    const module = modules.get(name) ?? { name, path: "", url: "" };
    modules.set(name, module);
    if (field === "update" && value.trim().startsWith("!"))
      return stop(
        REPO.refused,
        `submodule ${JSON.stringify(name.slice(0, 100))} wants to run a command, which is refused`,
      );
    if (field !== "update") module[field as "path" | "url"] = value;
  }
  for (const module of modules.values()) {
    const why = refuses(module);
    if (why)
      return stop(REPO.refused, `submodule ${JSON.stringify(module.name.slice(0, 100))} ${why}, which is refused`);
  }
  return done([...modules.values()]);
}

function refuses({ name, path }: Module): string | undefined {
  const bad = (text: string) =>
    text.startsWith("-") || text.length > 1_000 || /\p{Cc}/u.test(text) || text.includes("\\");
  const leaves = (text: string) =>
    text.startsWith("/") || text.split("/").some((part) => part !== "" && DANGEROUS.test(part));
  if (bad(name) || leaves(name)) return "has a name that leads elsewhere";
  if (path === "" || bad(path) || leaves(path)) return `has the path ${JSON.stringify(path.slice(0, 100))}`;
  return undefined;
}

/** The commit at a module's path; undefined when there is none. A path through a link has none. */
async function gitlink(tree: Tree, { path }: Module): Promise<Outcome<string | undefined>> {
  let at = tree.root;
  const parts = segments(path);
  for (const [i, part] of parts.entries()) {
    const entries = await tree.list(at);
    if (entries.kind !== "done") return entries;
    const entry = entries.value.find(({ name }) => name === part);
    if (entry?.kind === "link")
      return stop(REPO.refused, `submodule path ${path} goes through a link, which is refused`);
    if (i === parts.length - 1) return done(entry?.kind === "submodule" ? entry.sha : undefined);
    if (entry?.kind !== "tree") return done(undefined);
    at = entry.sha;
  }
  return done(undefined);
}

/** How to get into a module: beside its parent with the parent's credentials, elsewhere only with credentials for that address. */
function wayTo(
  { path, url: given }: Module,
  parent: RepoAccess,
  top: RepoAccess,
  allowLocal: boolean,
): Outcome<RepoAccess> {
  const refuse = (why: string) =>
    stop(REPO.urlRefused, `submodule ${path}: address ${redactUrl(given).slice(0, 200)} ${why}`);
  if (!given || given.length > 2_048 || given.startsWith("-") || /[\p{Cc}\s\\]/u.test(given))
    return refuse("is refused");
  if (given.includes("::") || /^(file|ext|fd|git):/i.test(given) || given.startsWith("/"))
    return refuse("is refused: only https, ssh and paths beside the repository are read");
  const url = /^\.\.?\//.test(given) ? beside(parent.url, given) : given;
  if (url === undefined) return refuse("leads above its host");
  if (isCrooked(url)) return refuse('has ".." or an encoded "/", "." or "%" in its path: write the path plainly');
  if (/^[a-z]+:\/\/[^/]*:[^/]*@/i.test(url)) return refuse("has a password; keep it in a credential template");
  const { ways = [], enableLfs, proxy, noProxy, knownHosts } = top;
  const normal = normaliseUrl(url);
  const way = ways
    .filter(({ url: prefix }) => isBelow(normal, normaliseUrl(prefix)))
    .sort((a, b) => b.url.length - a.url.length)[0];
  // What a template lent to the parent is for addresses below the template's own.
  const same =
    placeOf(url) === placeOf(parent.url) && (!parent.lentBelow || isBelow(normal, normaliseUrl(parent.lentBelow)));
  if (!way && !same && placeOf(url) === placeOf(parent.url))
    return gitAccess(anonymous({ ...parent, url }), { allowLocal });
  if (!way && !same) return refuse("is on another host, for which no repository or credential template is kept");
  const full: RepoAccess = way
    ? { ...(signsIn(way) ? {} : { proxy, noProxy, knownHosts }), ...way, url, enableLfs, ways }
    : { ...parent, url };
  return gitAccess(lends(top, url) ? full : anonymous(full), { allowLocal });
}

/** Whether credentials may be shown there: to the repository itself, and to what the project permits. */
const lends = ({ url: own, sourceRepos }: RepoAccess, url: string): boolean =>
  !sourceRepos || normaliseUrl(url) === normaliseUrl(own) || permitsSource({ sourceRepos: [...sourceRepos] }, url);

function anonymous({
  url,
  enableLfs,
  ways,
  proxy,
  noProxy,
  knownHosts,
  ca,
  insecure,
  insecureIgnoreHostKey,
  depth,
}: RepoAccess): RepoAccess {
  return { url, enableLfs, ways, proxy, noProxy, knownHosts, ca, insecure, insecureIgnoreHostKey, depth };
}

/** The scheme, user and host: where the parent's credentials may go. */
function placeOf(url: string): string {
  const normal = normaliseUrl(url);
  if (isSsh(url)) return normal.split("/").slice(0, 3).join("/");
  return URL.canParse(normal) ? new URL(normal).origin : normal;
}

const isBelow = (url: string, prefix: string): boolean =>
  url === prefix || url.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`);

/** `../other.git` as git means it: the parent's address is a folder. Undefined above the first part of the path. */
function beside(parent: string, relative: string): string | undefined {
  const base = parent.replace(/(?<!\/)\/+$/, "");
  const scp = !base.includes("://");
  const at = scp ? base.indexOf(":") + 1 : base.indexOf("/", base.indexOf("://") + 3) + 1;
  if (at === 0) return undefined;
  const parts = base.slice(at).split("/").filter(Boolean);
  for (const part of segments(relative)) {
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.length ? base.slice(0, at) + parts.join("/") : undefined;
}
