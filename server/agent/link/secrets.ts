import { open, type SealContext } from "../../../openapi/seal.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { Secret } from "../../base/secret.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { WorkerObject } from "../../link/exchange.ts";
import type { Context } from "./context.ts";
import { partsOf } from "./names.ts";

export const SECRET_TYPE = "argocd.argoproj.io/secret-type";

/** A Secret's field as text; empty is the same as none. */
export function field(secret: KubeObject | undefined, name: string): string | undefined {
  const value = secret?.data?.[name];
  return typeof value === "string" && value !== "" ? Buffer.from(value, "base64").toString("utf8") : undefined;
}

/** `data` of a Secret, without what is not set. */
export function data(fields: Record<string, string | undefined>): Record<string, string> {
  const set = Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "");
  return Object.fromEntries(set.map(([name, value]) => [name, Buffer.from(value).toString("base64")]));
}

/** Opens the credentials of a delivery; nothing when it has none. Only the named fields are taken. */
export async function openCredentials(
  ctx: Context,
  object: WorkerObject,
  allowed: readonly string[],
): Promise<Outcome<Map<string, Secret> | undefined>> {
  if (!object.sealed) return done(undefined);
  const { org, project, id } = partsOf(object.key);
  let opened: Record<string, unknown>;
  try {
    opened = await open(
      ctx.sealSeed.reveal(),
      { account: ctx.account, org, project, collection: object.collection as SealContext["collection"], id },
      object.sealed,
    );
  } catch {
    return stop(
      "CredentialsUnreadable",
      "the credentials cannot be opened: they were sealed to another key or for another object; set them again (change credentialsVersion)",
    );
  }
  const credentials = new Map<string, Secret>();
  for (const [name, value] of Object.entries(opened ?? {})) {
    if (!allowed.includes(name) || typeof value !== "string")
      return stop(
        "CredentialsInvalid",
        `the sealed credentials have a field "${name.slice(0, 64)}" that this agent does not know; upgrade the agent`,
      );
    credentials.set(name, new Secret(value));
  }
  return done(credentials);
}
