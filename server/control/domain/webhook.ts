import type { Schemas } from "./nouns.ts";

type Spec = Pick<Schemas["WebhookSpec"], "secretVersion">;
type Status = Pick<Schemas["WebhookStatus"], "secretChangedAt" | "previousSecretVersion">;

/** How long the secret before a change is still good, so that it can be changed at the host without a gap. */
const OVERLAP_MS = 3_600_000;

/** The versions of a webhook's secret that are good now, the newest first. */
export function goodVersions(spec: Spec, { secretChangedAt, previousSecretVersion: before }: Status, now: Date): number[] {
  const overlaps = secretChangedAt !== undefined && now.getTime() - Date.parse(secretChangedAt) < OVERLAP_MS;
  return [spec.secretVersion ?? 1, ...(overlaps && before !== undefined ? [before] : [])];
}

/** The status after a change of spec: of a new secret it says which one was good before it, and since when. */
export function statusAfterChange(before: { spec: Spec; status: Status }, spec: Spec, now: Date): Status {
  const [old, fresh] = [before.spec.secretVersion ?? 1, spec.secretVersion ?? 1];
  return old === fresh ? before.status : { ...before.status, previousSecretVersion: old, secretChangedAt: now.toISOString() };
}
