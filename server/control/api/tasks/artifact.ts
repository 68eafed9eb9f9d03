import type { ServerResponse } from "node:http";
import { notFound } from "../../domain/problem.ts";
import { type ArtifactRow, tryFindArtifact, tryReadPiece } from "../../store/artifacts.ts";
import { drained } from "../http/drained.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { findTask } from "./read.ts";

/** A reader that takes nothing for this long is cut. */
const STALL_MS = 30_000;

/** Sends a file of a task, one piece in memory at a time. */
export const getTaskArtifact =
  (s: Services): Handler<"getTaskArtifact"> =>
  async (call) => {
    const { id, account } = await findTask(s.db, call.scope, call.params.task);
    const found = await tryFindArtifact(s.db, account, id, call.params.name);
    if (!found) throw notFound();
    // Read before anything is said, so that a store that does not answer is a problem and no torn file.
    const first = found.size > 0 ? await tryReadPiece(s.db, account, found.upload, 0) : undefined;
    return { status: 200, stream: (res) => send(s, account, found, first, res) };
  };

async function send(
  s: Services,
  account: string,
  a: ArtifactRow,
  first: Uint8Array | undefined,
  res: ServerResponse,
): Promise<void> {
  res.writeHead(200, {
    "Content-Type": "application/octet-stream",
    "Content-Length": a.size,
    ETag: `"${a.sha256}"`,
    "Repr-Digest": `sha-256=:${Buffer.from(a.sha256, "hex").toString("base64")}:`,
    // A browser must store it and never show it as a page of ours.
    "Content-Disposition": `attachment; filename="${a.name}"`,
    "Cache-Control": "no-store",
  });
  let piece = first;
  let sent = 0;
  for (let n = 1; piece && !res.destroyed; n++) {
    sent += piece.length;
    if (!res.write(piece)) await drained(res, STALL_MS);
    piece = await tryReadPiece(s.db, account, a.upload, n);
  }
  // A file that was replaced meanwhile is shorter than announced: the reader must not take it for whole.
  if (sent < a.size) res.destroy();
  else res.end();
}
