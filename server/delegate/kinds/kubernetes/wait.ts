import { type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { pause } from "../../../base/process/pause.ts";
import { KUBE } from "../../../kube/errors.ts";
import { describe, type KubeObject } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import type { TaskContext } from "../../kind.ts";
import type { Cluster } from "./cluster.ts";
import { explain } from "./explain.ts";
import { type Trouble, troubleOf } from "./pods.ts";
import { type Readiness, readiness, startsPods } from "./readiness.ts";
import { keepsRunning, Steadiness } from "./steady.ts";

export interface Waited {
  resource: Resource;
  /** As it was last seen. */
  object: KubeObject;
}

export interface WaitOptions {
  cluster: Cluster;
  context: TaskContext;
  /** By `performance.now()`. */
  until: number;
  /** So long may a Pod crash or miss its image before the wait ends; dependencies may come late. */
  brokenMs?: number;
}

const BROKEN_MS = 120_000;
const LOOK_MS = 500;
const SAY_MS = 5_000;
const AT_ONCE = 8;

interface Pending extends Waited {
  now: Readiness;
  brokenSince?: number;
  /** It seems ready, but a container of it has ended before and has just been started again. */
  restarted?: boolean;
  trouble?: Trouble;
}

/** Waits until all are ready and says every few seconds for what. A failure tells why, with the state of the Pods and the end of a log. */
export async function waitReady(all: readonly Waited[], options: WaitOptions): Promise<Failure | undefined> {
  const { context, until, brokenMs = BROKEN_MS } = options;
  const steadiness = new Steadiness();
  let pending: Pending[] = all
    .map((one) => ({ ...one, now: readiness(one.object) }))
    .filter(({ now, object }) => now.state !== "ready" || keepsRunning(object));
  let said = "";
  let sayAt = performance.now() + SAY_MS;
  while (pending.length && !context.signal.aborted) {
    const looked = await look(pending, options, steadiness);
    if (looked) return looked;
    pending = pending.filter(({ now }) => now.state !== "ready");
    const failed = pending.find(({ now }) => now.state === "failed");
    if (failed) return giveUp([failed], "ObjectFailed", options);
    if (performance.now() > until) return giveUp(pending, "NotReady", options);
    if (performance.now() > sayAt && pending.length) {
      sayAt = performance.now() + SAY_MS;
      await diagnose(pending, options);
      const text = waitingFor(pending);
      if (text !== said) await context.progress(text);
      said = text;
      const lost = pending.find(
        (one) => one.trouble?.hopeless || performance.now() - (one.brokenSince ?? Number.POSITIVE_INFINITY) > brokenMs,
      );
      if (lost) return giveUp([lost], "ObjectFailed", options);
    }
    if (pending.length) await pause(Math.max(LOOK_MS, pending.length * 10), context.signal);
  }
  return undefined;
}

async function look(
  pending: readonly Pending[],
  { cluster }: WaitOptions,
  steadiness: Steadiness,
): Promise<Failure | undefined> {
  const queue = [...pending];
  let failure: Failure | undefined;
  const work = async () => {
    for (let one = queue.shift(); one && !failure; one = queue.shift()) {
      const { namespace, name } = one.object.metadata;
      const read = await cluster.client.get(one.resource, namespace, name);
      if (read.kind === "done") {
        one.object = read.value;
        one.now = await judge(cluster, read.value);
        const unsteady = one.now.state === "ready" ? await steadiness.check(cluster.client, read.value) : undefined;
        if (unsteady) one.now = { state: "waiting", why: unsteady.why };
        one.restarted = unsteady?.restarted ?? false;
      } else if (read.kind === "stop") {
        const what = describe(one.object);
        const gone =
          read.reason === KUBE.notFound ? stop("ObjectGone", `${what} was deleted while it was waited for`) : undefined;
        failure =
          gone ??
          stop(read.reason, `${explain(read, what).message} (it is read to wait for it; \`wait: false\` does without)`);
      }
      // What may pass is asked again.
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return failure;
}

/** A claim may be meant to wait for the first Pod that uses it. */
async function judge({ client }: Cluster, object: KubeObject): Promise<Readiness> {
  const now = readiness(object);
  if (object.kind !== "PersistentVolumeClaim" || now.state !== "waiting" || !object.spec?.storageClassName) return now;
  const classes: Resource = {
    group: "storage.k8s.io",
    version: "v1",
    kind: "StorageClass",
    plural: "storageclasses",
    namespaced: false,
  };
  const read: Outcome<KubeObject> = await client.get(classes, undefined, object.spec.storageClassName);
  const late = read.kind === "done" && read.value.volumeBindingMode === "WaitForFirstConsumer";
  return late ? { state: "ready", why: "it is bound with its first Pod" } : now;
}

async function diagnose(pending: readonly Pending[], { cluster }: WaitOptions): Promise<void> {
  for (const one of pending.filter(({ object }) => startsPods(object)).slice(0, AT_ONCE)) {
    one.trouble = await troubleOf(cluster.client, one.object, false);
    // One that crashes again and again runs for an instant now and then.
    if (!one.trouble.broken && !one.restarted) delete one.brokenSince;
    else one.brokenSince ??= performance.now();
  }
}

function waitingFor(pending: readonly Pending[]): string {
  const [first, ...rest] = pending;
  const reason = first!.trouble?.reasons[0];
  const others = rest.length
    ? `; and for ${rest.slice(0, 3).map(nameOf).join(", ")}${rest.length > 3 ? `, ${rest.length - 3} more` : ""}`
    : "";
  return `waiting for ${nameOf(first!)}: ${first!.now.why}${reason ? ` (${reason})` : ""}${others}`;
}

const nameOf = ({ object }: Pending) => describe(object);

async function giveUp(
  pending: readonly Pending[],
  reason: string,
  { cluster, context }: WaitOptions,
): Promise<Failure> {
  const parts: string[] = [];
  for (const one of pending.slice(0, 3)) {
    const trouble = startsPods(one.object) ? await troubleOf(cluster.client, one.object, true) : undefined;
    parts.push([`${nameOf(one)}: ${one.now.why}`, ...(trouble?.reasons ?? [])].join("; "));
    if (!trouble?.log) continue;
    const { of, lines } = trouble.log;
    await context.progress(`the end of the log of ${of}:`);
    for (const line of lines) await context.write("system", `  ${line}`);
    parts.push(`its log ends with: ${lines.slice(-3).join(" | ").slice(0, 500)}`);
  }
  if (pending.length > 3) parts.push(`and ${pending.length - 3} more objects`);
  const begin = reason === "NotReady" ? "not ready in the task's time: " : "";
  return stop(reason, `${begin}${parts.join(". ")}`);
}
