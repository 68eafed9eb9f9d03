import { Places } from "../../../base/places.ts";
import { nameOf } from "../../access/authenticate.ts";
import { Problem } from "../../domain/problem.ts";
import { unauthenticated } from "../front/front.ts";
import type { Services } from "../services.ts";
import { stateOf, step } from "./state.ts";

/** The part of the places that one caller may hold: the others still get in. */
const ONE_CALLER = 0.6;
/** Long polls, watches and questions to agents. A program may watch thousands of objects, and one key may serve several programs. */
const WAIT_PLACES = { total: 20_000, each: 5_000 };

/** Authenticates the caller. The request holds a place until it is answered; `strangers/` limits callers without credentials. */
export function admit(s: Services, maxInFlight: number) {
  const places = new Places({ total: maxInFlight, each: Math.ceil(maxInFlight * ONE_CALLER) });
  const waits = new Places(WAIT_PLACES);
  return step(async (req, res) => {
    const state = stateOf(res);
    const { access, task = false, waits: isWaiting = false } = state.route!.row;
    if (access === "public") return;
    const caller = await s.strangers.door.authenticate(s.db, s.signer, req.headers.authorization, state.network);
    state.caller = caller;
    const fits = { key: access !== "worker", worker: access === "worker", task };
    if (!caller || !fits[caller.kind]) throw unauthenticated(access === "worker");
    s.strangers.sockets.known(req.socket);
    const leave = (isWaiting ? waits : places).tryTake(`${caller.account} ${nameOf(caller)}`);
    if (!leave)
      throw new Problem("too_many_requests", "The service is busy. Try again in a moment.", { retryAfterSeconds: 1 });
    state.leave = leave;
    // The caller may have left while it was looked up.
    if (res.closed) leave();
    else res.on("close", leave);
  });
}
