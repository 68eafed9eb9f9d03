import { codes, type ProblemCode } from "../../../openapi/contract/codes.ts";

export interface ProblemDetails {
  /** JSON pointer into the request body. */
  pointer?: string | undefined;
  currentVersion?: string | undefined;
  retryAfterSeconds?: number | undefined;
  /** Header fields of the answer, as `Allow`. */
  headers?: Record<string, string> | undefined;
  errors?: { code: string; detail: string; pointer?: string }[] | undefined;
}

/**
 * A request that is not carried out, with its reason. It is thrown, against the habit that outcomes are values, because the
 * throw is what rolls back the transaction it passes; the API turns it into `application/problem+json` in one place.
 */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly details: ProblemDetails;

  constructor(code: ProblemCode, detail: string, details: ProblemDetails = {}) {
    super(detail);
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return codes[this.code].status;
  }

  /** The body of the answer. */
  body(instance: string): Record<string, unknown> {
    const { pointer, currentVersion, retryAfterSeconds, errors } = this.details;
    return {
      type: `urn:outpost:problem:${this.code}`,
      title: codes[this.code].title,
      status: this.status,
      code: this.code,
      detail: this.message,
      ...(pointer === undefined ? {} : { pointer }),
      instance,
      ...(currentVersion === undefined ? {} : { currentVersion }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      ...(errors?.length ? { errors } : {}),
    };
  }
}

/** A field whose value is not allowed, by its JSON pointer. */
export const invalid = (pointer: string, detail: string) => new Problem("invalid_field", detail, { pointer });

/** A place in a spec and what is wrong there. */
export interface Fault {
  pointer: string;
  detail: string;
}

/** Refuses with every fault that was found, the first one in front. */
export function refuse(faults: readonly Fault[]): void {
  const [first] = faults;
  if (!first) return;
  const errors = faults.slice(0, 20).map((fault) => ({ code: "invalid_field", ...fault }));
  throw new Problem("invalid_field", first.detail, { pointer: first.pointer, errors });
}

// A fault inside a union is reported once for each branch; twenty are enough to mend a request.
const MOST_FAULTS = 20;

/** What does not fit its schema: every fault once, the first one in front. Without a pointer it is not in the body. */
export function misfit(faults: readonly { pointer?: string; detail: string }[]): Problem {
  const once = [...new Map(faults.map((fault) => [`${fault.pointer ?? ""} ${fault.detail}`, fault])).values()];
  const errors = once.slice(0, MOST_FAULTS).map((fault) => ({ code: "invalid_request", ...fault }));
  const first = errors[0] ?? { detail: "The request does not fit the contract.", pointer: undefined };
  // "must be …" says nothing without its field; the others name theirs.
  const detail = first.pointer && first.detail.startsWith("must ") ? `${first.pointer} ${first.detail}` : first.detail;
  return new Problem("invalid_request", detail, { pointer: first.pointer, errors });
}

/** The one answer for a missing object and for one that the caller may not see: callers cannot tell the two apart. */
export const notFound = () =>
  new Problem("not_found", "There is nothing here, or this credential may not see it. Check the id, org and project.");
