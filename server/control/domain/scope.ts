import { digest } from "../../base/json/canonical.ts";

/** Where an object is: the account, an organisation of it, or a project of that; `""` stands for none. */
export interface Scope {
  account: string;
  org: string;
  project: string;
}

/** The ids of organisations, projects and most objects. */
export const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export type Level = "account" | "org" | "project";

export function levelOf(scope: Scope): Level {
  if (scope.project) return "project";
  return scope.org ? "org" : "account";
}

/** Whether `inner` is `outer` or below it. Rights and inherited lists flow downwards. */
export function contains(outer: Scope, inner: Scope): boolean {
  if (outer.account !== inner.account) return false;
  if (outer.org && outer.org !== inner.org) return false;
  return !outer.project || outer.project === inner.project;
}

/** `org/project/id` with `-` for none: names an object of a collection within its account. */
export function keyOf(scope: Pick<Scope, "org" | "project">, id: string): string {
  return `${scope.org || "-"}/${scope.project || "-"}/${id}`;
}

/**
 * What a new object is called in its agent's namespace. Objects of the agent's own scope keep their id; others get a tail of 48 bits, so that
 * no scope can be chosen whose names equal those of another. A delivery keeps the name that it was given first: read it there for an object that exists.
 */
export function workerName(agent: Scope, object: Scope, id: string): string {
  if (isSame(agent, object)) return id;
  return `${id}-${digest(`${object.account}/${object.org || "-"}/${object.project || "-"}`).slice(0, 12)}`;
}

export function isSame(a: Scope, b: Scope): boolean {
  return a.account === b.account && a.org === b.org && a.project === b.project;
}

/**
 * The place a Reference names, seen from `from`: `id` in the same scope, `org.id` and `account.id` in scopes above.
 * Nothing else can be written, so a reference never leaves the line from the object up to its account.
 */
export function resolveReference(reference: string, from: Scope): { scope: Scope; id: string } | undefined {
  const dot = reference.indexOf(".");
  if (dot < 0) return { scope: from, id: reference };
  const id = reference.slice(dot + 1);
  const where = reference.slice(0, dot);
  if (where === "account") return { scope: { account: from.account, org: "", project: "" }, id };
  if (where === "org" && from.org) return { scope: { account: from.account, org: from.org, project: "" }, id };
  return undefined;
}

/** The scopes from `scope` up to the account, nearest first: a worker of any of them may serve it. */
export function upwards(scope: Scope): Scope[] {
  const account = { account: scope.account, org: "", project: "" };
  const org = { ...account, org: scope.org };
  if (scope.project) return [scope, org, account];
  return scope.org ? [org, account] : [account];
}
