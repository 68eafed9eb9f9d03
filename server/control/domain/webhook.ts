import type { Schemas } from "./nouns.ts";

type Spec = Pick<Schemas["WebhookSpec"], "secretVersion">;
type Status = Schemas["WebhookStatus"];

/** What a secret of a webhook is derived from: a key of the service (the first one if absent) and two counters. */
export interface SecretSource {
  key?: string | undefined;
  version: number;
  rotation: number;
}

/** How long a secret that a change of `secretVersion` replaces stays valid: one apply enters the new one at the host. */
const OVERLAP_MS = 3_600_000;

/** The secret to enter at the host. */
export function currentSecret(spec: Spec, { secretKey, secretRotation = 0 }: Status): SecretSource {
  return { key: secretKey, version: spec.secretVersion ?? 1, rotation: secretRotation };
}

/** The secrets that are valid now, the newest first. */
export function validSecrets(spec: Spec, status: Status, now: Date): SecretSource[] {
  const { previousSecretVersion: version, previousSecretKey: key, previousSecretRotation: rotation = 0 } = status;
  const overlaps = version !== undefined && now.getTime() < previousUntil(status);
  return [currentSecret(spec, status), ...(overlaps ? [{ key, version, rotation }] : [])];
}

/** A version of the service before rotation wrote only when the secret changed. */
function previousUntil({ previousSecretUntil: until, secretChangedAt: changed }: Status): number {
  if (until !== undefined) return Date.parse(until);
  return changed === undefined ? 0 : Date.parse(changed) + OVERLAP_MS;
}

/** The status of a webhook with a new secret from this key. The secret before it stays valid for a while; older ones end. */
export function rotated(
  { spec, status }: { spec: Spec; status: Status },
  { key, now, overlapMs }: { key: string; now: Date; overlapMs: number },
): Status {
  const { previousSecretKey, previousSecretVersion, previousSecretRotation, previousSecretUntil, ...rest } = status;
  const { key: oldKey, version, rotation } = currentSecret(spec, status);
  const previous = {
    ...(oldKey === undefined ? {} : { previousSecretKey: oldKey }),
    previousSecretVersion: version,
    previousSecretRotation: rotation,
    previousSecretUntil: new Date(now.getTime() + overlapMs).toISOString(),
  };
  return {
    ...rest,
    secretKey: key,
    secretRotation: rotation + 1,
    secretChangedAt: now.toISOString(),
    ...(overlapMs > 0 ? previous : {}),
  };
}

/** The status after a change of spec: another `secretVersion` rotates the secret. */
export function statusAfterChange(
  before: { spec: Spec; status: Status },
  spec: Spec,
  { key, now }: { key: string; now: Date },
): Status {
  if ((before.spec.secretVersion ?? 1) === (spec.secretVersion ?? 1)) return before.status;
  return rotated(before, { key, now, overlapMs: OVERLAP_MS });
}
