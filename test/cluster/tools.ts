import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../servers/run.ts";
import { cacheRoot, once } from "./cache.ts";
import { download } from "./download.ts";
import { type Progress, step } from "./progress.ts";
import { type Recipe, recipes } from "./recipes.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Program name → path of the file to run. */
export type Programs = Record<string, string>;

/** The folder a recipe's programs are kept in: its name and the first 12 digits of the hash of go.mod followed by go.sum. */
export function toolFolder(
  recipe: Pick<Recipe, "name" | "onDemand">,
  root = cacheRoot(),
  sources = sourcesOf(recipe),
): string {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(join(sources, recipe.name, file)));
  return join(root, "tools", `${recipe.name}-${hash.digest("hex").slice(0, 12)}`);
}

const sourcesOf = ({ onDemand }: Pick<Recipe, "onDemand">) => join(here, onDemand ? "tools-on-demand" : "tools");

/** A recipe that was asked for: by its name, or, if none is named, each that is not only on demand. */
const asked = (recipe: Recipe, names?: string[]) => (names ? names.includes(recipe.name) : !recipe.onDemand);

/**
 * Downloads or builds what is missing of the named tools (all but those on demand, when none is named) and tells where each
 * program is.
 */
export async function buildTools(progress: Progress, names?: string[]): Promise<Programs> {
  const programs: Programs = {};
  const wanted = recipes.filter((recipe) => asked(recipe, names));
  for (const [index, recipe] of wanted.entries()) {
    const dir = toolFolder(recipe);
    const own = existsSync(join(dir, ".done")) ? undefined : await onPath(recipe);
    if (own) {
      progress(`${recipe.name}: using ${own}`);
      for (const program of Object.keys(recipe.programs)) programs[program] = own;
      continue;
    }
    await once(
      dir,
      () => obtain(recipe, dir, progress, wanted.slice(index + 1)),
      () => progress(`waiting for ${recipe.name}, which another process gets`),
    );
    Object.assign(programs, locate(recipe, dir));
  }
  return programs;
}

/** Where the programs of a finished folder are, under the name go gave them. */
export function locate(recipe: Recipe, dir: string, exists: (path: string) => boolean = existsSync): Programs {
  return Object.fromEntries(
    Object.entries(recipe.programs).map(([program, files]) => {
      const found = files.map((file) => join(dir, file)).find(exists);
      if (!found) throw new Error(`${dir} is marked done but has no ${program}: remove it and run again`);
      return [program, found];
    }),
  );
}

/** Tools that are neither in the cache nor on PATH, which is what `go` is needed for. */
export async function missingTools(names?: string[]): Promise<string[]> {
  const missing = [];
  for (const recipe of recipes) {
    if (!asked(recipe, names)) continue;
    if (!existsSync(join(toolFolder(recipe), ".done")) && !(await onPath(recipe))) missing.push(recipe.name);
  }
  return missing;
}

/** Whether a tool can be had without asking anybody: it was built before, or Go is here to build it. Tests that need it skip else. */
export function canHave(name: string): boolean {
  const recipe = recipes.find((r) => r.name === name);
  if (!recipe) throw new Error(`there is no recipe ${name}`);
  return existsSync(join(toolFolder(recipe), ".done")) || which("go") !== undefined;
}

/** The vendor's release where it answers, else a build from source. */
async function obtain(recipe: Recipe, dir: string, progress: Progress, later: Recipe[]): Promise<void> {
  const refused = await download(recipe, dir, progress);
  if (refused === undefined) return;
  if (!which("go"))
    throw new Error(`${recipe.name} cannot be downloaded (${refused}), and there is no Go to build it: ${GET_GO}`);
  progress(`${recipe.name} is built from source: ${refused}`);
  await step(progress, `building ${recipe.name} (${timeLeft(recipe, later)})`, () => build(recipe, dir));
}

export const GET_GO = "install Go 1.26 or newer from https://go.dev/dl";

/** `about 18 min, then 3 more tools, about 9 min`: those that follow and are not there yet. */
export function timeLeft(
  recipe: Recipe,
  later: Recipe[],
  isThere = (r: Recipe) => existsSync(join(toolFolder(r), ".done")),
): string {
  const left = later.filter((r) => !isThere(r));
  const minutes = left.reduce((sum, { minutes }) => sum + minutes, 0);
  const then = left.length ? `, then ${left.length} more tool${left.length > 1 ? "s" : ""}, about ${minutes} min` : "";
  return `about ${recipe.minutes} min${then}`;
}

async function build(recipe: Recipe, dir: string): Promise<void> {
  const cwd = join(sourcesOf(recipe), recipe.name);
  const env = { ...process.env, CGO_ENABLED: recipe.cgo ? "1" : "0", GOFLAGS: "", GOWORK: "off" };
  const tags = recipe.tags ? ["-tags", recipe.tags.join(",")] : [];
  const flags = ["-p", "2", "-trimpath", ...tags, "-ldflags", `-s -w ${recipe.ldflags}`.trim()];
  await run("go", ["build", ...flags, "-o", `${dir}/`, ...recipe.packages], { cwd, env, deadlineMs: 60 * 60_000 });
  if (!recipe.files) return;
  const { stdout } = await run("go", ["list", "-m", "-f", "{{.Dir}}", recipe.files.module], { cwd, env });
  const folders = recipe.files.folders.map((folder) => join(stdout.trim(), folder));
  // The module cache is read-only, and folders with its modes could not be removed.
  await run("cp", ["-r", "--no-preserve=mode", ...folders, dir]);
}

/** The machine's own program, when the recipe allows one and its version fits. */
async function onPath(recipe: Recipe): Promise<string | undefined> {
  if (!recipe.fits) return undefined;
  const path = which(recipe.fits.program);
  if (!path) return undefined;
  const said = await run(path, recipe.fits.args, { deadlineMs: 60_000 }).catch(() => undefined);
  return said && recipe.fits.version.test(said.stdout.trim()) ? path : undefined;
}

/** A program's path by PATH, or undefined. */
export function which(program: string, path = process.env.PATH ?? ""): string | undefined {
  // Sbin folders hold ip and sysctl, and are not on every user's PATH.
  const folders = [...path.split(":"), "/usr/local/sbin", "/usr/sbin", "/sbin"].filter(Boolean);
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file));
}
