import type { Schemas } from "../../../../../openapi/client.ts";
import { done, type Outcome, stop } from "../../../../base/outcome.ts";
import type { KubeClient } from "../../../../kube/client.ts";
import type { KubeObject } from "../../../../kube/object.ts";
import { type Resource, resourcePath } from "../../../../kube/path.ts";
import type { Application } from "../../../controller/application.ts";
import { findPart, type ResourceKey } from "../../../controller/cluster/resource-membership.ts";
import { type ReadOnlyContext, withReadOnlyContext } from "../read-only-context.ts";
import { objectOf, type Question, type TaskContext, type Tell } from "../task.ts";
import { resourceOf } from "../tree/resource.ts";
import { partsOf } from "./events.ts";
import { cutAt, pieces } from "./pieces.ts";

type Stream = Schemas["ApplicationLogStream"];

const POD: Resource = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };

const MAX_STREAMS = 20;
/** Of all streams of one reader together; the service takes no more than 16 MiB of a task. */
const MAX_BYTES = 15_000_000;
/** As it is written. The service takes no line of a task's log that is longer than 65,536 characters: it would be cut. */
const MAX_LINE = 16_384;

interface Wish {
  resource?: ResourceKey;
  container?: string;
  tail: number;
  since?: number;
  previous: boolean;
  follow: boolean;
}

/** Reads the logs of an application's containers, line by line, until they end, the bound is reached or the signal fires. */
export async function applicationLogs(
  tc: TaskContext,
  task: Question,
  tell: Tell,
  signal: AbortSignal,
): Promise<Outcome<undefined>> {
  const wish = wishOf(task.params);
  if (wish.kind !== "done") return wish;
  const app = await objectOf(tc, task, "applications");
  if (app.kind !== "done") return app;
  return withReadOnlyContext(tc, app.value as Application, async (readOnlyContext): Promise<Outcome<undefined>> => {
    const pods = await podsOf(readOnlyContext, wish.value.resource);
    if (pods.kind !== "done") return pods;
    const { items, client } = pods.value;
    const all = items.flatMap((pod) => streamsOf(pod, wish.value.container));
    if (all.length === 0) return stop("NothingWrites", nothing(wish.value, items));
    const streams = all.slice(0, MAX_STREAMS);
    await tell("system", JSON.stringify({ streams } satisfies Schemas["ApplicationLogOpen"]));
    if (all.length > streams.length)
      void tell("system", `${all.length - streams.length} more containers are not shown: name a Pod or a container`);
    const bytes = { left: MAX_BYTES };
    const ended = await Promise.all(streams.map((one) => copy({ client, tell, bytes, signal }, one, wish.value)));
    if (bytes.left <= 0) void tell("system", `more than ${MAX_BYTES / 1_000_000} MB: ended`);
    const failed = ended.find((one) => one.kind !== "done");
    return failed && ended.every((one) => one.kind !== "done") ? failed : done(undefined);
  });
}

/** One container's log, line by line, no faster than the service takes it. */
async function copy(
  { client, tell, bytes, signal }: { client: KubeClient; tell: Tell; bytes: { left: number }; signal: AbortSignal },
  { namespace, pod, container }: Stream,
  { tail, since, previous, follow }: Wish,
): Promise<Outcome<undefined>> {
  const path = `${resourcePath(POD, namespace, pod)}/log`;
  const query = {
    container,
    tailLines: tail,
    sinceSeconds: since,
    previous,
    follow,
    timestamps: true,
    limitBytes: MAX_BYTES,
  };
  const body = await client.stream(path, query, signal);
  if (signal.aborted) return done(undefined);
  if (body.kind !== "done") {
    void tell("system", `${pod}/${container}: ${body.message}`);
    return body;
  }
  /** The time of the present line; its continuations have none of their own. */
  let begun: { at?: string } | undefined;
  const line = async (text: string, ends = true) => {
    const [, at, own = text] = (!begun && /^(\d{4}-\d\d-\d\dT\S+) ?(.*)$/s.exec(text)) || [];
    begun ??= at ? { at } : {};
    for (const piece of pieces(own, MAX_LINE)) {
      const told = JSON.stringify({
        namespace,
        pod,
        container,
        ...begun,
        text: piece,
      } satisfies Schemas["ApplicationLogLine"]);
      // As the service counts it.
      bytes.left -= Buffer.byteLength(told) + 32;
      if (bytes.left <= 0) return;
      await tell("stdout", told);
    }
    if (ends) begun = undefined;
  };
  try {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of body.value) {
      if (signal.aborted || bytes.left <= 0) break;
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop()!;
      for (const one of lines) await line(one);
      while (rest.length > MAX_LINE) {
        const to = cutAt(rest, MAX_LINE);
        await line(rest.slice(0, to), false);
        rest = rest.slice(to);
      }
    }
    if (rest && !signal.aborted) await line(rest);
  } catch (error) {
    if (!signal.aborted)
      void tell("system", `${pod}/${container}: the connection to the node was lost: ${(error as Error).message}`);
  }
  return done(undefined);
}

