import { cp, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import type { Context } from "../kind.ts";

/** What a plan's artefact says about itself. */
export interface SavedPlan {
  /** Folder of the configuration below the source. */
  path: string;
  workspace?: string;
  policy?: Schemas["PlanPolicy"];
}

const NAME = "plan.tgz";

/** Keeps a plan with its configuration, so that exactly it can be applied, by another delegate too. */
export async function savePlan(
  source: string,
  folder: string,
  plan: string,
  about: Omit<SavedPlan, "path">,
  context: Context,
): Promise<Failure | undefined> {
  const packed = join(context.workspace.dir, "saved");
  await mkdir(packed, { mode: 0o700 });
  const kept = (path: string) => ![".git", ".terraform"].includes(basename(path));
  await cp(source, join(packed, "source"), { recursive: true, verbatimSymlinks: true, filter: (path) => path === source || kept(path) });
  await cp(plan, join(packed, "plan"));
  const text: SavedPlan = { path: relative(source, folder) || ".", ...about };
  await writeFile(join(packed, "about.json"), JSON.stringify(text));
  const done = await context.keep(NAME, packed);
  if (done.kind !== "done") return done;
  await context.progress(
    `kept as ${NAME}; it may hold sensitive values of variables and of the state, for whoever may read this scope's artefacts`,
  );
  return undefined;
}

/** Brings a saved plan back: its folder, its file, and what it says about itself. */
export async function takePlan(
  ref: Schemas["ArtifactRef"],
  context: Context,
): Promise<Outcome<SavedPlan & { source: string; file: string }>> {
  const folder = await context.source({ artifact: ref }, "saved");
  if (folder.kind !== "done") return folder;
  let about: SavedPlan;
  try {
    about = JSON.parse(await readFile(join(folder.value, "about.json"), "utf8")) as SavedPlan;
  } catch {
    return stop("PlanInvalid", `/params/plan: ${ref.name} of ${ref.task} is not the plan of a terraform.plan task`);
  }
  // Out of the folder that Terraform works in.
  const file = join(context.workspace.dir, "plan");
  await rename(join(folder.value, "plan"), file);
  return done({ ...about, source: join(folder.value, "source"), file });
}
