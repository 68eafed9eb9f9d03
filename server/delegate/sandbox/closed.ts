import { accessSync, constants, existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { delimiter, dirname, isAbsolute, join, sep } from "node:path";

/** What a sandbox closes to tasks beside the work folder. */
export interface Closed {
  /** What hides the work folder where mounts are made: it, or a folder above it. */
  cover: string;
  /** Files and folders that are closed. With mounts, those below the cover are not listed. */
  hidden: string[];
  /** Files in them that this process can read: no task may. */
  samples: string[];
}

interface Kind {
  uids: boolean;
  mounts: boolean;
}

const MOST_SAMPLES = 32;
const MOST_LOOKS = 200;

/** The token, settings and secrets, wherever they are files, and the home of a user whose tasks run as that user. */
export function closedOf(env: NodeJS.ProcessEnv, workDir: string, way: Kind, more: readonly string[] = []): Closed {
  const homes = way.uids ? [] : homesOf(env);
  const cover = coverOf(workDir, way, homes);
  const files = [
    ...(env.OUTPOST_TOKEN_FILE ? [env.OUTPOST_TOKEN_FILE] : []),
    env.OUTPOST_CONFIG_FILE || "/etc/outpost/delegate.yaml",
    ...more,
  ].flatMap(placesOf);
  const folders = [env.OUTPOST_SECRETS_DIR || "/etc/outpost/secrets"].filter((path) => existsSync(path));
  const all = [...new Set([...homes, ...files, ...folders, ...folders.map((path) => realpathSync(path))])];
  const tools = toolsOf(env).filter((path) => isAbsolute(path) && existsSync(path));
  // A mount over the cover hides what is below it. Landlock has no cover: each path is closed by itself.
  const hidden = !way.mounts
    ? all
    : all
        .filter((path) => !within(path, cover))
        // Mounts cannot show a folder of programs below one that they hide: everything beside it is hidden instead.
        .flatMap((path) => (tools.some((dir) => within(dir, path)) ? besides(path, tools) : [path]));
  return { cover, hidden, samples: samplesOf(all, [workDir, ...tools]) };
}

/** Everything in a folder but these and what leads to them. */
function besides(folder: string, kept: readonly string[]): string[] {
  if (kept.includes(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) return [];
    return kept.some((other) => within(other, path)) ? besides(path, kept) : [path];
  });
}

/** Folders that tasks may read below closed ones: those of programs, and more. A folder that holds something closed is not among them. */
export function shownOf(
  paths: readonly string[],
  { cover, hidden }: Closed,
  workDir: string,
  mounts: boolean,
): string[] {
  const closed = [workDir, ...hidden].map((path) => realpathSync(path));
  return [...new Set(paths)].filter((path) => {
    if (!isAbsolute(path) || !existsSync(path)) return false;
    const real = realpathSync(path);
    if (closed.some((other) => within(other, real))) return false;
    return mounts ? path !== cover && within(path, cover) : closed.some((other) => within(real, other));
  });
}

export const toolsOf = (env: NodeJS.ProcessEnv) => (env.PATH ?? "").split(delimiter);

/** What hides the work folder: the first folder on the way that a user of its own could not enter, or the home of the one that all share. */
function coverOf(workDir: string, way: Kind, homes: readonly string[]): string {
  const home = homes.find((path) => within(workDir, path));
  if (home) return home;
  const closed = way.uids && way.mounts ? ancestors(workDir).find((dir) => (statSync(dir).mode & 1) === 0) : undefined;
  return closed ?? workDir;
}

/**
 * The homes of the delegate's user, with keys and settings that are not for tasks: the one of HOME, and the one that its account has, which
 * ssh uses. A folder at the root of the file system is one only if the user owns it.
 */
function homesOf(env: NodeJS.ProcessEnv): string[] {
  const account = accountHome();
  const homes = [
    ...(env.HOME && isHome(env.HOME, 2) ? [realpathSync(env.HOME)] : []),
    ...(account && isHome(account, Number.POSITIVE_INFINITY) ? [realpathSync(account)] : []),
  ];
  // The outer one closes the inner one too.
  return [...new Set(homes)].filter((home) => !homes.some((other) => other !== home && within(home, other)));
}

function isHome(path: string, depth: number): boolean {
  if (!isAbsolute(path) || !existsSync(path)) return false;
  const real = realpathSync(path);
  return real !== "/" && (ancestors(real).length >= depth || statSync(real).uid === process.getuid?.());
}

function accountHome(): string | undefined {
  try {
    return userInfo().homedir;
  } catch {
    // A user without a name, as containers have.
    return undefined;
  }
}

/**
 * A mounted Secret is replaced by another folder with the same link to it: the folder around it is closed then, and what the link leads to
 * now. A folder at the root of the file system, as /etc, is never closed as a whole.
 */
function placesOf(path: string): string[] {
  if (!existsSync(path)) return [];
  const [folder, real] = [realpathSync(dirname(path)), realpathSync(path)];
  const inPlace = join(folder, path.slice(path.lastIndexOf(sep) + 1));
  if (real === inPlace) return [real];
  return ancestors(folder).length >= 2 ? [folder, ...(within(real, folder) ? [] : [real])] : [real];
}

/** Some files that can be read there; a walk that is bounded, because a home can be large. */
function samplesOf(paths: readonly string[], except: readonly string[]): string[] {
  const found: string[] = [];
  const open = [...paths];
  for (let looks = 0; open.length && looks < MOST_LOOKS && found.length < MOST_SAMPLES; looks++) {
    const path = open.shift()!;
    if (except.some((other) => other !== "" && within(path, other))) continue;
    try {
      const stat = statSync(path);
      if (stat.isDirectory())
        for (const entry of readdirSync(path, { withFileTypes: true }))
          if (!entry.isSymbolicLink()) open.push(join(path, entry.name));
      if (!stat.isFile() || stat.size === 0) continue;
      accessSync(path, constants.R_OK);
      found.push(path);
    } catch {
      // It went away, or this process cannot read it either.
    }
  }
  return found;
}

export const within = (path: string, folder: string) =>
  path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);

const ancestors = (path: string): string[] => (dirname(path) === path ? [] : [...ancestors(dirname(path)), path]);
