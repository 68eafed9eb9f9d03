import { done, type Outcome } from "../../base/outcome.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KUBE } from "../../kube/errors.ts";
import { RESOURCES } from "../../kube/path.ts";
import type { Log } from "./deps.ts";

/** On the Lease of a controller: why its holder waits. The link may read Leases, and may not list workloads. */
const HELD = "outpost.dev/engine-held";
/** The Leases that a controller may hold: by itself, as the first of several shards, in one process with the link. */
const LEASES = ["outpost-controller", "outpost-controller-0", "outpost-agent"];
/** The Lease is renewed every 2 s, so a write may meet another one. */
const ATTEMPTS = 5;

interface OwnLease {
  namespace: string;
  lease: string;
  log: Log;
}

/** Writes on the controller's own Lease why it waits, or that it no longer does. Without a Lease there is nothing to write on. */
export async function noteHeld(
  client: KubeClient,
  { namespace, lease, log }: OwnLease,
  why: string | undefined,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const read = await client.get(RESOURCES.lease, namespace, lease);
    if (read.kind !== "done" && read.reason === KUBE.notFound) return;
    if (read.kind === "done") {
      const { [HELD]: noted, ...others } = read.value.metadata.annotations ?? {};
      if (noted === why) return;
      const annotations = why === undefined ? others : { ...others, [HELD]: why };
      const written = await client.update(RESOURCES.lease, {
        ...read.value,
        metadata: { ...read.value.metadata, annotations },
      });
      if (written.kind === "done") return;
    }
    if (attempt === ATTEMPTS)
      return void log.warn({ lease }, "the reason for waiting could not be written on the controller's Lease");
  }
}

/** Why the controller that holds a Lease waits; undefined when it does not, or when there is none. */
export async function heldReason(client: KubeClient, namespace: string): Promise<Outcome<string | undefined>> {
  for (const name of LEASES) {
    const read = await client.get(RESOURCES.lease, namespace, name);
    if (read.kind !== "done" && read.reason !== KUBE.notFound) return read;
    // The text of a former holder is outdated; the next holder checks again.
    const why =
      read.kind === "done" && read.value.spec?.holderIdentity ? read.value.metadata.annotations?.[HELD] : undefined;
    if (why) return done(why);
  }
  return done(undefined);
}
