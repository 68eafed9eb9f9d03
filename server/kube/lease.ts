import { pause } from "../base/process/pause.ts";
import type { KubeClient } from "./client.ts";
import { KUBE } from "./errors.ts";
import type { KubeObject } from "./object.ts";
import { RESOURCES } from "./path.ts";

// The figures of Kubernetes' own controllers.
const LEASE_SECONDS = 15;
const RENEW_MS = 2_000;
// Work stops before another one may take over.
const GIVE_UP_MS = 10_000;

export interface LeaseOptions {
  client: KubeClient;
  namespace: string;
  name: string;
  /** Who this is; the name of the Pod. */
  holder: string;
  signal: AbortSignal;
}

/**
 * Waits for the Lease, runs `lead` while it is held, and ends when `lead` ends, when the lease is lost (then `lead`'s signal aborts), or
 * by the signal. The lease is given back at the end, so that a successor need not wait.
 *
 *   waiting → leading   it has no holder, or its time is over by our own clock since we last saw it change
 *   leading → ended     not renewed for 10 s, or it has another holder
 */
export async function withLease(options: LeaseOptions, lead: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const { client, namespace, name, holder, signal } = options;
  let seen: { version: string; at: number } | undefined;
  while (!signal.aborted) {
    const read = await client.get(RESOURCES.lease, namespace, name);
    if (read.kind === "done") {
      const version = read.value.metadata.resourceVersion!;
      // Only a change that we saw counts: clocks of two machines need not agree.
      if (seen?.version !== version) seen = { version, at: performance.now() };
      const free = !read.value.spec?.holderIdentity || read.value.spec.holderIdentity === holder;
      if (free || performance.now() - seen.at > LEASE_SECONDS * 1_000) {
        const taken = await client.update(RESOURCES.lease, claim(read.value, holder));
        if (taken.kind === "done") return keep(options, lead);
      }
    } else if (read.reason === KUBE.notFound) {
      const made = await client.create(RESOURCES.lease, claim(lease(name, namespace), holder));
      if (made.kind === "done") return keep(options, lead);
    }
    await pause(RENEW_MS, signal);
  }
}

async function keep(
  { client, namespace, name, holder, signal }: LeaseOptions,
  lead: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const lost = new AbortController();
  const both = AbortSignal.any([signal, lost.signal]);
  const working = lead(both).finally(() => lost.abort());
  let renewed = performance.now();
  while (!both.aborted) {
    await pause(RENEW_MS, both);
    if (both.aborted) break;
    const now = new Date().toISOString().replace("Z", "000Z");
    const read = await client.get(RESOURCES.lease, namespace, name);
    if (read.kind === "done") {
      if (read.value.spec?.holderIdentity !== holder) break;
      const kept = await client.update(RESOURCES.lease, {
        ...read.value,
        spec: { ...read.value.spec, renewTime: now },
      });
      if (kept.kind === "done") renewed = performance.now();
    }
    if (performance.now() - renewed > GIVE_UP_MS) break;
  }
  lost.abort();
  await working;
  const read = await client.get(RESOURCES.lease, namespace, name);
  if (read.kind === "done" && read.value.spec?.holderIdentity === holder) {
    await client.update(RESOURCES.lease, { ...read.value, spec: { ...read.value.spec, holderIdentity: "" } });
  }
}

const lease = (name: string, namespace: string): KubeObject => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name, namespace },
  spec: {},
});

function claim(object: KubeObject, holder: string): KubeObject {
  const now = new Date().toISOString().replace("Z", "000Z");
  const transitions = Number(object.spec?.leaseTransitions ?? 0) + 1;
  return {
    ...object,
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: LEASE_SECONDS,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: transitions,
    },
  };
}
