import { createHash } from "node:crypto";
import { stringify } from "yaml";
import type { KubeObject } from "../../../kube/object.ts";

/** A copy in which a Secret's values are digests: two that are equal still look equal, and cannot be read. */
export function masked(object: KubeObject, salt: string): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  const copy: KubeObject = { ...object, metadata };
  if (object.kind !== "Secret" || object.apiVersion !== "v1") return copy;
  const values = (fields: unknown, decode: boolean) =>
    fields && typeof fields === "object"
      ? Object.fromEntries(
          Object.entries(fields).map(([name, value]) => [
            name,
            digestOf(decode ? Buffer.from(String(value), "base64") : Buffer.from(String(value)), salt),
          ]),
        )
      : undefined;
  if (object.data) copy.data = values(object.data, true);
  if (object.stringData) copy.stringData = values(object.stringData, false);
  const annotations = { ...metadata.annotations };
  // kubectl keeps a copy of the whole object there.
  delete annotations["kubectl.kubernetes.io/last-applied-configuration"];
  copy.metadata = { ...metadata, annotations };
  return copy;
}

// Salted, because a short value could be found by trying.
const digestOf = (value: Buffer, salt: string) =>
  `sha256:${createHash("sha256").update(salt).update(value).digest("hex").slice(0, 16)}`;

/** YAML as people read it, without what the server keeps for itself. */
export function toYaml(object: KubeObject): string {
  const { uid, resourceVersion, generation, creationTimestamp, managedFields, selfLink, ...metadata } = object.metadata;
  const { status: _, ...rest } = object as KubeObject & { status?: unknown };
  return stringify({ ...rest, metadata }, { aliasDuplicateObjects: false });
}
