import { randomBytes } from "node:crypto";
import { nameOf } from "../../access/authenticate.ts";
import type { ObjectOf } from "../../domain/nouns.ts";
import { invalid, Problem } from "../../domain/problem.ts";
import { deliverAction, tryFindDelivery } from "../../store/deliveries.ts";
import type { Stored } from "../../store/objects.ts";
import type { Writer } from "../../store/writer.ts";
import { findObject, show } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { type WriteCall, write } from "../write.ts";

type Accepted = { status: 202; body: ObjectOf<"applications"> };
type Operation = NonNullable<ObjectOf<"applications">["status"]["operation"]>;
/** What is put beside the object's delivery; null takes back one that may not have been sent. */
type Asked = Record<"sync" | "rollback" | "terminate" | "refresh", Record<string, unknown> | null>;

/**
 * Sync and rollback: they ride on the object's delivery; the newest one asked for counts, and the agent does each id once. The answer shows the
 * operation that was asked for, so that the caller knows it again in what the agent reports.
 */
export const syncApplication =
  (s: Services): Handler<"syncApplication"> =>
  (call) =>
    act(s, call, (id, by) => ({ sync: { id, by, request: call.body ?? {} }, rollback: null, terminate: null }), "Manual");

export const rollbackApplication =
  (s: Services): Handler<"rollbackApplication"> =>
  (call) =>
    act(
      s,
      call,
      (id, by) => ({ rollback: { id, by, request: call.body }, sync: null, terminate: null }),
      "Rollback",
      async (_w, app) => mayRollBack(app, call.body.id),
    );

/** Ends what runs; what was asked for and has not been sent is taken back. */
export const terminateApplication =
  (s: Services): Handler<"terminateApplication"> =>
  (call) =>
    act(
      s,
      call,
      (id, by) => ({ terminate: { id, by }, sync: null, rollback: null }),
      undefined,
      async (w, app) => {
        if (!(await mayRun(w, app))) throw new Problem("conflict", "No operation of this application runs or waits.");
      },
    );

export const refreshApplication =
  (s: Services): Handler<"refreshApplication"> =>
  (call) =>
    act(s, call, (id) => ({ refresh: { id, hard: call.body?.hard ?? false } }));

async function act(
  s: Services,
  call: WriteCall & Pick<Call<"syncApplication">, "params" | "scope">,
  action: (id: string, by: string) => Partial<Asked>,
  cause?: Operation["cause"],
  check?: (w: Writer, app: Stored) => Promise<void>,
): Promise<Accepted> {
  return write(s, call, async (w) => {
    const app: Stored = await findObject(w, "applications", call.scope, call.params.id);
    if (app.deletionRequestedAt) throw new Problem("being_deleted", "The application is being deleted by its agent.");
    await check?.(w, app);
    const id = randomBytes(8).toString("hex");
    const by = nameOf(call.caller);
    await deliverAction(w, app.uid, action(id, by));
    const body = show<"applications">(app);
    if (!cause) return { status: 202, body };
    return { status: 202, body: { ...body, status: { ...body.status, operation: { id, phase: "Pending", initiatedBy: by, cause } } } };
  });
}

/** A dry run is refused like the real one: that it would be refused is what it is there to tell. */
function mayRollBack(app: Stored, id: number): void {
  const { automated } = app.spec.syncPolicy ?? {};
  if (automated && automated.enabled !== false)
    throw new Problem(
      "conflict",
      "Automated sync is on, which would undo a rollback at once. Turn it off first: `spec.syncPolicy.automated.enabled` false.",
    );
  const history = (app.status.history ?? []) as { id: number }[];
  if (history.some((entry) => entry.id === id)) return;
  const known = history.map((entry) => entry.id).join(", ");
  throw invalid("/id", `The history has no entry ${id}. ${known ? `It has ${known}.` : "Nothing was deployed yet."}`);
}

/** Whether anything runs, or waits to: what the agent reported may be older than what was asked for. */
async function mayRun(w: Writer, app: Stored): Promise<boolean> {
  const { operation } = app.status as { operation?: Operation };
  if (operation && ["Pending", "Running", "Terminating"].includes(operation.phase)) return true;
  const delivery = await tryFindDelivery(w, app.account, app.uid);
  const asked = delivery?.action?.rollback ?? delivery?.action?.sync;
  return asked !== undefined && asked.id !== operation?.id && delivery!.ackedRevision !== delivery!.revision;
}
