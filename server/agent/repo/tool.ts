import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The full path of a tool: `OUTPOST_HELM`, `OUTPOST_KUSTOMIZE`, … when set, else the first on PATH. */
export function findTool(name: string, env: NodeJS.ProcessEnv = process.env): string {
  const given = env[`OUTPOST_${name.toUpperCase()}`];
  if (given) return given;
  for (const folder of (env.PATH ?? "").split(delimiter)) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not here; the next folder.
    }
  }
  return name;
}
