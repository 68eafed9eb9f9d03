import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../base/process/run.ts";
import { tool } from "./ways.ts";

const EVERYWHERE: readonly string[] = ["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock"];
const ROOTS = ["/", "/dev", "/run", "/var"];
const STICKY_FOR_ALL = 0o1002;

/** Where every user may leave files: the usual folders, and those that this system has beside them, such as Ubuntu's /var/crash. */
export function sharedPlaces(roots: readonly string[] = ROOTS): string[] {
  const found = roots.flatMap((root) => foldersIn(root));
  const mode = (path: string) => statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  const open = found.filter((path) => (mode(path) & STICKY_FOR_ALL) === STICKY_FOR_ALL);
  return [...new Set([...EVERYWHERE.filter((path) => existsSync(path)), ...open])];
}

function foldersIn(root: string): string[] {
  try {
    return readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [join(root, entry.name)] : [],
    );
  } catch {
    return [];
  }
}

const DEADLINE_MS = 60_000;
/** By the option of ipcrm: where the kernel lists them, and the columns of owner and maker. The number is in the second one. */
const KINDS: readonly { option: string; kind: string; columns: readonly number[] }[] = [
  { option: "-m", kind: "shm", columns: [7, 9] },
  { option: "-s", kind: "sem", columns: [4, 6] },
  { option: "-q", kind: "msg", columns: [7, 9] },
];

const QUIET = ["/bin/sh", "-c", 'exec "$@" 2>/dev/null', "sh"];

/**
 * Removes what a user of an attempt left in places that it shares with others. As that user: it can remove nothing else, whatever somebody
 * puts in the place of a folder meanwhile. Its last process has ended. Says whether nothing is left, which root looks for: a folder of another
 * task may be closed to this user.
 *
 * The delegate's own folder may lie in such a place; what is in there is its business. Folders of other tasks that cannot be read are as many as those like; what is said of them is bounded elsewhere and would end the removal.
 */
export async function removeLeftovers(
  uid: number,
  workDir: string,
  { places = sharedPlaces(), lists = "/proc/sysvipc" } = {},
): Promise<boolean> {
  const as = [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--no-new-privs", "--bounding-set=-all"];
  const own = [tool("find"), ...places, "-xdev", "-path", literal(workDir), "-prune", "-o", "-user", String(uid)];
  const asUser = (command: readonly string[]) => carryOut([tool("setpriv"), ...as, "--", ...QUIET, ...command]);
  // With what others have put into its folders: only their owner can.
  const remove = () => asUser([...own, "-prune", "-exec", "rm", "-rf", "--", "{}", "+"]);
  const isClear = async () => {
    const found = await carryOut([...QUIET, ...own, "-print"]);
    return found.kind === "done" && found.value.stdout.length === 0 && made(uid, lists).length === 0;
  };
  for (const { option, id } of made(uid, lists)) await asUser([tool("ipcrm"), option, id]);
  await remove();
  if (await isClear()) return true;
  // One program for all closed folders: a start for each of a hundred thousand would take minutes.
  await asUser([...own, "-type", "d", "-prune", "-exec", "chmod", "-R", "u+rwx", "--", "{}", "+"]);
  await remove();
  return isClear();
}

/** A path as a pattern of `find`. */
const literal = (path: string) => path.replace(/[\\*?[\]]/g, "\\$&");

const carryOut = ([file, ...args]: readonly string[]) =>
  run(file!, {
    args,
    cwd: "/",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
    deadlineMs: DEADLINE_MS,
    maxBytes: 1_000_000,
  });

/** A kernel without System V has no such lists. */
const made = (uid: number, lists: string) =>
  KINDS.flatMap(({ option, kind, columns }) => {
    const list = join(lists, kind);
    const rows = existsSync(list) ? readFileSync(list, "utf8").trim().split("\n").slice(1) : [];
    return rows.flatMap((row) => {
      const fields = row.trim().split(/\s+/);
      return columns.some((at) => fields[at] === String(uid)) ? [{ option, id: fields[1]! }] : [];
    });
  });
