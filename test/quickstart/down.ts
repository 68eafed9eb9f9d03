import { existsSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { findNode, stopNode } from "../cluster/node.ts";
import { recipes } from "../cluster/recipes.ts";
import { terraformMirror } from "../cluster/terraform.ts";
import { locate, toolFolder } from "../cluster/tools.ts";
import { begin, palette } from "../progress.mjs";
import { runs, stopBackground } from "./background.ts";
import { contextOf, type Run, signOut } from "./context.ts";
import { outpost } from "./show.ts";
import type { Memory } from "./state.ts";
import { applyNote, terraform, terraformErrors, terraformState } from "./terraform.ts";
import { terraformEnv } from "./up.ts";

/** Removes everything that `up` made: first by Terraform, as a user would, then what stood below it. */
export async function down(root: string, memory: Memory): Promise<number> {
  const { state } = memory;
  const c = palette();
  let left = false;
  const dir = memory.path("terraform");
  const canDestroy =
    runs(state.service) &&
    (state.own !== undefined || (state.nodeDir !== undefined && findNode(state.nodeDir) !== undefined));
  if (terraformState(dir) && canDestroy) {
    // Their finalizers need the controller, which Terraform removes: a cluster that goes whole need not wait for that.
    if (!state.own) await removeAdded(root, dir, contextOf(memory));
    const step = begin("terraform destroy");
    const note = applyNote();
    const env = await terraformEnv(
      { root, memory, port: state.port, ...(state.own ? { own: state.own } : {}) },
      await mirror(),
    );
    const ran = await terraform(
      dir,
      ["destroy", "-input=false", "-no-color", "-auto-approve"],
      env,
      memory.path("logs/terraform.log"),
      (line) => {
        const text = note(line);
        if (text) step.note(text);
      },
    );
    if (ran.code === 0) step.done(/Destroy complete! Resources: (.*)\./.exec(ran.output)?.[1] ?? "");
    else {
      step.fail();
      console.error(whyLeft(ran.output, state.own !== undefined));
      left = true;
    }
  }
  // What could not be destroyed in a cluster of the user's own must not lose the service that could still do it.
  if (left && state.own) {
    console.error(
      `\n${c.yellow("The service goes on, so that you can try again.")} Logs: .quickstart/logs/terraform.log`,
    );
    return 1;
  }
  const part = async (title: string, on: boolean, work: () => Promise<unknown>) => {
    if (!on) return;
    const step = begin(title);
    await work();
    step.done();
  };
  if (existsSync(`${root}/dist/outpost.mjs`))
    await part("Sign the command line out", true, () => signOut((...args) => outpost(root, args), memory));
  await part("Stop the service", runs(state.service), () => stopBackground(state.service));
  await part("Stop the sample Git server", runs(state.git), () => stopBackground(state.git));
  await part("Remove the local cluster", state.nodeDir !== undefined, () => stopNode(state.nodeDir!));
  await part("Remove .quickstart", true, () => rm(memory.dir, { recursive: true, force: true, maxRetries: 5 }));
  console.log(c.dim("Built tools stay in the cache for the next time: ~/.cache/outpost, or OUTPOST_CACHE."));
  return 0;
}

/** In the order in which nothing refers to them any more. */
const ADDED = ["appset", "app", "repo", "cluster", "appproject"];

/** What a person added beside Terraform's state. */
export async function addedBeside(run: Run, state: string): Promise<[noun: string, id: string][]> {
  const added: [string, string][] = [];
  for (const noun of ADDED) {
    const names = (await run(noun, "list", "--filter", "origin=managed", "-o", "name")).split("\n");
    for (const id of names.filter(Boolean).map((name) => name.slice(noun.length + 1)))
      if (!state.includes(`"id": "${id}"`)) added.push([noun, id]);
  }
  return added;
}

async function removeAdded(root: string, dir: string, context: string): Promise<void> {
  const run: Run = (...args) => outpost(root, ["--context", context, ...args]);
  const added = await addedBeside(run, readFileSync(join(dir, "terraform.tfstate"), "utf8"));
  if (added.length === 0) return;
  const step = begin("Remove what you added");
  for (const [noun, id] of added) {
    step.note(`${noun} ${id}`);
    // One that cannot go keeps nothing else: the cluster goes whole.
    await run(noun, "delete", id, "--yes", "--timeout", "60s").catch(() => undefined);
  }
  step.done(added.map(([noun, id]) => `${noun} ${id}`).join(", "));
}

/** What keeps Terraform from removing all of it, in words: applications that a person added use what it made. */
export function whyLeft(output: string, isOwnCluster: boolean): string {
  const users = [
    ...new Set(
      output.match(
        /\b(applications|applicationsets|appprojects|repositories|clusters)\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/g,
      ) ?? [],
    ),
  ].sort();
  if (users.length === 0) return terraformErrors(output);
  const what = `What you added uses it: ${users.join(", ")}.`;
  return isOwnCluster
    ? `${what} Delete that first (\`outpost app delete ID\`), then run this again.`
    : `${what} It goes with the local cluster and the service.`;
}

const mirror = () => {
  const built = recipes.filter((r) => existsSync(`${toolFolder(r)}/.done`));
  return terraformMirror(Object.assign({}, ...built.map((r) => locate(r, toolFolder(r)))));
};
