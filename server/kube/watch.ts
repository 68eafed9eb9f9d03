import type { Failure } from "../base/outcome.ts";
import { pause } from "../base/process/pause.ts";
import { follow } from "../base/process/signal.ts";
import type { KubeClient } from "./client.ts";
import { KUBE } from "./errors.ts";
import type { KubeObject } from "./object.ts";
import { type Resource, resourcePath } from "./path.ts";
import { readAnswer } from "./read.ts";

/**
 * Keeps a copy of a collection true:
 *
 *   listing   list all → `replace` → watching
 *   watching  event → `change`; bookmark → remember the version; stream ends → watching again from that version;
 *             410 Gone → listing; any other failure → back-off, then watching (or listing, if nothing was listed yet)
 */
export interface WatchOptions {
  client: KubeClient;
  resource: Resource;
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** The whole collection, after each list, as of a version. Objects that are missing from it are deleted. */
  replace(items: KubeObject[], version: string): void;
  change(type: "ADDED" | "MODIFIED" | "DELETED", object: KubeObject): void;
  failed?(failure: Failure): void;
  /** The stream is open: the known objects are current again. */
  opened?(): void;
  /** Given once: calling it lists everything again, whatever is known. */
  control?(relist: () => void): void;
  signal: AbortSignal;
}

// Streams are ended by the server after a random time within this; then the watch continues from the last version.
const WATCH_SECONDS = 300;
// Bookmarks come every minute: a stream that is silent for longer than two has lost its other end without a word.
const SILENT_MS = 150_000;
const BACKOFF_MS = [200, 500, 1_000, 2_000, 5_000, 10_000];

/** Runs until `signal`; failures are reported and tried again. */
export async function watch(options: WatchOptions): Promise<void> {
  const { client, resource, namespace, labelSelector, fieldSelector, signal } = options;
  let version: string | undefined;
  let failures = 0;
  let relist = false;
  let cut: AbortController | undefined;
  options.control?.(() => {
    relist = true;
    cut?.abort();
  });
  const fail = async (failure: Failure) => {
    options.failed?.(failure);
    await pause(BACKOFF_MS[Math.min(failures++, BACKOFF_MS.length - 1)]! * (0.75 + Math.random() / 2), signal);
  };
  while (!signal.aborted) {
    if (relist) version = undefined;
    relist = false;
    if (version === undefined) {
      const listed = await client.list(resource, { namespace, labelSelector, fieldSelector });
      if (signal.aborted) return;
      if (listed.kind !== "done") {
        await fail(listed);
        continue;
      }
      options.replace(listed.value.items, listed.value.resourceVersion);
      version = listed.value.resourceVersion;
    }
    const query = {
      watch: true,
      resourceVersion: version,
      labelSelector,
      fieldSelector,
      allowWatchBookmarks: true,
      timeoutSeconds: WATCH_SECONDS + Math.floor(Math.random() * 60),
    };
    const stream = new AbortController();
    cut = stream;
    const leave = follow(stream, signal);
    const opened = await client.stream(resourcePath(resource, namespace), query, stream.signal);
    if (signal.aborted) return;
    if (opened.kind !== "done") {
      leave();
      if (opened.reason === KUBE.gone) version = undefined;
      else await fail(opened);
      continue;
    }
    options.opened?.();
    const timer = setTimeout(() => stream.abort(), SILENT_MS);
    try {
      for await (const line of lines(opened.value)) {
        timer.refresh();
        const event = readAnswer(line) as { type: string; object: KubeObject & { code?: number } };
        if (event.type === "ERROR") {
          if (event.object.code === 410) version = undefined;
          break;
        }
        version = event.object.metadata.resourceVersion ?? version;
        failures = 0;
        if (event.type === "BOOKMARK") continue;
        options.change(event.type as "ADDED", event.object);
      }
    } catch {
      // A cut connection is an ordinary end of a stream: continue from the last version, after a short wait.
      if (!signal.aborted && !relist) await pause(BACKOFF_MS[Math.min(failures++, BACKOFF_MS.length - 1)]!, signal);
    } finally {
      clearTimeout(timer);
      leave();
    }
  }
}

async function* lines(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  for await (const chunk of body) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      const line = rest.length ? Buffer.concat([...rest, chunk.subarray(from, end)]) : chunk.subarray(from, end);
      rest = [];
      from = end + 1;
      if (line.length) yield line.toString("utf8");
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
  }
}
