import { renewLeases } from "../../tasks/queue/lease.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { contact, sessionOf } from "./exchange.ts";

/** Renews leases and shows that the worker lives; says which tasks it no longer holds. */
export const heartbeat =
  (s: Services): Handler<"heartbeat"> =>
  async (call) => {
    const session = sessionOf(call);
    await contact(s, session);
    const lost = call.body.leases.length > 0 ? await renewLeases(s.db, session, call.body.leases) : [];
    return { status: 200, body: { lost } };
  };
