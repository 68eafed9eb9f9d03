import { readJson } from "../../../base/json/nesting.ts";
import { pause } from "../../../base/process/pause.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { TaskContext } from "../../kind.ts";
import type { Cluster } from "../kubernetes/cluster.ts";
import { troubleOf } from "../kubernetes/pods.ts";
import { readiness } from "../kubernetes/readiness.ts";
import { WORKLOADS } from "../kubernetes/revisions.ts";
import type { Helm } from "./helm.ts";

const LOOK_MS = 5_000;
const RELEASE = "meta.helm.sh/release-name";

/** Looks at a release's workloads while Helm is silent, says for what it waits, and keeps the last trouble: Helm tells neither. */
export async function watchRelease(
  release: { name: string; namespace: string; since: number },
  cluster: Cluster,
  context: TaskContext,
  signal: AbortSignal,
): Promise<string[]> {
  let last: string[] = [];
  let said = "";
  while (!signal.aborted) {
    await pause(LOOK_MS, signal);
    // A last look also when Helm has just given up.
    const found = await unready(release, cluster);
    if (found.length) last = found;
    if (signal.aborted || found.length === 0 || found[0] === said) continue;
    said = found[0]!;
    await context.progress(`waiting for ${found.join("; ")}`);
  }
  return last;
}

async function unready(
  { name, namespace }: { name: string; namespace: string },
  { client }: Cluster,
): Promise<string[]> {
  const found: string[] = [];
  for (const resource of Object.values(WORKLOADS)) {
    const listed = await client.list(resource, { namespace });
    // Without the right to look, Helm's own words must do.
    if (listed.kind !== "done") return [];
    for (const object of listed.value.items) {
      if (object.metadata.annotations?.[RELEASE] !== name) continue;
      const now = readiness(object);
      if (now.state === "ready") continue;
      const trouble = await troubleOf(client, object, true);
      const log = trouble.log ? [`its log ends with: ${trouble.log.lines.slice(-3).join(" | ").slice(0, 400)}`] : [];
      found.push([`${object.kind} ${object.metadata.name}: ${now.why}`, ...trouble.reasons, ...log].join("; "));
      if (found.length === 3) return found;
    }
  }
  return found;
}

export interface ReleaseState {
  revision: number;
  status: string;
  chart: string;
  appVersion: string;
}

/** Helm's status of a release; undefined when there is none. */
export async function stateOf(
  release: string,
  flags: readonly string[],
  helm: Helm,
): Promise<ReleaseState | undefined> {
  const text = await helm.ask("get", "metadata", ...flags, "-o", "json", "--", release);
  if (text === undefined) return undefined;
  try {
    const { revision, status, chart, version, appVersion } = readJson(text) as KubeObject;
    return {
      revision: Number(revision),
      status: String(status),
      chart: `${chart}-${version}`,
      appVersion: String(appVersion ?? ""),
    };
  } catch {
    return undefined;
  }
}

/** What to do about a release that another Helm seems to be at work on. */
export async function pendingAdvice(release: string, flags: readonly string[], helm: Helm): Promise<string> {
  const text = await helm.ask("history", ...flags, "--max", "1", "-o", "json", "--", release);
  let last: { revision?: number; status?: string; updated?: string } = {};
  try {
    last = (readJson(text ?? "[]") as (typeof last)[]).at(-1) ?? {};
  } catch {
    // Without its history the advice is the general one.
  }
  const { revision = 0, status = "pending", updated } = last;
  const since = updated ? ` since ${updated}` : "";
  const state = `revision ${revision || "?"} of the release ${release} is ${status}${since}`;
  const first = revision <= 1;
  const way = first
    ? "uninstall it (helm.uninstall), then install again"
    : `roll it back in a shell.run (\`helm rollback ${release} ${revision - 1}\`), then try again`;
  return `${state}: another run is at work on it, or one was ended in the middle. Wait for it; if no run is left, ${way}`;
}
