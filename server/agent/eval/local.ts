import { stringify } from "yaml";
import type { Schemas } from "../../../openapi/client.ts";
import { done, type Outcome } from "../../base/outcome.ts";
import { type KubeObject, keyOf } from "../../kube/object.ts";
import { META } from "../controller/application.ts";
import { LAST_APPLIED } from "../controller/compare/last-applied.ts";
import { toApplicationSpec } from "../link/deliveries/spec.ts";
import { diffManifests, type ManifestDifference } from "./difference.ts";

/** An application of the service, and what is known of it there. */
export interface Local {
  id: string;
  spec: Schemas["ApplicationSpec"];
  /** Of the repository of its one source. */
  address: string;
  /** The folder that stands for that repository. */
  folder: string;
  /** Its objects in the cluster. */
  live: readonly object[];
  /** What Git has now, as far as it can be rendered. */
  git: readonly object[];
}

/** What a folder would change in the cluster, if it were what Git has. */
export async function diffLocal({
  id,
  spec,
  address,
  folder,
  live,
  git,
}: Local): Promise<Outcome<ManifestDifference[]>> {
  const { cluster } = spec.destination;
  const made = toApplicationSpec(spec, { repositories: [address], ...(cluster ? { cluster: { name: cluster } } : {}) });
  if (made.kind !== "done") return made;
  const found = live as readonly KubeObject[];
  const app = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: nameIn(found) ?? id, namespace: "argocd" },
    spec: made.value,
  };
  const text = recalling(found, git as readonly KubeObject[])
    .map((object) => stringify(object, { aliasDuplicateObjects: false }))
    .join("---\n");
  const ask = { files: [{ name: `application ${id}`, text: stringify(app) }], folders: {}, path: folder };
  const got = await diffManifests(ask, { kind: "objects", files: [{ name: "the cluster", text }] });
  return got.kind === "done" ? done(got.value) : got;
}

/** The application's name in the cluster: below the agent's scope it has an ending, and charts name their objects by it. */
const nameIn = (live: readonly KubeObject[]): string | undefined =>
  live.map(({ metadata }) => metadata.annotations?.[META.trackingId]?.split(":")[0]).find((name) => name !== undefined);

/** Live objects that say what Git had, so that a field which the folder has no more is seen to go. */
function recalling(live: readonly KubeObject[], git: readonly KubeObject[]): KubeObject[] {
  const had = new Map(git.map((object) => [keyOf(object), object]));
  return live.map((object) => {
    const before = had.get(keyOf(object));
    if (!before) return object;
    const annotations = { ...object.metadata.annotations, [LAST_APPLIED]: JSON.stringify(before) };
    return { ...object, metadata: { ...object.metadata, annotations } };
  });
}
