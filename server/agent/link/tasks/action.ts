import type { Schemas } from "../../../../openapi/client.ts";
import { readJson } from "../../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { pause } from "../../../base/process/pause.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { ObjectMeta } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { META } from "../../controller/application.ts";
import { NOT_PART } from "../../controller/cluster/resource-membership.ts";
import type { ActionRequest, ActionResult } from "../../controller/sync/resource-action.ts";
import type { AgentContext } from "../context.ts";
import { type LinkContext, type LinkRead, objectOf, type Question } from "../queries/task.ts";
import { resourceOf } from "../queries/tree/resource.ts";

const LOOK_MS = 100;
const LOOK_DEADLINE_MS = 15_000;
// The service waits 20 s for an answer; the result must reach it before that.
const TURN_MS = 4_000;
const TAKEN_MS = 8_000;
const ENDED_MS = 14_000;

/**
 * Has something done to one object. The link itself may not write there: it puts the request beside the application, and the controller does it with
 * the rights, the project and the account of the application's syncs, and stores the result there.
 */
export const applicationAction: LinkRead = async (tc, task) => {
  const key = resourceOf(task.params.resource);
  if (key.kind !== "done") return key;
  const {
    action,
    parameters = {},
    by,
  } = task.params as { action?: unknown; parameters?: Record<string, string>; by?: unknown };
  if (typeof action !== "string")
    return stop("ParamsInvalid", "the task does not name an action; this agent may be older than the service");
  const found = await objectOf(tc, task, "applications");
  if (found.kind !== "done") return found;
  const request: ActionRequest = {
    id: task.task,
    resource: key.value,
    action,
    parameters,
    ...(typeof by === "string" ? { by } : {}),
    at: new Date().toISOString(),
  };
  const before = await look(tc, task);
  if (before.kind !== "done") return before;
  const { kind, name } = key.value;
  if (before.value.orphan)
    return stop(NOT_PART, `${kind} ${name} is not part of application ${found.value.metadata.name}`);
  if (!before.value.actions.some((one) => one.name === action)) {
    const names = before.value.actions.map((one) => one.name).join(", ");
    return stop("ActionUnknown", `${kind} ${name} has no action ${action}${names ? `; there are ${names}` : ""}`);
  }
  const ended = await ask(tc.ctx, found.value.metadata, request);
  return ended.kind === "done" ? look(tc, task) : ended;
};

/** The object as it is, and what may be done to it. */
async function look(
  { ctx, reads }: LinkContext,
  { task, params }: Question,
): Promise<Outcome<Schemas["LiveResource"]>> {
  const { key, uid, name, namespace, live, resource } = params;
  const place = Object.fromEntries(
    Object.entries({ name, namespace, live }).filter(([, value]) => value !== undefined),
  );
  const question = { task, kind: "application.resource", params: { key, uid, resource, ...place } };
  const found = await reads.answer(ctx.account, question, AbortSignal.timeout(LOOK_DEADLINE_MS));
  return found as Outcome<Schemas["LiveResource"]>;
}

/** Puts a request beside an application and waits for what becomes of it. */
async function ask(ctx: AgentContext, at: ObjectMeta, request: ActionRequest): Promise<Outcome<undefined>> {
  const { name, namespace = ctx.namespace } = at;
  const started = Date.now();
  const text = JSON.stringify(request);
  const within = (ms: number) => Date.now() - started < ms;
  const read = () => ctx.client.get(RESOURCES.application, namespace, name);
  const write = (resourceVersion: string | undefined, text: string | null) =>
    ctx.client.mergePatch(RESOURCES.application, namespace, name, {
      metadata: { resourceVersion, annotations: { [META.resourceAction]: text } },
    });
  for (let put = false; !put; ) {
    const app = await read();
    if (app.kind !== "done") return app;
    const { [META.resourceAction]: waits, [META.resourceActionResult]: told } = app.value.metadata.annotations ?? {};
    // A write whose answer was lost is there all the same.
    put = waits === text || resultOf(told)?.id === request.id;
    if (!put && waits === undefined) {
      const written = await write(app.value.metadata.resourceVersion, text);
      if (written.kind === "stop" && written.reason !== KUBE.conflict) return written;
      if (written.kind !== "done" && !within(TURN_MS)) return written;
      put = written.kind === "done";
    } else if (!put && !within(TURN_MS))
      return stop("ActionBusy", "another action of this application has not been begun yet; try again");
    if (!put) await pause(LOOK_MS);
  }
  for (;;) {
    const app = await read();
    if (app.kind === "done") {
      const result = resultOf(app.value.metadata.annotations?.[META.resourceActionResult]);
      const ours = result?.id === request.id ? result : undefined;
      if (ours?.state === "Succeeded") return done(undefined);
      if (ours?.state === "Failed") return stop(ours.reason ?? "ActionFailed", ours.message ?? "the action failed");
      if (ours && !within(ENDED_MS))
        return stop(
          "ActionUnfinished",
          "the action was begun and has not ended yet: look at the object before asking again",
        );
      if (!ours && !within(TAKEN_MS)) {
        const taken = app.value.metadata.annotations?.[META.resourceAction] === undefined;
        const withdrawn = taken || (await write(app.value.metadata.resourceVersion, null)).kind === "done";
        if (withdrawn && !taken)
          return stop(
            "ControllerAbsent",
            "no controller of Outpost took the action up; look whether it runs and keeps this application",
          );
        if (taken)
          return stop(
            "ActionUnfinished",
            "the action was taken up and nothing is known of it: look at the object before asking again",
          );
      }
    } else if (!within(ENDED_MS)) return app;
    await pause(LOOK_MS);
  }
}

function resultOf(text: string | undefined): ActionResult | undefined {
  try {
    return text === undefined ? undefined : (readJson(text) as ActionResult);
  } catch {
    return undefined;
  }
}
