import { Problem } from "../../domain/problem.ts";
import { checkContentType, isUpload, takesBody } from "../http/accept.ts";
import { hasBody, readBody } from "../http/body.ts";
import type { Services } from "../services.ts";
import { stateOf, step } from "./state.ts";

/** The body, within limits. An upload is left for the handler to read. */
export const takeBody = (s: Services) =>
  step(async (req, res) => {
    const { network, read, route } = stateOf(res);
    const { operation, row } = route!;
    const { takes, required } = takesBody(row);
    const given = hasBody(req);
    if (!takes) {
      checkContentType(req, row, false);
      // A body that nobody asked for is not read; the connection cannot be used again.
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
    const stranger = row.access === "public" ? { bodies: s.strangers.bodies, sender: network } : undefined;
    if (read) req.body = read.body;
    else req.body = given ? await readBody(req, operation, stranger) : undefined;
    if (req.body !== undefined) return;
    if (required) throw new Problem("invalid_json", "The operation needs a JSON body.");
    req.body = {};
  });
