import { unfitText } from "../../../base/json/json.ts";
import { readJson } from "../../../base/json/nesting.ts";
import { Problem } from "../../domain/problem.ts";

/** Where a page ended, as an opaque text. */
export function writeCursor(parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/** Takes a cursor apart; only what `writeCursor` could have written is taken. */
export function readCursor(text: string, types: readonly ("string" | "number")[]): (string | number)[] {
  try {
    const parts: unknown = readJson(Buffer.from(text, "base64url").toString("utf8"));
    const fits =
      Array.isArray(parts) && parts.length === types.length && parts.every((part, i) => fitsType(part, types[i]!));
    if (fits) return parts as (string | number)[];
  } catch {
    // Falls through to the same answer.
  }
  throw new Problem("invalid_request", "`cursor` is not one that a page of this list gave as `nextCursor`.");
}

function fitsType(part: unknown, type: "string" | "number"): boolean {
  if (type === "number") return Number.isSafeInteger(part);
  return typeof part === "string" && part.length <= 200 && !unfitText(part);
}
