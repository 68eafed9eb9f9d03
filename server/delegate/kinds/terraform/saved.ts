import { rename } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { readJson } from "../../../base/json/nesting.ts";
import { done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import type { TaskContext } from "../../kind.ts";
import { findTaskPath, readTaskFile } from "../../task/task-files.ts";

/** What a plan's artefact says about itself. */
export interface SavedPlan {
  /** Folder of the configuration below the source. */
  path: string;
  workspace?: string;
  policy?: Schemas["PlanPolicy"];
}

const NAME = "plan.tgz";
const MAX_ABOUT = 1024 * 1024;

/** Keeps a plan with its configuration, so that exactly it can be applied, by another delegate too. */
export async function savePlan(
  source: string,
  folder: string,
  plan: string,
  about: Omit<SavedPlan, "path">,
  context: TaskContext,
): Promise<Failure | undefined> {
  const { dir } = context.workspace;
  const text: SavedPlan = { path: relative(source, folder) || ".", ...about };
  const files = await findTaskPath(dir, source, ".");
  if (files.kind !== "done") return files;
  const made = await findTaskPath(dir, dir, relative(dir, plan));
  const kept = (name: string) => name !== ".git" && name !== ".terraform";
  try {
    if (made.kind !== "done") return made;
    if (!made.value.file || !files.value.folder) return stop("PlanFailed", "terraform has not left a plan");
    const parts = [
      { name: "about.json", content: JSON.stringify(text) },
      { name: "plan", content: made.value.file },
      { name: "source", content: files.value.folder, kept },
    ];
    const done = await context.keep(NAME, { parts });
    if (done.kind !== "done") return done;
  } finally {
    await files.value.folder?.close();
    if (made.kind === "done") await (made.value.file ?? made.value.folder)?.close();
  }
  await context.progress(
    `kept as ${NAME}; it may hold sensitive values of variables and of the state, and everyone with read access to this scope's artefacts can see them`,
  );
  return undefined;
}

/** Brings a saved plan back: its folder, its file, and what it says about itself. */
export async function takePlan(
  ref: Schemas["ArtifactRef"],
  context: TaskContext,
): Promise<Outcome<SavedPlan & { source: string; file: string }>> {
  const folder = await context.source({ artifact: ref }, "saved");
  if (folder.kind !== "done") return folder;
  let about: SavedPlan;
  try {
    const text = await readTaskFile(context.workspace.dir, join(folder.value, "about.json"), MAX_ABOUT);
    about = readJson(text ?? "") as SavedPlan;
  } catch {
    return stop("PlanInvalid", `/params/plan: ${ref.name} of ${ref.task} is not the plan of a terraform.plan task`);
  }
  // Out of the folder that Terraform works in.
  const file = join(context.workspace.dir, "plan");
  await rename(join(folder.value, "plan"), file);
  return done({ ...about, source: join(folder.value, "source"), file });
}
