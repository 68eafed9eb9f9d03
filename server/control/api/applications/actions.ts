import { randomBytes } from "node:crypto";
import { digest } from "../../../base/json/canonical.ts";
import { nameOf } from "../../access/authenticate.ts";
import type { ObjectOf } from "../../domain/nouns.ts";
import { invalid, Problem } from "../../domain/problem.ts";
import { addAudit } from "../../store/audit.ts";
import type { Sql } from "../../store/database/sql.ts";
import { deliverAction, tryFindDelivery } from "../../store/objects/deliveries.ts";
import type { Stored } from "../../store/objects/objects.ts";
import { askAgent } from "../../tasks/questions/ask.ts";
import { answerOf, asking, questionParams, requireAgentOf } from "../ask.ts";
import { findObject, show } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { acceptedLine, type WriteCall, write } from "../write.ts";

type Accepted = { status: 202; body: ObjectOf<"applications"> };
type Operation = NonNullable<ObjectOf<"applications">["status"]["operation"]>;
type ActCall = WriteCall & Pick<Call<"syncApplication">, "params" | "scope" | "signal">;
/** The request that is put beside the object's delivery; null takes back one that may not have been sent. */
type Asked = Record<"sync" | "rollback" | "terminate" | "refresh", Record<string, unknown> | null>;

/**
 * Sync and rollback: they ride on the object's delivery; the newest one asked for counts, and the agent does each id once. The answer shows the
 * operation that was asked for, so that the caller knows it again in what the agent reports.
 */
export const syncApplication =
  (s: Services): Handler<"syncApplication"> =>
  (call) =>
    act(s, call, {
      action: (id, by) => ({ sync: { id, by, request: call.body ?? {} }, rollback: null, terminate: null }),
      cause: "Manual",
    });

export const rollbackApplication =
  (s: Services): Handler<"rollbackApplication"> =>
  (call) =>
    rollBack(s, call);

/** @param check what else must be true of the application; a request that is sent again is not checked again. */
export const rollBack = (
  s: Services,
  call: Call<"rollbackApplication">,
  check: (app: Stored) => void = () => {},
): Promise<Accepted> =>
  act(s, call, {
    action: (id, by) => ({ rollback: { id, by, request: call.body }, sync: null, terminate: null }),
    cause: "Rollback",
    check: async (_w, app) => {
      check(app);
      mayRollBack(app, call.body.id);
    },
  });

/** Terminates the running operation; a request that was not sent yet is taken back. */
export const terminateApplication =
  (s: Services): Handler<"terminateApplication"> =>
  (call) =>
    act(s, call, {
      action: (id, by) => ({ terminate: { id, by }, sync: null, rollback: null }),
      check: async (w, app) => {
        if (!(await mayRun(w, app))) throw new Problem("conflict", "No operation of this application runs or waits.");
      },
    });

export const refreshApplication =
  (s: Services): Handler<"refreshApplication"> =>
  (call) =>
    act(s, call, { action: (id) => ({ refresh: { id, hard: call.body?.hard ?? false } }) });

/** A request to an application's agent. */
interface Act {
  action: (id: string, by: string) => Partial<Asked>;
  cause?: Operation["cause"];
  /** Throws if the request is not allowed now. */
  check?: ((sql: Sql, app: Stored) => Promise<void>) | undefined;
}

async function act(s: Services, call: ActCall, { action, cause, check }: Act): Promise<Accepted> {
  const shown = await findObject(s.db, "applications", call.scope, call.params.id);
  if (shown.origin !== "managed") return operate(s, call, shown, { action, cause, check });
  return write(s, call, async (w) => {
    const app: Stored = await findObject(w, "applications", call.scope, call.params.id);
    if (app.deletionRequestedAt) throw new Problem("being_deleted", "The application is being deleted by its agent.");
    await check?.(w, app);
    const id = randomBytes(8).toString("hex");
    const by = nameOf(call.caller);
    await deliverAction(w, app.uid, action(id, by));
    return accepted(app, id, by, cause);
  });
}

function accepted(app: Stored, id: string, by: string, cause: Operation["cause"]): Accepted {
  const body = show<"applications">(app);
  if (!cause) return { status: 202, body };
  return {
    status: 202,
    body: { ...body, status: { ...body.status, operation: { id, phase: "Pending", initiatedBy: by, cause } } },
  };
}

/**
 * The same for an application that the service does not manage: nothing is delivered that it could ride on, so the agent is asked now, and
 * must be connected. The id comes from the idempotency key, because the agent does each id once.
 */
async function operate(s: Services, call: ActCall, app: Stored, { action, cause, check }: Act): Promise<Accepted> {
  await check?.(s.db, app);
  const agent = await requireAgentOf(s.db, app);
  const by = nameOf(call.caller);
  const key = call.headers.idempotencyKey;
  const id =
    key === undefined
      ? randomBytes(8).toString("hex")
      : digest([by, call.operation, app.uid, key, call.body ?? null]).slice(0, 16);
  const asked = Object.entries(action(id, by)).filter(([, one]) => one !== null);
  const params = { ...(await questionParams(s.db, app)), action: Object.fromEntries(asked) };
  const ended = await asking(s, call, agent, async () => {
    // Before it is carried out: the request is audited even when its answer never comes.
    await addAudit(s.db, acceptedLine(call));
    return askAgent(s.db, agent, { kind: "application.operate", params, once: true }, call.signal);
  });
  answerOf(ended, (value): value is unknown => value !== undefined);
  return accepted(app, id, by, cause);
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

/** Whether an operation runs or waits: the agent's report may be older than the request. */
async function mayRun(w: Sql, app: Stored): Promise<boolean> {
  const { operation } = app.status as { operation?: Operation };
  if (operation && ["Pending", "Running", "Terminating"].includes(operation.phase)) return true;
  const delivery = await tryFindDelivery(w, app.account, app.uid);
  const asked = delivery?.action?.rollback ?? delivery?.action?.sync;
  return asked !== undefined && asked.id !== operation?.id && delivery!.ackedRevision !== delivery!.revision;
}
