import { completeTaskRow } from "../../tasks/complete.ts";
import { appendLogs } from "../../tasks/logs.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { contact, sessionOf } from "./exchange.ts";

export const appendTaskLogs =
  (s: Services): Handler<"appendTaskLogs"> =>
  async (call) => {
    const session = sessionOf(call);
    await contact(s, session);
    return { status: 200, body: { last: await s.db.transaction((tx) => appendLogs(tx, session, call.params.task, call.body)) } };
  };

export const completeTask =
  (s: Services): Handler<"completeTask"> =>
  async (call) => {
    const session = sessionOf(call);
    await contact(s, session);
    const state = await s.db.transaction((tx) => completeTaskRow(tx, session, call.params.task, call.body));
    if (state) s.metrics.tasks.inc({ state });
    return { status: 204 };
  };
