import { realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { done, type Outcome, stop } from "../../base/outcome.ts";

/** The real place of a path below a folder. A link that leads out of it is refused: it would show the delegate's own files to a task. */
export async function inside(folder: string, path: string): Promise<Outcome<string>> {
  if (path.includes("\0")) return stop("PathRefused", "a path holds a NUL");
  const root = await realpath(folder);
  const place = await realpath(join(root, path)).catch(() => undefined);
  if (place === undefined) return stop("PathNotFound", `there is no ${JSON.stringify(path)} among the task's files`);
  if (place !== root && !place.startsWith(root + sep))
    return stop("PathRefused", `${JSON.stringify(path)} leads out of the task's files`);
  return done(place);
}
