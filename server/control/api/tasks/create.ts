import type { Fault } from "../../../../openapi/contract/validators.js";
import { validateTaskParamsGitClone, validateTaskParamsShellRun } from "../../../../openapi/contract/validators.js";
import type { Schemas } from "../../domain/nouns.ts";
import { Problem } from "../../domain/problem.ts";
import { createTaskRow } from "../../tasks/create.ts";
import { viewTask } from "../../tasks/rows.ts";
import { checkScopeExists } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { write } from "../write.ts";

type Check = ((value: unknown) => boolean) & { errors?: Fault[] | null };
const PARAMS: Record<Schemas["TaskKind"], Check> = {
  "git.clone": validateTaskParamsGitClone as Check,
  "shell.run": validateTaskParamsShellRun as Check,
};

export const createTask =
  (s: Services): Handler<"createTask"> =>
  async (call) => {
    const { kind, params, selectors = [], timeoutSeconds = 600, maxAttempts = 3, idempotent = false } = call.body;
    const check = PARAMS[kind];
    if (!check(params)) {
      const fault = check.errors?.[0];
      const member = fault?.params.missingProperty ?? fault?.params.additionalProperty;
      throw new Problem("invalid_field", `The parameters do not fit ${kind}: ${fault?.message ?? "see the contract"}.`, {
        pointer: `/params${fault?.instancePath ?? ""}${member ? `/${member}` : ""}`,
      });
    }
    return write(s, call, async (w) => {
      await checkScopeExists(w, call.scope);
      const task = await createTaskRow(w, { ...call.scope, kind, params, selectors, timeoutSeconds, maxAttempts, idempotent });
      return { status: 201 as const, body: viewTask(task, []) };
    });
  };
