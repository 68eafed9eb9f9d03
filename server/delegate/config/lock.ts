import { statSync } from "node:fs";
import { connect, createServer } from "node:net";
import { done, type Outcome, stop } from "../../base/outcome.ts";

/**
 * Takes a work folder for this process alone: two delegates in one folder would share an identity and remove each other's workspaces.
 * The lock is a socket name of the kernel's, not a file: it is gone at the very moment its process is, however that ended.
 */
export async function lockFolder(dir: string): Promise<Outcome<() => void>> {
  if (process.platform !== "linux") return done(() => {});
  const server = createServer((socket) => socket.destroy());
  server.unref();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ path: nameOf(dir) }, resolve);
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE")
      return stop("FolderNotLocked", `${dir} cannot be locked: ${(error as Error).message}`);
    return stop("FolderInUse", `another delegate works in ${dir}; set OUTPOST_WORK_DIR to a folder of this one's own`);
  }
  server.on("error", () => {});
  return done(() => void server.close());
}

const nameOf = (dir: string) => {
  const { dev, ino } = statSync(dir);
  return `\0outpost-delegate-${dev}-${ino}`;
};

/** Whether a delegate works in that folder now; it does not notice the question. */
export function isLocked(dir: string): Promise<boolean> {
  if (process.platform !== "linux") return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({ path: nameOf(dir) });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
