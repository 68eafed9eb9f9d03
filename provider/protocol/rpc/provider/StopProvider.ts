import type { Handler } from "../rpc.ts";

/** Ctrl-C: every handler's signal is aborted; each then answers by itself with what it knows. */
export const StopProvider: Handler<"StopProvider"> = (session) => {
  session.stop("interrupted by the user");
  return {};
};
