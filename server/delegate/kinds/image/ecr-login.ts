import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsEcrLogin } from "../../../../openapi/contract/validators.js";
import { failed, type TaskKindHandler } from "../../kind.ts";
import { ecrLoginFor } from "./ecr.ts";
import { proveLogin } from "./registry-prove.ts";

/** Asks ECR for a login and proves it at the registry; the password never leaves the delegate. */
export const ecrLogin: TaskKindHandler<Schemas["TaskParamsEcrLogin"]> = {
  validate: validateTaskParamsEcrLogin,

  async lacks() {
    return undefined;
  },

  async run({ aws, prove = true }, context) {
    const login = await ecrLoginFor(aws, context);
    if (login.kind !== "done") return failed(login.reason, login.message);
    const { registry, expiresAt } = login.value;
    const outputs = { registry, ...(expiresAt ? { expiresAt } : {}) };
    await context.progress(`ECR gave a login for ${registry}${expiresAt ? `, until ${expiresAt}` : ""}`);
    if (!prove) return { outcome: "succeeded", outputs };
    const proved = await proveLogin(login.value, context);
    if (proved.kind !== "done") return failed(proved.reason, proved.message, outputs);
    await context.progress(`${registry} takes it`);
    return { outcome: "succeeded", outputs };
  },
};
