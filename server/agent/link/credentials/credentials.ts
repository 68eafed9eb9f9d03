import {
  type Audience,
  audienceOf,
  beyond,
  type Difference,
  type SealedCollection,
} from "../../../../openapi/audience.ts";
import { open } from "../../../../openapi/seal.ts";
import { readJson } from "../../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { Secret } from "../../../base/secret.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { WorkerObject } from "../../../link/exchange.ts";
import { tenantOf } from "../../project/tenant.ts";
import type { AgentContext } from "../context.ts";
import { marksOf, partsOf, tenantOfDelivery } from "../names.ts";
import { rememberOpened, wasOpenedBefore } from "./opened.ts";

/**
 * The service relays envelopes and specifications, and is trusted with neither: it could put an envelope beside another address. So an
 * envelope says itself where its credentials may be sent, this is compared before they are written, and an envelope counts once.
 */

/** Ids of the envelopes that were opened for a Secret, the newest first. Written with the credentials, in one request. */
export const OPENED = "outpost.dev/opened-credentials";
/** Where the credentials of a Secret may be sent. */
export const AUDIENCE = "outpost.dev/credentials-audience";
// An id has 22 characters. Older ones are remembered elsewhere.
const MAX_OPENED = 100;

/** Credentials that came with a delivery. */
export interface Opened {
  id: string;
  values: Map<string, Secret>;
}

const AGAIN = "give the credentials again (change credentialsVersion)";
const collectionOf = (object: WorkerObject) => object.collection as SealedCollection;

/** Opens the credentials of a delivery; nothing when it has none. Only the named fields are taken, and only for the audience they are sealed for. */
export async function openCredentials(
  ctx: AgentContext,
  object: WorkerObject,
  allowed: readonly string[],
  now: Audience,
): Promise<Outcome<Opened | undefined>> {
  const { sealed } = object;
  if (!sealed) return done(undefined);
  if (!sealed.id || !sealed.audience)
    return stop(
      "CredentialsUnbound",
      `the sealed credentials do not say where they may be sent: upgrade the client that sealed them, then ${AGAIN}`,
    );
  const { org, project, id } = partsOf(object.key);
  let opened: Record<string, unknown>;
  try {
    const context = { account: ctx.account, org, project, collection: collectionOf(object), id };
    opened = await open(ctx.sealSeed.reveal(), context, { ...sealed, id: sealed.id, audience: sealed.audience });
  } catch {
    return stop(
      "CredentialsUnreadable",
      `the credentials cannot be opened: they were sealed to another key, for another object, or were changed on the way; ${AGAIN}`,
    );
  }
  const [difference] = beyond(collectionOf(object), sealed.audience, now);
  if (difference)
    return stop(
      "CredentialsAudience",
      `${difference.message} after the credentials were sealed, so they are not used: ${AGAIN}`,
    );
  const values = new Map<string, Secret>();
  for (const [name, value] of Object.entries(opened ?? {})) {
    if (!allowed.includes(name) || typeof value !== "string")
      return stop(
        "CredentialsInvalid",
        `the sealed credentials have a field "${name.slice(0, 64)}" that this agent does not know; upgrade the agent`,
      );
    values.set(name, new Secret(value));
  }
  const before = await wasOpenedBefore(ctx, tenantOfDelivery(object), sealed.id);
  if (before.kind !== "done") return before;
  return before.value ? stop("CredentialsReplayed", REPLAYED) : done({ id: sealed.id, values });
}

interface Choice {
  /** New credentials; none means that those of the existing Secret stay. */
  fresh: Map<string, Secret> | undefined;
  annotations: Record<string, string | undefined>;
}

/** Which credentials the Secret of a delivery gets. */
export async function chooseCredentials(
  ctx: AgentContext,
  existing: KubeObject | undefined,
  opened: Opened | undefined,
): Promise<Outcome<Choice>> {
  const ids = openedIds(existing);
  // Sent again before the service heard that it arrived: the Secret has these credentials already.
  if (!opened || opened.id === ids[0]) return done({ fresh: undefined, annotations: {} });
  if (ids.includes(opened.id)) return stop("CredentialsReplayed", REPLAYED);
  const remembered = await rememberOpened(ctx, existing && tenantOf(existing), ids.slice(MAX_OPENED - 1));
  if (remembered.kind !== "done") return remembered;
  return done({ fresh: opened.values, annotations: { [OPENED]: [opened.id, ...ids].slice(0, MAX_OPENED).join(" ") } });
}

export const REPLAYED = `these sealed credentials were used before, and an envelope counts once: ${AGAIN}`;

export const openedIds = (secret: KubeObject | undefined): string[] =>
  (secret?.metadata.annotations?.[OPENED] ?? "").split(" ").filter((id) => id !== "");

interface Kept {
  ctx: AgentContext;
  object: WorkerObject;
  existing: KubeObject;
  now: Audience;
  /** The specification according to a Secret that was written before audiences existed. */
  told: () => Record<string, unknown>;
}

/** Refuses to use kept credentials beyond what they were given for. */
export function mayKeep({ ctx, object, existing, now, told }: Kept): Outcome<undefined> {
  const held = marksOf(existing, ctx.account);
  // The very Secret that is being taken over has its own credentials, for the address that it names.
  const adopted = held === undefined && object.adopt !== undefined && object.adopt.uid === existing.metadata.uid;
  if (held?.uid !== object.uid && !adopted)
    return stop(
      "CredentialsRequired",
      `the object was created again, and the credentials in the cluster belong to the one before it: ${AGAIN}, or delete Secret ${existing.metadata.name}`,
    );
  const written = audienceIn(existing);
  const collection = collectionOf(object);
  // A Secret does not tell the host keys, so an older one cannot be compared in this.
  const { knownHosts: _, ...rest } = now;
  const found: Difference[] = written
    ? beyond(collection, written, now)
    : beyond(collection, audienceOf(collection, told()), rest);
  const [difference] = found;
  return difference
    ? stop(
        "CredentialsRequired",
        `${difference.message}, and the credentials are not sent there unless they are given again: ${AGAIN}`,
      )
    : done(undefined);
}

function audienceIn(secret: KubeObject): Audience | undefined {
  try {
    const value: unknown = readJson(secret.metadata.annotations?.[AUDIENCE] ?? "");
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return Object.values(value).every((part) => typeof part === "string") ? (value as Audience) : undefined;
  } catch {
    return undefined;
  }
}
