import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import document from "../../../openapi/contract/openapi.json" with { type: "json" };

/** Made at the first request: most services are never asked. Anybody may ask, so it costs nothing to answer again. */
let made: { text: string; packed: Buffer } | undefined;

/** `/openapi.json`: the contract of this service, without a credential. */
export function sendContract(req: IncomingMessage, res: ServerResponse): void {
  const text = made?.text ?? JSON.stringify(document);
  made ??= { text, packed: gzipSync(text) };
  const packs = /\bgzip\b/.test(String(req.headers["accept-encoding"] ?? ""));
  res.writeHead(200, {
    "Content-Type": "application/json; charset=utf-8",
    "Cache-Control": "no-cache",
    Vary: "Accept-Encoding",
    ...(packs ? { "Content-Encoding": "gzip" } : {}),
  });
  res.end(packs ? made.packed : made.text);
}
