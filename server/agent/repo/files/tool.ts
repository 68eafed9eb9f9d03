import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** `tools` beside the bundle, seen from it or from one of its chunks. */
const BESIDE = ["./tools/", "../tools/"].map((path) => fileURLToPath(new URL(path, import.meta.url)));

/** The full path of a tool: `OUTPOST_HELM`, `OUTPOST_KUSTOMIZE`, … when set, else the first on PATH, else one beside the bundle. */
export function findTool(name: string, env: NodeJS.ProcessEnv = process.env): string {
  const given = env[`OUTPOST_${name.toUpperCase()}`];
  if (given) return given;
  for (const folder of [...(env.PATH ?? "").split(delimiter), ...BESIDE]) {
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
