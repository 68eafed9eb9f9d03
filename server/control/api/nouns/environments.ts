import type { Collection } from "../../domain/nouns.ts";
import { invalid, Problem } from "../../domain/problem.ts";
import type { Writer } from "../../store/database/writer.ts";
import type { Stored } from "../../store/objects/objects.ts";
import { applicationsOutside, linksOf } from "../../store/services/environments.ts";
import type { ReferenceTarget } from "./references.ts";

/** Applications of an environment deploy only to the clusters that it links, if it links any: checked from both sides. */
export async function checkEnvironment(
  w: Writer,
  collection: Collection,
  existing: Stored | undefined,
  targets: readonly ReferenceTarget[],
): Promise<void> {
  if (collection === "applications") await checkDestination(w, targets);
  if (collection === "environments" && existing) await checkLinks(w, existing, targets);
}

async function checkDestination(w: Writer, targets: readonly ReferenceTarget[]): Promise<void> {
  const at = (pointer: string) => targets.find((target) => target.pointer === pointer)?.object;
  const environment = at("/spec/environment");
  const place = at("/spec/destination/cluster") ?? at("/spec/agent");
  if (!environment || !place) return;
  const links = await linksOf(w, environment.uid);
  if (links.length === 0 || links.includes(place.uid)) return;
  const where = place.collection === "clusters" ? `cluster \`${place.id}\`` : `the cluster of agent \`${place.id}\``;
  throw invalid(
    "/spec/environment",
    `Environment \`${environment.id}\` does not link ${where}. Deploy to one of its clusters, or add this one to its \`clusters\` or \`agents\`.`,
  );
}

async function checkLinks(w: Writer, environment: Stored, targets: readonly ReferenceTarget[]): Promise<void> {
  if (targets.length === 0) return;
  const links = targets.map(({ object }) => object.uid);
  const outside = await applicationsOutside(w, environment.uid, links);
  if (outside.length === 0) return;
  const names = outside.map(({ org, project, id }) => `\`${[org, project, id].filter(Boolean).join("/")}\``).join(", ");
  throw new Problem(
    "in_use",
    `Applications of this environment deploy to other clusters: ${names}. Link their clusters too, or move them first.`,
  );
}
