import { done, stop } from "../../../base/outcome.ts";
import { addValues, flatten, type Params } from "../parameters/params.ts";
import { text } from "../template/format.ts";
import { fromJson, isMap } from "../template/value.ts";
import { APPSET } from "../types.ts";
import { ask } from "../world/http.ts";
import { type Generate, MAX_PARAMS } from "./context.ts";

/** `plugin`: a service of the user's answers with the parameters. Its address and token are in a ConfigMap and a Secret. */
export const plugin: Generate = async ({ configMapRef, input, values }, { name, world, how }) => {
  const config = await world.configMap(configMapRef?.name ?? "");
  if (config.kind !== "done") return config;
  const { token = "", baseUrl = "", requestTimeout = "30" } = config.value;
  const reference = /^\$(?:([^:]+):)?(.+)$/.exec(token.trim());
  if (!reference)
    return stop(
      APPSET.params,
      `the token in ConfigMap ${configMapRef.name} must be $KEY of argocd-secret, or $SECRET:KEY`,
    );
  const secret = await world.secret(reference[1] ?? "argocd-secret", reference[2]!, "operator");
  if (secret.kind !== "done") return secret;
  const parameters = input?.parameters ?? {};
  const answer = await ask<{ output?: { parameters?: unknown[] } }>(
    `${baseUrl.trim().replace(/(?<!\/)\/+$/, "")}/api/v1/getparams.execute`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${secret.value.reveal().trim()}` },
      body: { applicationSetName: name, input: { parameters } },
      deadlineMs: Math.min(120, Math.max(1, Number(requestTimeout) || 30)) * 1_000,
    },
  );
  if (answer.kind !== "done") return answer;
  const found = answer.value.body?.output?.parameters;
  if (!Array.isArray(found)) return stop(APPSET.params, "the plugin answered without output.parameters");
  if (found.length > MAX_PARAMS)
    return stop(APPSET.params, `the plugin answered more than ${MAX_PARAMS} sets of parameters`);
  const all: Params[] = [];
  for (const one of found) {
    const read = fromJson(one);
    if (!isMap(read)) return stop(APPSET.params, "the plugin answered parameters that are no object");
    const params: Params = how.goTemplate
      ? read
      : new Map([...flatten(read)].map(([key, value]) => [key, text(value)]));
    params.set("generator", fromJson({ input: { parameters } }));
    addValues(values, params, how);
    all.push(params);
  }
  return done(all);
};
