import { join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { failed, type KindResult, type TaskContext } from "../../kind.ts";
import { putTaskFile, readTaskFile } from "../../task/task-files.ts";

const MAX_OUTPUT_FILE = 256 * 1024;
const MAX_OUTPUTS = 256;
const MAX_VALUE = 16 * 1024;

type ScriptParams = Pick<Schemas["TaskParamsShellRun"], "env" | "source" | "keep">;

/** The part that script kinds share: files, variables, outputs and artefacts. A file that is missing at the end fails the task. */
export async function runScript(
  program: string,
  args: readonly string[],
  { env = {}, source, keep = [] }: { [K in keyof ScriptParams]: ScriptParams[K] | undefined },
  context: TaskContext,
): Promise<KindResult> {
  const wrong = Object.entries(env).find(
    ([name, value]) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || value.includes("\0"),
  );
  if (wrong)
    return failed("ParamsInvalid", `/params/env: ${JSON.stringify(wrong[0])} cannot be a variable with this value`);
  const folder = await context.source(source);
  if (folder.kind !== "done") return failed(folder.reason, folder.message);
  const output = join(context.workspace.dir, "output");
  await putTaskFile(context.workspace.dir, output, "");
  const all = { ...context.env, ...env, ...context.own, OUTPOST_OUTPUT: output };
  const ran = await context.run(program, args, { cwd: folder.value, env: all });
  if (ran.kind !== "done") return failed(ran.reason, ran.message);
  const { outputs: named, wrongLines } = readOutputs(
    (await readTaskFile(context.workspace.dir, output, MAX_OUTPUT_FILE)) ?? "",
  );
  if (wrongLines)
    await context.progress(
      `[${wrongLines} lines of $OUTPOST_OUTPUT are not name=value, or too many or too long, and were left out]`,
    );
  const outputs = { ...named, exitCode: ran.value };
  const hint = ran.value === 127 ? ": a program it calls is not installed" : "";
  if (ran.value !== 0) {
    // What a failed script leaves (reports, say) is often what tells why; that some of it is missing says nothing new.
    for (const { name, path } of keep) await keepOne(name, path, folder.value, context);
    return failed("ScriptFailed", `the script exited with ${ran.value}${hint}`, outputs);
  }
  for (const { name, path } of keep) {
    const wrong = await keepOne(name, path, folder.value, context);
    if (wrong) return failed(wrong.reason ?? "NotKept", `/params/keep: ${wrong.message}`, outputs);
  }
  return { outcome: "succeeded", outputs };
}

async function keepOne(
  name: string,
  path: string,
  folder: string,
  context: TaskContext,
): Promise<KindResult | undefined> {
  const kept = await context.keep(name, { folder, path });
  return kept.kind === "done" ? undefined : failed(kept.reason, kept.message);
}

/** Lines `name=value`; a later one of the same name counts, `exitCode` is not theirs to give. */
export function readOutputs(text: string): { outputs: Record<string, string>; wrongLines: number } {
  const outputs = new Map<string, string>();
  let wrongLines = 0;
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const found = /^([A-Za-z_][A-Za-z0-9_.-]{0,127})=(.*?)\r?$/.exec(line);
    const [, name = "", value = ""] = found ?? [];
    const fits =
      found && name !== "exitCode" && value.length <= MAX_VALUE && (outputs.has(name) || outputs.size < MAX_OUTPUTS);
    if (fits) outputs.set(name, value.replaceAll("\0", "\u2400"));
    else wrongLines++;
  }
  return { outputs: Object.fromEntries(outputs), wrongLines };
}
