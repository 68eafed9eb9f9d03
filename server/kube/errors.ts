import { readJson } from "../base/json/nesting.ts";
import { again, type Failure, stop } from "../base/outcome.ts";

/** Reasons of requests that did not succeed; constants for machines, they never change. */
export const KUBE = {
  unauthorized: "Unauthorized",
  forbidden: "Forbidden",
  notFound: "NotFound",
  kindNotFound: "KindNotFound",
  namespaceNotFound: "NamespaceNotFound",
  namespaceTerminating: "NamespaceTerminating",
  alreadyExists: "AlreadyExists",
  conflict: "Conflict",
  /** Server-side apply would take fields from another manager, which the message names with the fields. */
  fieldConflict: "FieldConflict",
  invalid: "Invalid",
  gone: "Gone",
  tooLarge: "TooLarge",
  rateLimited: "RateLimited",
  unavailable: "ClusterUnavailable",
  timeout: "ClusterTimeout",
  /** There is no token to show the cluster. */
  signIn: "SignInFailed",
} as const;

/** Turns an API server's answer into a failure. Messages of the server are kept: they name the object and the field. */
export function failureOf(status: number, body: string): Failure {
  let answer: {
    message?: string;
    reason?: string;
    details?: { kind?: string; name?: string; causes?: { reason?: string }[] };
  } = {};
  try {
    answer = readJson(body) as typeof answer;
  } catch {
    // Not a Status object: a proxy in between, or "404 page not found" for a path no group serves.
  }
  const message = redactValues(answer.message ?? `the API server answered ${status}`);
  switch (status) {
    case 401:
      return again(KUBE.unauthorized, `the cluster does not accept the credentials: ${message}`);
    case 403:
      return answer.details?.causes?.some((cause) => cause.reason === "NamespaceTerminating")
        ? again(KUBE.namespaceTerminating, message)
        : stop(KUBE.forbidden, message);
    case 404:
      if (answer.message === undefined || answer.details === undefined) return stop(KUBE.kindNotFound, message);
      if (answer.details.kind === "namespaces") return stop(KUBE.namespaceNotFound, message);
      return answer.details.name ? stop(KUBE.notFound, message) : stop(KUBE.kindNotFound, message);
    case 409:
      if (answer.details?.causes?.some((cause) => cause.reason === "FieldManagerConflict"))
        return stop(KUBE.fieldConflict, message);
      return answer.reason === "AlreadyExists" ? stop(KUBE.alreadyExists, message) : again(KUBE.conflict, message);
    case 410:
      return again(KUBE.gone, message);
    case 413:
      return stop(KUBE.tooLarge, message);
    case 429:
      return again(KUBE.rateLimited, message);
  }
  // Server-side apply answers so for a field that the kind does not have.
  if (status === 500 && /field not declared in schema|failed to create typed patch object/.test(message))
    return stop(KUBE.invalid, message);
  // etcd's own bound, and that of the API server's messages to it: sent again, it is as large.
  if (status === 500 && /request is too large|message larger than max/.test(message))
    return stop(KUBE.tooLarge, message);
  if (status >= 500) return again(KUBE.unavailable, message);
  return stop(KUBE.invalid, message);
}

// Errors quote what they refuse; of a Secret that would be its content ("illegal base64 data", "Invalid value: …", "expected string, got …").
function redactValues(message: string): string {
  if (!/\bSecret\b/.test(message)) return message;
  return message
    .replace(/Invalid value: "(?:[^"\\]|\\.)*"/g, "Invalid value: [redacted]")
    .replace(/Invalid value: (?!\[redacted]).*/gs, "Invalid value: [redacted]")
    .replace(/, got .*/gs, ", got [redacted]")
    .replace(/in \[.*\]/gs, "in [redacted]");
}
