import type { IncomingMessage } from "node:http";
import document from "../../../../openapi/contract/openapi.json" with { type: "json" };
import type { OperationId, OperationRow } from "../../../../openapi/contract/operations.ts";
import { Problem } from "../../domain/problem.ts";

type Json = Record<string, any>;
const paths = document.paths as Json;

/** Media types an operation answers with, and those its body comes in. */
const types = new Map<string, { answers: string[]; bodies: string[]; raw: boolean; required: boolean }>();
for (const [path, methods] of Object.entries<Json>(paths)) {
  for (const [method, op] of Object.entries<Json>(methods)) {
    const answers = Object.values<Json>(op.responses).flatMap((r) => Object.keys(r.content ?? {}));
    types.set(`${method.toUpperCase()} ${path}`, {
      answers: [...new Set(answers)],
      bodies: Object.keys(op.requestBody?.content ?? {}),
      raw: op["x-raw"] === true,
      required: op.requestBody?.required ?? false,
    });
  }
}

const typesOf = (row: OperationRow) => types.get(`${row.method} ${row.path}`)!;

/** 406 when the client takes nothing of what the operation can say. */
export function checkAccept(req: IncomingMessage, row: OperationRow): void {
  const header = req.headers.accept;
  if (header === undefined || header.trim() === "") return;
  const wanted = header.split(",").map((part) => part.split(";")[0]!.trim().toLowerCase());
  const refused = new Set(
    header
      .split(",")
      .filter((part) => /;\s*q=0(\.0*)?\s*$/.test(part))
      .map((part) => part.split(";")[0]!.trim().toLowerCase()),
  );
  const { answers } = typesOf(row);
  const offered = answers.length > 0 ? answers : ["application/json"];
  const fits = (type: string) =>
    wanted.some(
      (w) => !refused.has(w) && (w === "*/*" || w === type || (w.endsWith("/*") && type.startsWith(w.slice(0, -1)))),
    );
  if (!offered.some(fits)) throw new Problem("not_acceptable", `This operation answers with ${offered.join(" or ")}.`);
}

/**
 * The media type of a body, without its parameters. The header is normalised for what comes behind: the validator keeps a compiled
 * validator for each text it sees there, and a client must not be able to fill memory by inventing parameters.
 */
export function checkContentType(req: IncomingMessage, row: OperationRow, hasBody: boolean): void {
  const { bodies } = typesOf(row);
  const [first] = bodies;
  const given = req.headers["content-type"];
  if (!first || !hasBody) {
    delete req.headers["content-type"];
    if (first && !hasBody) req.headers["content-type"] = first;
    return;
  }
  const type = given?.split(";")[0]?.trim().toLowerCase();
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(given ?? "")?.[1]?.toLowerCase();
  if (type === undefined || !bodies.includes(type) || (charset !== undefined && charset !== "utf-8"))
    throw new Problem(
      "unsupported_media_type",
      `Send the body as \`Content-Type: ${bodies.join("` or `")}\`${first === "application/octet-stream" ? "" : ", in UTF-8"}.`,
    );
  const encoding = req.headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity")
    throw new Problem("unsupported_media_type", "Compressed bodies are not supported. Remove Content-Encoding.");
  req.headers["content-type"] = type;
}

export function takesBody(row: OperationRow): { takes: boolean; required: boolean } {
  const { bodies, required } = typesOf(row);
  return { takes: bodies.length > 0, required };
}

/** Whether the body is bytes that the handler reads by itself. */
export function isUpload(row: OperationRow): boolean {
  const { bodies, raw } = typesOf(row);
  return raw || bodies[0] === "application/octet-stream";
}

export type { OperationId };
