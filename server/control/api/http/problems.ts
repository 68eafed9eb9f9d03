import { inWords } from "../../../../openapi/rules/messages/patterns.ts";
import { misfit, Problem } from "../../domain/problem.ts";

interface ValidatorError {
  status?: number;
  message?: string;
  errors?: { path?: string; message?: string; errorCode?: string }[];
}

/** PostgreSQL's classes for "not now": connection lost or refused, too many connections, shutting down, a statement that took too long. */
const NOT_NOW = /^(08|53|57P|57014|55P03|40)/;

/** The driver's word for "no connection of the pool became free in time"; it has no code. */
const isPoolFull = (error: unknown): boolean =>
  error instanceof Error && error.message === "timeout exceeded when trying to connect";

/** Whatever was thrown, as a Problem; undefined for a defect of ours. */
export function toProblem(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  const e = error as ValidatorError & { code?: string };
  if (Array.isArray(e?.errors) && e.status === 400) return fromValidator(e.errors);
  if (e?.status === 415)
    return new Problem("unsupported_media_type", "The media type of the body is not one that this operation takes.");
  if (e?.status === 400 || error instanceof URIError)
    return new Problem("invalid_request", "The request cannot be read.");
  if (
    (typeof e?.code === "string" &&
      (NOT_NOW.test(e.code) || /^(ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTFOUND|EPIPE)$/.test(e.code))) ||
    isPoolFull(error)
  )
    return new Problem("unavailable", "The store does not answer now. Try again in a moment.", {
      retryAfterSeconds: 1,
    });
  return undefined;
}

function fromValidator(found: NonNullable<ValidatorError["errors"]>): Problem {
  return misfit(
    found.map((fault) => {
      const path = fault.path ?? "";
      const detail = inWords(fault.message ?? "does not fit the contract");
      if (path === "/body" || path.startsWith("/body/")) return { detail, pointer: path.slice("/body".length) };
      return { detail: `${path.replace(/^\/(\w+)\/?/, (_, part: string) => `${NAMES[part] ?? part} `)}: ${detail}` };
    }),
  );
}

const NAMES: Record<string, string> = {
  query: "query parameter",
  params: "path parameter",
  headers: "header",
  cookies: "cookie",
};
