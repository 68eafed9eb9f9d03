import { isDeepStrictEqual } from "node:util";
import { readJson } from "../../../base/json/nesting.ts";
import { APPLIER } from "../../../kube/client.ts";
import type { FieldSet, KubeObject } from "../../../kube/object.ts";
import { withTexts } from "./plain-texts.ts";

type Json = Record<string, unknown>;

/** The object as it was last applied: the fields of the live object that the applier owns. Undefined if it was never applied server-side. */
export function appliedOf(live: KubeObject): KubeObject | undefined {
  const { managedFields = [], name, namespace } = live.metadata;
  const own = managedFields.find(
    ({ manager, operation, subresource }) => manager === APPLIER && operation === "Apply" && !subresource,
  );
  if (!own?.fieldsV1) return undefined;
  const { metadata, ...rest } = map(live.kind === "Secret" ? withTexts(own.fieldsV1) : own.fieldsV1, live);
  return {
    apiVersion: live.apiVersion,
    kind: live.kind,
    metadata: { name, ...(namespace ? { namespace } : {}), ...(metadata as Json | undefined) },
    ...rest,
  };
}

function node(fields: FieldSet, live: unknown): unknown {
  const inner = Object.keys(fields).filter((field) => field !== ".");
  if (inner.length === 0) return live;
  return Array.isArray(live) ? items(fields, live) : map(fields, live as Json);
}

function map(fields: FieldSet, live: Json): Json {
  const result: Json = {};
  for (const [field, inner] of Object.entries(fields)) {
    const name = field.slice(2);
    if (field.startsWith("f:") && typeof live === "object" && live !== null && Object.hasOwn(live, name))
      result[name] = node(inner, live[name]);
  }
  return result;
}

/** Items in the order in which they are live; the keys that name an item belong to it. */
function items(fields: FieldSet, live: readonly unknown[]): unknown[] {
  const result: unknown[] = [];
  for (const item of live) {
    const field = Object.keys(fields).find((one) => isNamed(one, item));
    if (!field) continue;
    const keys = field.startsWith("k:") ? (readJson(field.slice(2)) as Json) : undefined;
    result.push(keys ? { ...keys, ...map(fields[field]!, item as Json) } : item);
  }
  return result;
}

/** `k:` names an item by its keys, `v:` by its value. */
function isNamed(field: string, item: unknown): boolean {
  if (field.startsWith("v:")) return isDeepStrictEqual(readJson(field.slice(2)), item);
  if (!field.startsWith("k:") || typeof item !== "object" || item === null) return false;
  return Object.entries(readJson(field.slice(2)) as Json).every(([key, value]) =>
    isDeepStrictEqual((item as Json)[key], value),
  );
}
