import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { pause } from "../../../link/retry.ts";
import { type Application, META } from "../../controller/application.ts";
import type { ActionRequest, ActionResult } from "../../controller/resource-action.ts";
import type { Context } from "../context.ts";
import { withGlance } from "./glance.ts";
import { liveResource, resourceOf } from "./resource.ts";
import { objectOf, type Read } from "./task.ts";

const LOOK_MS = 100;
// The service waits 20 s for an answer; it must be told what became of it before that.
const TURN_MS = 4_000;
const TAKEN_MS = 8_000;
const ENDED_MS = 14_000;

/**
 * Has something done to one object. The link itself may not write there: it puts the request beside the application, and the controller does it with
 * the rights, the project and the account of the application's syncs, and says there what became of it.
 */
export const applicationAction: Read = async (tc, task) => {
  const key = resourceOf(task.params.resource);
  if (key.kind !== "done") return key;
  const { action, parameters = {}, by } = task.params as { action?: unknown; parameters?: Record<string, string>; by?: unknown };
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
  return withGlance(tc, found.value as Application, async (glance) => {
    const before = await liveResource(glance, key.value);
    if (before.kind !== "done") return before;
    if (!before.value.actions.some(({ name }) => name === action)) {
      const names = before.value.actions.map(({ name }) => name).join(", ");
      return stop("ActionUnknown", `${key.value.kind} ${key.value.name} has no action ${action}${names ? `; there are ${names}` : ""}`);
    }
    const ended = await ask(tc.ctx, glance.app.metadata.name, request);
    return ended.kind === "done" ? liveResource(glance, key.value) : ended;
  });
};

/** Puts a request beside an application and waits for what becomes of it. */
async function ask(ctx: Context, name: string, request: ActionRequest): Promise<Outcome<undefined>> {
  const started = Date.now();
  const text = JSON.stringify(request);
  const within = (ms: number) => Date.now() - started < ms;
  const read = () => ctx.client.get(RESOURCES.application, ctx.namespace, name);
  const write = (resourceVersion: string | undefined, text: string | null) =>
    ctx.client.mergePatch(RESOURCES.application, ctx.namespace, name, {
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
    } else if (!put && !within(TURN_MS)) return stop("ActionBusy", "another action of this application has not been begun yet; try again");
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
        return stop("ActionUnfinished", "the action was begun and has not ended yet: look at the object before asking again");
      if (!ours && !within(TAKEN_MS)) {
        const taken = app.value.metadata.annotations?.[META.resourceAction] === undefined;
        const withdrawn = taken || (await write(app.value.metadata.resourceVersion, null)).kind === "done";
        if (withdrawn && !taken)
          return stop("ControllerAbsent", "no controller of Outpost took the action up; look whether it runs and keeps this application");
        if (taken)
          return stop("ActionUnfinished", "the action was taken up and nothing is known of it: look at the object before asking again");
      }
    } else if (!within(ENDED_MS)) return app;
    await pause(LOOK_MS);
  }
}

function resultOf(text: string | undefined): ActionResult | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as ActionResult);
  } catch {
    return undefined;
  }
}
