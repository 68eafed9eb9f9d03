import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";

/** Bounds of the files that are read: far above any real configuration. */
const MOST_FILES = 1_000;
const MOST_BYTES = 1024 * 1024;

export interface SourceFile {
  /** From the folder that Terraform runs in. */
  readonly name: string;
  readonly text: string;
}

/** The files of a configuration and of its modules, as far as they are there. Terraform starts a provider in the folder of the configuration. */
export function sourceFiles(folder: string, env: NodeJS.ProcessEnv = process.env): SourceFile[] {
  const out: SourceFile[] = [];
  for (const module of modulesOf(folder, env))
    for (const name of namesIn(module)) {
      const path = join(module, name);
      const text = out.length < MOST_FILES ? textOf(path) : undefined;
      if (text !== undefined) out.push({ name: relative(folder, path), text });
    }
  return out;
}

function modulesOf(folder: string, env: NodeJS.ProcessEnv): string[] {
  const manifest = textOf(join(folder, env.TF_DATA_DIR || ".terraform", "modules/modules.json"));
  try {
    const { Modules = [] } = JSON.parse(manifest ?? "{}") as { Modules?: { Dir?: unknown }[] };
    const folders = Modules.map(({ Dir }) => (typeof Dir === "string" ? join(folder, Dir) : folder));
    return [...new Set([folder, ...folders])];
  } catch {
    return [folder];
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".tf"));
  } catch {
    return [];
  }
}

function textOf(path: string): string | undefined {
  try {
    return statSync(path).size <= MOST_BYTES ? readFileSync(path, "utf8") : undefined;
  } catch {
    return undefined;
  }
}
