import type { Response } from "express";
import { nameOf } from "../../access/authenticate.ts";
import { Problem } from "../../domain/problem.ts";
import { checkContentType, isUpload, takesBody } from "../http/accept.ts";
import { hasBody, readBody, type Sender } from "../http/body.ts";
import type { Services } from "../services.ts";
import { stateOf, step } from "./state.ts";

/** A body is large that has more: those of people never have, whose answers may take long. Its place is given back when the answer has gone, or when the handler has taken it in. */
const HEAVY_BYTES = 1024 * 1024;
const BUSY = "The service is busy with large requests. Send it again in a moment.";

function senderOf(s: Services, res: Response): Sender {
  const state = stateOf(res);
  const { caller, network, route } = state;
  if (route!.row.access === "public" || !caller) return { bodies: s.strangers.bodies, sender: network, isKnown: false };
  const sender = `${caller.account} ${nameOf(caller)}`;
  const begin = (bytes: number) => {
    if (bytes <= HEAVY_BYTES) return;
    const leave = s.strangers.heavy.tryTake(sender);
    if (!leave) throw new Problem("too_many_requests", BUSY, { retryAfterSeconds: 1 });
    state.bodyTaken = leave;
    if (res.closed) leave();
    else res.on("close", leave);
  };
  return { bodies: s.strangers.knownBodies, sender, isKnown: true, begin };
}

/** The body, within limits. An upload is left for the handler to read. */
export const takeBody = (s: Services) =>
  step(async (req, res) => {
    const { read, route } = stateOf(res);
    const { operation, row } = route!;
    const { takes, required } = takesBody(row);
    const given = hasBody(req);
    if (!takes) {
      checkContentType(req, row, false);
      // An unexpected body is not read; the connection cannot be used again.
      if (given) res.setHeader("Connection", "close");
      return;
    }
    if (isUpload(row)) {
      // An empty file is a file. The validator is shown something that fits, the handler gets the bytes.
      checkContentType(req, row, true);
      req.body = req.headers["content-type"] === "application/octet-stream" ? "" : {};
      return;
    }
    checkContentType(req, row, given);
    if (read) req.body = read.body;
    else req.body = given ? await readBody(req, operation, senderOf(s, res)) : undefined;
    if (req.body !== undefined) return;
    if (required) throw new Problem("invalid_json", "The operation needs a JSON body.");
    req.body = {};
  });
