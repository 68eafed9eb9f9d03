import type { Schemas } from "../../../../openapi/client.ts";

type Policy = Schemas["PlanPolicy"];

/** What a plan does to one resource. */
export interface ResourceChange {
  address: string;
  type: string;
  action: "create" | "update" | "delete" | "replace";
}

export interface Counts {
  create: number;
  update: number;
  delete: number;
}

// Far more than any plan that a person can review.
const SHOWN = 10;

/** The changes in a plan's JSON form, without reads and unchanged resources. */
export function changesOf(plan: {
  resource_changes?: { address: string; mode?: string; type: string; change: { actions: string[] } }[];
}): ResourceChange[] {
  return (plan.resource_changes ?? []).flatMap(({ address, mode, type, change: { actions } }) => {
    if (mode === "data") return [];
    const action = actions.length > 1 ? "replace" : actions[0];
    return action === "create" || action === "update" || action === "delete" || action === "replace"
      ? [{ address, type, action }]
      : [];
  });
}

/** As Terraform counts: a replacement is one addition and one destruction. */
export function countOf(changes: readonly ResourceChange[]): Counts {
  const of = (...actions: ResourceChange["action"][]) =>
    changes.filter(({ action }) => actions.includes(action)).length;
  return { create: of("create", "replace"), update: of("update"), delete: of("delete", "replace") };
}

/**
 * Everything in a plan that a policy does not allow, in words; empty when it may be applied. A replacement counts as a delete and not as a
 * create, and who denies deletes denies replacements.
 */
export function violations(changes: readonly ResourceChange[], policy: Policy): string[] {
  const found: string[] = [];
  const of = (...actions: ResourceChange["action"][]) => changes.filter(({ action }) => actions.includes(action));
  const bounds = [
    ["maxCreate", "created", of("create")],
    ["maxUpdate", "updated", of("update")],
    ["maxDelete", "deleted or replaced", of("delete", "replace")],
  ] as const;
  for (const [name, what, hit] of bounds) {
    const most = policy[name];
    if (most === undefined || hit.length <= most) continue;
    found.push(
      `${hit.length} would be ${what}, at most ${most} may (${name}): ${shown(hit.map(({ address }) => address))}`,
    );
  }
  for (const { types, actions, message } of policy.deny ?? []) {
    const denied = new Set<string>(actions ?? ["create", "update", "delete", "replace"]);
    if (denied.has("delete")) denied.add("replace");
    const hit = changes.filter(({ type, action }) => denied.has(action) && types.some((glob) => matches(glob, type)));
    if (hit.length)
      found.push(
        `${shown(hit.map(({ address, action }) => `${address} (${action})`))} is denied${message ? `: ${message}` : ""}`,
      );
  }
  return found;
}

const shown = (names: readonly string[]) =>
  `${names.slice(0, SHOWN).join(", ")}${names.length > SHOWN ? ` and ${names.length - SHOWN} more` : ""}`;

/** `*` matches any text; without backtracking, so that no pattern is slow. */
function matches(glob: string, text: string): boolean {
  const [first = "", ...rest] = glob.split("*");
  if (rest.length === 0) return glob === text;
  if (!text.startsWith(first)) return false;
  const last = rest.pop()!;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
