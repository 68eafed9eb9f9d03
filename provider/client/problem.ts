import type { Attributes } from "../schema/attribute.ts";
import type { Diagnostics } from "../schema/diagnostics.ts";
import { camel } from "../schema/names.ts";
import type { Path, Step } from "../value/path.ts";
import type { Problem } from "./client.ts";

/** The service speaks of a header, which a user of Terraform never writes. */
const OTHER_KEY =
  "The service rejects the API key: it may have been revoked, have expired, or be of another service. Give a valid one with `api_key` in the provider block or in OUTPOST_API_KEY, or sign in with `outpost login`.";

/** Reports a problem: each of its errors at the attribute that its pointer names. */
export function report(diagnostics: Diagnostics, action: string, problem: Problem, attributes: Attributes): void {
  const { title, pointer, errors = [], code, instance } = problem;
  const detail = code === "unauthenticated" ? OTHER_KEY : problem.detail;
  const about = [code && `Code: ${code}.`, instance && `Request: ${instance}.`].filter(Boolean).join(" ");
  const say = (text: string, at: string | undefined) =>
    diagnostics.error(
      `${action}: ${title}`,
      `${text}\n\n${about}`.trim(),
      at === undefined ? undefined : pathOf(attributes, at),
    );
  if (errors.length === 0) say(detail, pointer);
  for (const error of errors) say(error.detail, error.pointer ?? pointer);
}

/** The path of an attribute that a JSON pointer into the request names: `/spec/source/repoUrl` → `source.repo_url`, `/query/filter` → `filter`. */
export function pathOf(attributes: Attributes, pointer: string): Path | undefined {
  const parts = pointer
    .split("/")
    .slice(1)
    .map((p) => p.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (parts[0] === "spec" || parts[0] === "query") parts.shift();
  const path: Step[] = [];
  let group: Attributes | undefined = attributes;
  for (let i = 0; i < parts.length && group; i++) {
    const found: [string, Attributes[string]] | undefined = Object.entries(group).find(
      ([name, a]) => (a.json ?? camel(name)) === parts[i],
    );
    if (!found) break;
    const [name, a]: [string, Attributes[string]] = found;
    path.push({ attr: name });
    const kind = a.nesting ?? (Array.isArray(a.type) ? (a.type[0] as string) : undefined);
    const next = parts[i + 1];
    if (kind === "set") break;
    if (next !== undefined && kind === "list" && /^\d+$/.test(next)) {
      path.push({ index: Number(next) });
      i++;
    } else if (next !== undefined && kind === "map") {
      path.push({ key: next });
      i++;
    }
    group = a.attributes;
  }
  return path.length > 0 ? path : undefined;
}
