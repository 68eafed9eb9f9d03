import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsRegistryLogin } from "../../../../openapi/contract/validators.js";
import { failed, type TaskKindHandler } from "../../kind.ts";
import { takeLogin } from "./registry-logins.ts";
import { proveLogin } from "./registry-prove.ts";

/** Proves a login at the registry itself. Nothing of it stays: tasks that need one bring their own. */
export const registryLogin: TaskKindHandler<Schemas["TaskParamsRegistryLogin"]> = {
  validate: validateTaskParamsRegistryLogin,

  async lacks() {
    return undefined;
  },

  async run({ login }, context) {
    const taken = await takeLogin(login, context);
    if (taken.kind !== "done") return failed(taken.reason, `/params/login: ${taken.message}`);
    const { registry, username } = taken.value;
    if (username === undefined)
      return failed("ParamsInvalid", "/params/login: give `username` and `password`, or `ecr`");
    const proved = await proveLogin(taken.value, context);
    if (proved.kind !== "done") return failed(proved.reason, proved.message);
    await context.progress(`${registry} takes the login of ${username}`);
    return { outcome: "succeeded", outputs: { registry, username } };
  },
};