interface Pods {
  items: KubeObject[];
  /** Who reads what they write. */
  client: KubeClient;
}

/** The Pods of one object of the application, or all that it has; the newest first. */
async function podsOf(readOnlyContext: ReadOnlyContext, key: ResourceKey | undefined): Promise<Outcome<Pods>> {
  const { app, destination } = readOnlyContext;
  const { client, writer } = destination;
  const part = key && (await findPart(app, destination, key));
  if (part && part.kind !== "done") return part;
  const isPod = (object: KubeObject) => object.kind === "Pod" && object.apiVersion === "v1";
  // The right to see a Pod without an owner does not give the right to read its logs.
  if (part && isPod(part.value.object))
    return done({ items: [part.value.object], client: part.value.unowned ? writer : client });
  const parts = await partsOf(readOnlyContext);
  if (parts.kind !== "done") return parts;
  const { objects, parents } = parts.value;
  const within = new Set([part?.value.object.metadata.uid]);
  // Parents come before their children.
  const mine = part
    ? objects.filter((one) => parents.get(one)?.some((uid) => within.has(uid)) && within.add(one.metadata.uid))
    : objects;
  const born = ({ metadata }: KubeObject) => metadata.creationTimestamp ?? "";
  return done({ items: mine.filter(isPod).sort((a, b) => (born(a) < born(b) ? 1 : -1)), client });
}

function streamsOf(pod: KubeObject, wanted: string | undefined): Stream[] {
  const {
    containers = [],
    initContainers = [],
    ephemeralContainers = [],
  } = (pod.spec ?? {}) as Record<string, { name: string }[]>;
  const names = (wanted === undefined ? containers : [...containers, ...initContainers, ...ephemeralContainers]).map(
    ({ name }) => name,
  );
  const chosen = wanted === undefined ? names : names.filter((name) => name === wanted);
  return chosen.map((container) => ({ namespace: pod.metadata.namespace ?? "", pod: pod.metadata.name, container }));
}

function nothing({ resource, container }: Wish, pods: readonly KubeObject[]): string {
  const of = resource ? `${resource.kind} ${resource.name}` : "the application";
  if (pods.length === 0) return `${of} has no Pods now`;
  const names = new Set(pods.flatMap((pod) => streamsOf(pod, undefined).map((one) => one.container)));
  return `${of} has no container ${container}; there are ${[...names].slice(0, 20).join(", ")}`;
}

function wishOf(params: Record<string, unknown>): Outcome<Wish> {
  const { resource, container, tail, since, previous, follow } = params;
  const key = resource === undefined ? undefined : resourceOf(resource);
  if (key && key.kind !== "done") return key;
  const count = (value: unknown, most: number) =>
    typeof value === "number" && value >= 0 ? Math.min(Math.floor(value), most) : undefined;
  const seconds = count(since, 31_536_000);
  return done({
    ...(key ? { resource: key.value } : {}),
    ...(typeof container === "string" ? { container } : {}),
    tail: count(tail, 10_000) ?? 100,
    ...(seconds === undefined ? {} : { since: Math.max(1, seconds) }),
    previous: previous === true,
    follow: follow === true,
  });
}
