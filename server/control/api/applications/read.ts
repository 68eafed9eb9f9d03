import { type Fault, validateDiff, validateManifests } from "../../../../openapi/contract/validators.js";
import { Problem } from "../../domain/problem.ts";
import { askAgent, type Question } from "../../tasks/ask.ts";
import { questionParams, requireAgentOf } from "../ask.ts";
import { findObject } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";

type Check<T> = ((value: unknown) => value is T) & { errors?: Fault[] | null };

export const getApplicationDiff =
  (s: Services): Handler<"getApplicationDiff"> =>
  async (call) => ({ status: 200, body: await read(s, call, "application.diff", validateDiff, {}) });

export const getApplicationManifests =
  (s: Services): Handler<"getApplicationManifests"> =>
  async (call) => ({
    status: 200,
    body: await read(
      s,
      call,
      "application.manifests",
      validateManifests,
      call.query.revision === undefined ? {} : { revision: call.query.revision },
    ),
  });

export const getApplicationHistory =
  (s: Services): Handler<"getApplicationHistory"> =>
  async (call) => {
    const app = await findObject(s.db, "applications", call.scope, call.params.id);
    return { status: 200, body: { items: app.status.history ?? [] } };
  };

async function read<T>(
  s: Services,
  call: Pick<Call<"getApplicationDiff">, "params" | "scope" | "signal">,
  kind: Question["kind"],
  fits: Check<T>,
  extra: Record<string, unknown>,
): Promise<T> {
  const app = await findObject(s.db, "applications", call.scope, call.params.id);
  const agent = await requireAgentOf(s.db, app);
  const ended = await askAgent(s.db, agent, { kind, params: { ...(await questionParams(s.db, app)), ...extra } }, call.signal);
  if (ended.state !== "Succeeded")
    throw new Problem("agent_refused", ended.message ?? `The agent could not do it: ${ended.reason ?? ended.state}.`);
  if (!fits(ended.outputs))
    throw new Problem("agent_refused", "The agent's answer does not fit the contract; it may be older than the service. Upgrade it.");
  return ended.outputs;
}
