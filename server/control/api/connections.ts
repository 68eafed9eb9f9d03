import { validateCharts, validateConnection, validateRefs } from "../../../openapi/contract/validators.js";
import type { Schemas } from "../domain/nouns.ts";
import type { Scope } from "../domain/scope.ts";
import { askAgent } from "../tasks/questions/ask.ts";
import type { TaskRow } from "../tasks/rows.ts";
import { answerOf, asking, questionParams, requireAgentOf } from "./ask.ts";
import { findObject } from "./nouns/find.ts";
import type { Services } from "./services.ts";
import type { Call, Handler } from "./typed.ts";

type Asking = { params: { id: string }; scope: Scope; signal: AbortSignal } & Pick<Call<"testCluster">, "caller">;

async function ask(
  s: Services,
  call: Asking,
  collection: "repositories" | "clusters",
  kind: "repository.refs" | "repository.charts" | "repository.test" | "cluster.test",
): Promise<TaskRow> {
  const object = await findObject(s.db, collection, call.scope, call.params.id);
  const agent = await requireAgentOf(s.db, object);
  return asking(s, call, agent, async () =>
    askAgent(s.db, agent, { kind, params: await questionParams(s.db, object) }, call.signal),
  );
}

/** A connection that does not work is an answer, not a problem. */
function toConnection(task: TaskRow): Schemas["Connection"] {
  if (task.state === "Succeeded" && validateConnection(task.outputs)) return task.outputs;
  return {
    state: "Failed",
    reason: task.reason ?? task.state,
    message: task.message ?? "The agent could not try the connection.",
    checkedAt: new Date().toISOString(),
  };
}

export const testRepository =
  (s: Services): Handler<"testRepository"> =>
  async (call) => ({ status: 200, body: toConnection(await ask(s, call, "repositories", "repository.test")) });

export const testCluster =
  (s: Services): Handler<"testCluster"> =>
  async (call) => ({ status: 200, body: toConnection(await ask(s, call, "clusters", "cluster.test")) });

export const getRepositoryRefs =
  (s: Services): Handler<"getRepositoryRefs"> =>
  async (call) => ({
    status: 200,
    body: answerOf(await ask(s, call, "repositories", "repository.refs"), validateRefs),
  });

export const getRepositoryCharts =
  (s: Services): Handler<"getRepositoryCharts"> =>
  async (call) => ({
    status: 200,
    body: answerOf(await ask(s, call, "repositories", "repository.charts"), validateCharts),
  });
