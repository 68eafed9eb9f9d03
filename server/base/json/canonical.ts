import { createHash } from "node:crypto";
import { compare } from "../lang/compare.ts";

/** JSON with sorted object keys and without `undefined`: the same value always gives the same text, so it can be signed and hashed. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((v) => canonical(v ?? null)).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value as Record<string, unknown>).filter(([, v]) => v !== undefined);
    entries.sort(([a], [b]) => compare(a, b));
    return `{${entries.map(([k, v]) => `${JSON.stringify(k)}:${canonical(v)}`).join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/** Lower-case hex SHA-256 of a text, or of a value's canonical JSON. */
export function digest(value: unknown): string {
  return createHash("sha256")
    .update(typeof value === "string" ? value : canonical(value))
    .digest("hex");
}
