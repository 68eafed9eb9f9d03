import type { KubeObject } from "../object.ts";
import { healthOf } from "./health.ts";

export type Parts = { spec?: object; status?: object; meta?: object };
/** An object of `group/Kind`. */
export const make = (type: string, { spec, status, meta }: Parts): KubeObject => {
  const [group, kind] = type.split("/") as [string, string];
  return {
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name: "n", ...meta },
    ...(spec ? { spec } : {}),
    ...(status ? { status } : {}),
  };
};
/** `Ready=False(Why): words`. */
export const condition = (text: string) => {
  const [, type, status, reason, message] = /^([^=]+)=(\w+)(?:\((\w+)\))?(?:: (.*))?$/.exec(text)!;
  return { type, status, ...(reason ? { reason } : {}), ...(message ? { message } : {}) };
};
export const conditions = (...list: string[]) => ({ conditions: list.map(condition) });
export const at = (generation: number, seen: number, status: object = {}): Parts => ({
  meta: { generation },
  status: { observedGeneration: seen, ...status },
});

export type Case = [kind: string, what: string, given: Parts, want: string];
/** `Degraded: words`, as the cases write it; undefined for a kind without a check. */
export function judged(kind: string, given: Parts): string | undefined {
  const got = healthOf(make(kind, given));
  return got && [got.status, got.message].filter(Boolean).join(": ");
}
