import type { Problem } from "../../../openapi/client.ts";
import { codes } from "../../../openapi/contract/codes.ts";
import { type Colours, printable } from "../../base/colour.ts";

/**
 * What a command exits with. Scripts may rely on them:
 *
 *   0 done · 1 failed, or `app diff` found a difference · 2 the command line, or a field of an object, is wrong · 3 there is no such object
 *   4 conflict, or a precondition does not hold · 5 a wait or a request took too long · 6 not signed in, or not allowed
 *   7 the service cannot be reached or is not ready · 130 interrupted
 */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  timeout: 5,
  denied: 6,
  unreachable: 7,
  interrupted: 130,
} as const;
export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** The only error that the command line throws on purpose: what to tell the person and what to exit with. */
export class Failure extends Error {
  readonly exit: Exit;
  readonly problem: Problem | undefined;
  /** What the person can do about it. */
  readonly hint: string | undefined;
  /** Nothing went wrong: the exit code is the answer, as with a difference. */
  readonly answer: boolean;
  constructor(
    message: string,
    exit: Exit = EXIT.failed,
    more: { problem?: Problem | undefined; hint?: string | undefined; answer?: boolean } = {},
  ) {
    super(message);
    this.exit = exit;
    this.problem = more.problem;
    this.hint = more.hint;
    this.answer = more.answer ?? false;
  }
}

export const usage = (message: string): Failure => new Failure(message, EXIT.usage);

export function problemFailure(problem: Problem): Failure {
  return new Failure(problem.detail, exitOf(problem), { problem });
}

/** The exit code of a problem: by its status, except for timeouts. */
export function exitOf({ code, status }: { code: string; status: number }): Exit {
  if (code === "agent_timeout" || code === "request_timeout") return EXIT.timeout;
  if (["invalid_request", "invalid_json", "invalid_field", "immutable_field"].includes(code)) return EXIT.usage;
  if (status === 401 || status === 403) return EXIT.denied;
  if (status === 404) return EXIT.notFound;
  if (status === 409 || status === 410 || status === 412 || status === 428) return EXIT.conflict;
  if (status === 429 || status === 502 || status === 503 || status === 504) return EXIT.unreachable;
  return EXIT.failed;
}

/** The lines a person reads: the detail first, then the code, the place in the object and the request id. */
export function describeFailure(failure: Failure, c: Colours): string {
  if (failure.answer) return failure.message === "" ? "" : `${c.dim(printable(failure.message))}\n`;
  const lines = [`${c.red("error:")} ${printable(failure.message)}`];
  const { problem } = failure;
  if (problem) {
    const title = problem.title || codes[problem.code as keyof typeof codes]?.title;
    lines.push(`  ${c.dim("code")}     ${problem.code}${title ? c.dim(` · ${printable(title)}`) : ""}`);
    if (problem.pointer) lines.push(`  ${c.dim("at")}       ${printable(problem.pointer)}`);
    for (const one of problem.errors ?? []) {
      // The detail may name the place that the error has beside it.
      if (one.pointer === problem.pointer && problem.detail.endsWith(one.detail)) continue;
      lines.push(
        `  ${c.dim("also")}     ${printable(one.detail)}${one.pointer ? c.dim(` at ${printable(one.pointer)}`) : ""}`,
      );
    }
    if (problem.currentVersion) lines.push(`  ${c.dim("version")}  ${printable(problem.currentVersion)} is the newest`);
    if (problem.instance) lines.push(`  ${c.dim("request")}  ${printable(problem.instance)}`);
  }
  if (failure.hint) lines.push(`  ${c.dim("try")}      ${failure.hint}`);
  return `${lines.join("\n")}\n`;
}
