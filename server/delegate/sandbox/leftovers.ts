import { existsSync, readFileSync } from "node:fs";
import { run } from "../../base/process/run.ts";
import { tool } from "./ways.ts";

/** Where every user may leave files, on an ordinary system. */
export const SHARED_PLACES: readonly string[] = ["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock"];
const DEADLINE_MS = 60_000;
/** By the option of ipcrm: where the kernel lists them, and the columns of owner and maker. The number is in the second one. */
const KINDS = [
  { option: "-m", kind: "shm", columns: [7, 9] },
  { option: "-s", kind: "sem", columns: [4, 6] },
  { option: "-q", kind: "msg", columns: [7, 9] },
] as const;

/**
 * Removes what a user of an attempt left in places that it shares with others. As that user: it can remove nothing else, whatever somebody
 * puts in the place of a folder meanwhile. Its last process has ended.
 */
export async function removeLeftovers(uid: number): Promise<void> {
  const as = [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--no-new-privs", "--bounding-set=-all"];
  const places = SHARED_PLACES.filter((path) => existsSync(path));
  const own = ["-xdev", "-user", String(uid)];
  const commands = [
    [tool("find"), ...places, ...own, "-type", "d", "!", "-perm", "-700", "-exec", "chmod", "u+rwx", "{}", ";"],
    [tool("find"), ...places, ...own, "-delete"],
    ...KINDS.flatMap(({ option, kind, columns }) => made(uid, kind, columns).map((id) => [tool("ipcrm"), option, id])),
  ];
  for (const command of commands)
    await run(tool("setpriv"), {
      args: [...as, "--", ...command],
      cwd: "/",
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
      deadlineMs: DEADLINE_MS,
      maxBytes: 1_000_000,
    });
}

function made(uid: number, kind: string, owners: readonly number[]): string[] {
  const rows = readFileSync(`/proc/sysvipc/${kind}`, "utf8").trim().split("\n").slice(1);
  return rows.flatMap((row) => {
    const columns = row.trim().split(/\s+/);
    return owners.some((at) => columns[at] === String(uid)) ? [columns[1]!] : [];
  });
}
