import { constants } from "node:fs";
import { access, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Schemas } from "../../../openapi/client.ts";
import { validateTaskParamsShellRun } from "../../../openapi/contract/validators.js";
import { failed, type Kind } from "./kind.ts";

const SHELL = "/bin/sh";
const MAX_OUTPUT_FILE = 256 * 1024;
const MAX_OUTPUTS = 256;
const MAX_VALUE = 16 * 1024;

/**
 * Runs a script with `/bin/sh`, or with what its first line names after `#!`. Lines `name=value` that it writes into the file
 * $OUTPOST_OUTPUT are its outputs, beside `exitCode`.
 */
export const shellRun: Kind<Schemas["TaskParamsShellRun"]> = {
  validate: validateTaskParamsShellRun,

  async lacks() {
    return access(SHELL, constants.X_OK).then(
      () => undefined,
      () => `${SHELL} is not installed`,
    );
  },

  async run({ script, env = {} }, context) {
    const { workspace, write } = context;
    const file = join(workspace.dir, "script");
    const output = join(workspace.dir, "output");
    const wrong = Object.entries(env).find(([name, value]) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || value.includes("\0"));
    if (wrong) return failed("ParamsInvalid", `/params/env: ${JSON.stringify(wrong[0])} cannot be a variable with this value`);
    await writeFile(file, script, { mode: 0o700 });
    await writeFile(output, "", { mode: 0o600 });
    const [program, ...args] = interpreter(script);
    const ran = await context.run(program, [...args, file], { env: { ...context.env, ...env, ...context.own, OUTPOST_OUTPUT: output } });
    if (ran.kind !== "done") return failed(ran.reason, ran.message);
    const { outputs, wrongLines } = readOutputs(await readBounded(output));
    if (wrongLines)
      await write("system", `[${wrongLines} lines of $OUTPOST_OUTPUT are not name=value, or too many or too long, and were left out]`);
    const all = { ...outputs, exitCode: ran.value };
    return ran.value === 0
      ? { outcome: "succeeded", outputs: all }
      : failed(
          "ScriptFailed",
          `the script exited with ${ran.value}${ran.value === 127 ? ": a program it calls is not installed" : ""}`,
          all,
        );
  },
};

/** As the kernel reads a first line: the program, and the rest of the line as one argument. */
export function interpreter(script: string): [string, ...string[]] {
  const found = /^#![ \t]*(\/\S+)(?:[ \t]+(\S.*?))?[ \t\r]*(?:\n|$)/.exec(script);
  if (!found) return [SHELL];
  return found[2] ? [found[1]!, found[2]] : [found[1]!];
}

/** Lines `name=value`; a later one of the same name counts, `exitCode` is not theirs to give. */
export function readOutputs(text: string): { outputs: Record<string, string>; wrongLines: number } {
  const outputs = new Map<string, string>();
  let wrongLines = 0;
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const found = /^([A-Za-z_][A-Za-z0-9_.-]{0,127})=(.*?)\r?$/.exec(line);
    const [, name = "", value = ""] = found ?? [];
    const fits = found && name !== "exitCode" && value.length <= MAX_VALUE && (outputs.has(name) || outputs.size < MAX_OUTPUTS);
    if (fits) outputs.set(name, value.replaceAll("\0", "\u2400"));
    else wrongLines++;
  }
  return { outputs: Object.fromEntries(outputs), wrongLines };
}

// The script may have put anything in its place: a link, a pipe that never ends, a gigabyte.
async function readBounded(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => undefined);
  if (!file) return "";
  try {
    if (!(await file.stat()).isFile()) return "";
    const buffer = Buffer.alloc(MAX_OUTPUT_FILE);
    const { bytesRead } = await file.read(buffer, 0, MAX_OUTPUT_FILE, 0);
    return buffer.subarray(0, bytesRead).toString("utf8");
  } finally {
    await file.close();
  }
}
