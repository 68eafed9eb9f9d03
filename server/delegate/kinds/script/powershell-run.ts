import { join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsPowershellRun } from "../../../../openapi/contract/validators.js";
import type { TaskKindHandler } from "../../kind.ts";
import { putTaskFile } from "../../task/task-files.ts";
import { programLacks } from "./program.ts";
import { runScript } from "./script.ts";

const HOW = "install PowerShell 7 (https://aka.ms/powershell), or use the delegate's image with it";
// A task neither reports home nor waits for news.
const QUIET = { POWERSHELL_TELEMETRY_OPTOUT: "1", POWERSHELL_UPDATECHECK: "Off", DOTNET_CLI_TELEMETRY_OPTOUT: "1" };

/** Runs a script with PowerShell 7. `name=value` lines in the file $env:OUTPOST_OUTPUT are its outputs, beside `exitCode`. */
export const powershellRun: TaskKindHandler<Schemas["TaskParamsPowershellRun"]> = {
  validate: validateTaskParamsPowershellRun,
  plain: { "/script": "put it into `env` and let the script read the variable" },

  lacks: (env) => programLacks("pwsh", ["--version"], env, HOW),

  async run({ script, env = {}, source, keep }, context) {
    const file = join(context.workspace.dir, "script.ps1");
    await putTaskFile(context.workspace.dir, file, script);
    return runScript("pwsh", powershellArgs(file), { env: { ...QUIET, ...env }, source, keep }, context);
  },
};

/** No profile, as it is the machine's and not the task's; no prompts, as no one would answer. */
export const powershellArgs = (file: string): string[] => ["-NoLogo", "-NoProfile", "-NonInteractive", "-File", file];
