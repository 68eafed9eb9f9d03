import type { KubeObject } from "../object.ts";
import { type Condition, conditionsOf, type Health, type HealthCheck, type HealthStatus, health } from "./types.ts";

/** A message: fixed, or read from the object. */
export type Text = string | ((object: KubeObject) => string | undefined);
/** A message of a condition: fixed, or read from it; by default the condition's own. */
export type ConditionText = string | ((condition: Condition, object: KubeObject) => string | undefined);
/** `[type, status, health, message?]`; a type or a status of `*` is any. */
export type ConditionRow = readonly [type: string, status: string, verdict: HealthStatus, text?: ConditionText];
/** The checks of some kinds, by `group/Kind`. */
export type Checks = Record<string, HealthCheck>;

const textOf = (text: Text, object: KubeObject): string | undefined => (typeof text === "string" ? text : text(object));

export const number = (value: unknown): number => (typeof value === "number" ? value : 0);

/** The value at a path like `status.phase`; undefined when a part of the path is missing. */
export function at(object: KubeObject, path: string): unknown {
  let value: unknown = object;
  for (const step of path.split(".")) value = (value as Record<string, unknown> | null | undefined)?.[step];
  return value ?? undefined;
}

/** The first check that answers. */
export const firstOf =
  (...checks: HealthCheck[]): HealthCheck =>
  (object) => {
    for (const check of checks) {
      const answer = check(object);
      if (answer) return answer;
    }
    return undefined;
  };

export const always =
  (status: HealthStatus, text: Text = ""): HealthCheck =>
  (object) =>
    health(status, textOf(text, object));

/** What nearly every kind says before its controller has spoken. */
export const waiting = (text: Text): HealthCheck => always("Progressing", text);

export const when =
  (test: (object: KubeObject) => unknown, status: HealthStatus, text: Text = ""): HealthCheck =>
  (object) =>
    test(object) ? health(status, textOf(text, object)) : undefined;

/** Goes through the conditions in their order; the first one that a row names answers. */
export const conditions =
  (...rows: ConditionRow[]): HealthCheck =>
  (object) => {
    for (const condition of conditionsOf(object)) {
      const row = rows.find(
        ([type, status]) =>
          (type === "*" || type === condition.type) && (status === "*" || status === condition.status),
      );
      if (row) return judged(row, condition, object);
    }
    return undefined;
  };

/** Goes through the rows in their order: a condition further down the list may count more than one before it. */
export const inOrder = (...rows: ConditionRow[]): HealthCheck => firstOf(...rows.map((row) => conditions(row)));

function judged([, , verdict, text]: ConditionRow, condition: Condition, object: KubeObject): Health {
  const own = typeof text === "function" ? text(condition, object) : text;
  const message = text === undefined ? condition.message : own;
  return health(verdict, message);
}

/** The commonest rule of all: a condition that is False is bad, True is good, anything else is to be waited for. */
export const ready = (wait: Text, type = "Ready"): HealthCheck =>
  firstOf(conditions([type, "False", "Degraded"], [type, "True", "Healthy"]), waiting(wait));

/** One field with a set of words. */
export const phases =
  (
    path: string,
    words: Partial<Record<HealthStatus, readonly string[]>>,
    text: Text = (object) => String(at(object, path)),
  ): HealthCheck =>
  (object) => {
    const value = at(object, path);
    const found = Object.entries(words).find(([, list]) => list.includes(String(value)));
    return value !== undefined && found ? health(found[0] as HealthStatus, textOf(text, object)) : undefined;
  };

export const reason = (condition: Condition): string | undefined => condition.reason;
export const findCondition = (object: KubeObject, type: string): Condition | undefined =>
  conditionsOf(object).findLast((c) => c.type === type);
/** The controller has seen the newest specification. */
export const observed = ({ metadata, status }: KubeObject): boolean =>
  metadata.generation === status?.observedGeneration;
/** It has seen an older one: kinds that do not tell are taken as up to date. */
export const stale = ({ metadata, status }: KubeObject): boolean =>
  status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation;

/** A check that knows the fields of some versions of its kind; another version has other fields, so nothing is known of it. */
export const versions =
  (name: string, known: readonly string[], check: HealthCheck): HealthCheck =>
  (object) => {
    if (known.includes(object.apiVersion)) return check(object);
    return health("Unknown", `unsupported ${name} GVK: ${object.apiVersion}, Kind=${object.kind}`);
  };

/** The same check for several kinds of a group. */
export const each = (group: string, kinds: readonly string[], check: (kind: string) => HealthCheck): Checks =>
  Object.fromEntries(kinds.map((kind) => [`${group}/${kind}`, check(kind)]));
