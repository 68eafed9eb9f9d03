import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsShellRun } from "../../../../openapi/contract/validators.js";
import type { TaskKindHandler } from "../../kind.ts";
import { putTaskFile } from "../../task/task-files.ts";
import { runScript } from "./script.ts";

const SHELL = "/bin/sh";

/**
 * Runs a script with `/bin/sh`, or with what its first line names after `#!`. Lines `name=value` that it writes into the file
 * $OUTPOST_OUTPUT are its outputs, beside `exitCode`.
 */
export const shellRun: TaskKindHandler<Schemas["TaskParamsShellRun"]> = {
  validate: validateTaskParamsShellRun,
  plain: { "/script": "put it into `env` and let the script read the variable" },

  async lacks() {
    return access(SHELL, constants.X_OK).then(
      () => undefined,
      () => `${SHELL} is not installed`,
    );
  },

  async run({ script, env = {}, source, keep }, context) {
    const { workspace } = context;
    const file = join(workspace.dir, "script");
    await putTaskFile(workspace.dir, file, script, 0o700);
    const [program, ...args] = interpreter(script);
    return runScript(program, [...args, file], { env, source, keep }, context);
  },
};

/** As the kernel reads a first line: the program, and the rest of the line as one argument. */
export function interpreter(script: string): [string, ...string[]] {
  const found = /^#![ \t]*(\/\S+)(?:[ \t]+(\S.*?))?[ \t\r]*(?:\n|$)/.exec(script);
  if (!found) return [SHELL];
  return found[2] ? [found[1]!, found[2]] : [found[1]!];
}
