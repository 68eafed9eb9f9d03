import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { ENTER, WHEN_CLOSED } from "./enter.ts";
import { LANDLOCK } from "./landlock.ts";
import { filterFor } from "./seccomp.ts";
import { USERS } from "./users.ts";

/** The system's own program of that name; never one that a PATH leads to, because some of these run as root. */
export const tool = (name: string) =>
  ["/usr/bin", "/bin", "/usr/sbin", "/sbin"].map((dir) => `${dir}/${name}`).find((path) => existsSync(path)) ?? name;

/** What one command in a sandbox needs to know. */
export interface Place {
  /** The delegate's folder, which is closed to the task, and the folder that covers it. */
  workDir: string;
  cover: string;
  /** An empty folder in it, where the task's view is put together. */
  stage: string;
  /** The attempt's folder, the one thing of it that the task sees. */
  dir: string;
  cwd: string;
  uid: number;
  gid: number;
  /** Files and folders that are closed beside the work folder. */
  hidden: readonly string[];
  /** Files and folders below the cover that tasks read all the same. */
  shown: readonly string[];
  /** Rules of Landlock, without those for `dir`. */
  readable: readonly string[];
  /** 0: no bound. */
  processes: number;
  /** The first of the further users that the command gets, as programs that build images need them; undefined for one user alone. */
  users: number | undefined;
  /** The command builds images: it is root of a namespace of users. */
  builds: boolean;
  /** Folders that every user may write to, beside /tmp and those of the kernel: a command gets its own. */
  shared: readonly string[];
  /** /tmp and /var/tmp become the attempt's own. */
  ownTmp: boolean;
}

/** One way to keep a task apart, made of tools that an ordinary system has. */
export interface Way {
  name: string;
  /** Works for root only, or for everybody else only. */
  root: boolean;
  /** Each attempt runs as a user of its own. */
  uids: boolean;
  /** The task gets a file system of its own: closed folders on the way do not matter. */
  mounts: boolean;
  /** A task may leave files where every user may, which are removed at its end. */
  shares?: boolean;
  /** Why a command that builds images is refused. */
  cannotBuild?: string;
  argv(place: Place, command: readonly string[]): string[];
}

const limit = ({ processes }: Place) => (processes ? [tool("prlimit"), `--nproc=${processes}:${processes}`, "--"] : []);
/** As a user without a name, groups, capabilities, or a way to get any. */
const asUser = (place: Place) => [
  ...limit(place),
  tool("setpriv"),
  `--reuid=${place.uid}`,
  `--regid=${place.gid}`,
  "--clear-groups",
  "--no-new-privs",
  "--bounding-set=-all",
  "--inh-caps=-all",
  "--",
];
/** As root of a namespace of users: outside of it, the attempt's user and others that are unused. */
const asUsers = (place: Place) => [
  ...limit(place),
  ...[tool("setpriv"), "--no-new-privs", "--"],
  ...["/bin/sh", "-c", USERS, "sh", String(place.uid), String(place.gid), String(place.users)],
];
const plain = (place: Place) => [...limit(place), tool("setpriv"), "--no-new-privs", "--"];
/**
 * A command that builds images is made root of a namespace of users that has one. It would make that namespace itself, for which it has to
 * write to /proc, and needs a name for its user, which a user of an attempt has not.
 */
const builder = ({ builds }: Place) => (builds ? [tool("unshare"), "--user", "--map-root-user", "--"] : []);
/** Back from root of a namespace to the same user: the mounts are another's then and cannot be taken away. */
const remapped = (place: Place, ready: readonly string[]) => [
  ...(place.builds
    ? builder(place)
    : [tool("unshare"), "--user", `--map-user=${place.uid}`, `--map-group=${place.gid}`, "--"]),
  ...ready,
  ...plain(place),
];
const entered = (place: Place, proc: "own" | "closed", as: readonly string[], command: readonly string[]) => [
  ...["/bin/sh", "-c", ENTER, "sh"],
  ...[place.cover, place.dir, place.stage, place.cwd, proc, place.ownTmp ? "tmp" : "", place.shared.join(" ")],
  ...[...place.shown, "--", ...place.hidden, "--"],
  ...as,
  ...command,
];
const filter = (ownUser: boolean) => {
  const found = filterFor(process.arch, ownUser);
  return found ? [`filter:${found}`] : [];
};
const landlocked = (place: Place, ownUser: boolean, command: readonly string[]) => [
  ...[tool("perl"), "-e", LANDLOCK],
  ...filter(ownUser),
  ...place.readable,
  `rw:${place.dir}`,
  "--",
  ...command,
];
/** Abstract sockets are the network's, which tasks share: closed between them where the kernel can. */
const scoped = (command: readonly string[], filtered: readonly string[] = []) => {
  const perl = tool("perl");
  return isAbsolute(perl) ? [perl, "-e", LANDLOCK, "scope:", ...filtered, "--", ...command] : command;
};

const CANNOT_BUILD =
  "the sandbox here is Landlock, which forbids the mounts that a builder of images makes: allow the delegate user namespaces, or root with CAP_SYS_ADMIN";
const own = (namespaces: readonly string[]) => [tool("unshare"), ...namespaces, "--fork", "--kill-child", "--"];

/** The strongest first. */
export const WAYS: readonly Way[] = [
  {
    name: "uid+pid+mount",
    ...{ root: true, uids: true, mounts: true },
    argv: (place, command) => [
      ...own(["--mount", "--pid", "--ipc"]),
      ...entered(place, "own", place.users === undefined ? asUser(place) : asUsers(place), scoped(command)),
    ],
  },
  {
    name: "uid+landlock",
    ...{ root: true, uids: true, mounts: false, cannotBuild: CANNOT_BUILD },
    argv: (place, command) => [...asUser(place), ...landlocked(place, true, command)],
  },
  {
    name: "uid",
    ...{ root: true, uids: true, mounts: false, shares: true },
    argv: (place, command) => [...asUser(place), ...builder(place), ...scoped(command, filter(true))],
  },
  {
    name: "user+pid+mount",
    ...{ root: false, uids: false, mounts: true },
    argv: (place, command) => [
      ...own(["--user", "--map-root-user", "--mount", "--pid", "--ipc"]),
      ...entered(place, "own", remapped(place, []), scoped(command)),
    ],
  },
  {
    name: "user+mount",
    ...{ root: false, uids: false, mounts: true },
    // Where /proc is masked, a new one cannot be mounted. The namespace of processes is made all the same: the task sees the numbers of
    // the machine in /proc, can signal none of them, and all its processes end with the first one.
    argv: (place, command) => [
      ...own(["--user", "--map-root-user", "--mount", "--pid", "--ipc"]),
      ...entered(place, "closed", remapped(place, WHEN_CLOSED), scoped(command)),
    ],
  },
  {
    name: "landlock",
    ...{ root: false, uids: false, mounts: false, cannotBuild: CANNOT_BUILD },
    argv: (place, command) => [...plain(place), ...landlocked(place, false, command)],
  },
];
