import { done, type Outcome } from "../../../base/outcome.ts";
import { parseYaml } from "../../../kube/yaml.ts";
import type { RevisionInfo } from "../types.ts";
import { describeCommit, rawObject } from "./commit.ts";
import type { Mirror } from "./mirror.ts";
import type { Tree } from "./tree.ts";

const MAX_CHART_BYTES = 100_000;

/** Who made a commit that the mirror has, and why. */
export async function commitInfo(mirror: Mirror, commit: string): Promise<Outcome<RevisionInfo>> {
  const raw = await rawObject(mirror, commit);
  return raw.kind === "done" ? done(describeCommit(commit, raw.value.content, mirror.lastRefs?.tags ?? {})) : raw;
}

/** What a chart says of itself; an artifact without one has its revision alone. */
export async function chartInfo(tree: Tree, revision: string): Promise<RevisionInfo> {
  const found = await tree.find("Chart.yaml");
  const blob =
    found.kind === "done" && found.value.kind === "blob"
      ? await tree.blob(found.value.sha, "Chart.yaml", MAX_CHART_BYTES)
      : found;
  const parsed =
    blob.kind === "done" && Buffer.isBuffer(blob.value)
      ? parseYaml(blob.value.toString("utf8"), "Chart.yaml")
      : undefined;
  if (parsed?.kind !== "done") return { revision };
  const { description, maintainers } = parsed.value as { description?: unknown; maintainers?: { name?: unknown }[] };
  const names = Array.isArray(maintainers)
    ? maintainers.map((one) => one?.name).filter((name) => typeof name === "string")
    : [];
  return {
    revision,
    ...(names.length ? { author: names.join(", ").slice(0, 500) } : {}),
    ...(typeof description === "string" ? { message: description.slice(0, 10_000) } : {}),
  };
}
