import { Problem } from "../../domain/problem.ts";
import type { Stored } from "../../store/objects/objects.ts";

/** The entity tag of an object's version. */
export const etag = (o: Stored) => `"${o.version}"`;

const tags = (header: string) => header.split(",").map((t) => t.trim());

/** Refuses a change of an object that is not at the version the client has seen. */
export function checkIfMatch(header: string | undefined, existing: Stored | undefined): void {
  if (header === undefined) return;
  if (!existing)
    throw new Problem(
      "version_mismatch",
      "If-Match was given, but there is no such object. Leave it out to create one.",
    );
  if (header.trim() === "*" || tags(header).includes(etag(existing))) return;
  throw new Problem(
    "version_mismatch",
    "The object has changed since you read it. Read it again, repeat your change on top, and send the new ETag.",
    { currentVersion: String(existing.version) },
  );
}

/** `If-None-Match: *` on PUT: only create. */
export function checkIfNoneMatch(header: string | undefined, existing: Stored | undefined): void {
  if (header === undefined || !existing) return;
  if (header.trim() === "*" || tags(header).includes(etag(existing)))
    throw new Problem(
      "already_exists",
      "There is an object with this id already. Choose another id, or leave out If-None-Match to replace it.",
      { currentVersion: String(existing.version) },
    );
}

/** Whether a read can be answered with 304. */
export function notModified(header: string | undefined, o: Stored): boolean {
  return (
    header !== undefined &&
    (header.trim() === "*" ||
      tags(header)
        .map((t) => t.replace(/^W\//, ""))
        .includes(etag(o)))
  );
}
