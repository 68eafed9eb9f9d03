import type { KubeObject } from "../../../kube/object.ts";

export const SECRET_TYPE = "argocd.argoproj.io/secret-type";

/** A Secret's field as text; empty is the same as none. */
export function field(secret: KubeObject | undefined, name: string): string | undefined {
  const value = secret?.data?.[name];
  return typeof value === "string" && value !== "" ? Buffer.from(value, "base64").toString("utf8") : undefined;
}

/** `data` of a Secret, without undefined fields. */
export function data(fields: Record<string, string | undefined>): Record<string, string> {
  const set = Object.entries(fields).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "",
  );
  return Object.fromEntries(set.map(([name, value]) => [name, Buffer.from(value).toString("base64")]));
}
