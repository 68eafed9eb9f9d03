import { done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { refusesApplication } from "../../project/project.ts";
import type { Rendered, RenderRequest } from "../../repo/types.ts";
import { type Application, META } from "../application.ts";
import type { Deps } from "../deps.ts";
import type { Destination } from "../destination.ts";
import { actingAs } from "../projects.ts";
import { openReader } from "./reader.ts";
import { tenantEyes } from "./tenant-eyes.ts";

export const LOOKUP = {
  invalid: "HelmLookupInvalid",
  refused: "HelmLookupNotPermitted",
  unavailable: "HelmLookupUnavailable",
} as const;

const ACCOUNT = /^(?:([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?):)?([a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?)$/;
// The size for a cluster with many operators; a chart needs only a few of these kinds.
const MAX_VERSIONS = 5_000;

/** Whether the application's charts may see the cluster: the annotation names the account as which they read. */
export const looksUp = (app: Application): boolean => app.metadata.annotations?.[META.helmLookup] !== undefined;

/** The kinds of the cluster that a chart sees, in Helm's form. */
export async function versionsOf({ client }: Destination): Promise<string[]> {
  const versions = new Set<string>();
  for (const { group, version, kind } of await client.discovery.all()) {
    const at = group ? `${group}/${version}` : version;
    versions.add(at).add(`${at}/${kind}`);
  }
  return [...versions].sort().slice(0, MAX_VERSIONS);
}

/** The account as which an application's charts read; the annotation says `name`, of the destination's namespace, or `namespace:name`. */
export function accountOf(
  deps: Pick<Deps, "projects">,
  app: Application,
  { server, name, writer }: Destination,
): Outcome<string> {
  const given = app.metadata.annotations?.[META.helmLookup] ?? "";
  const match = ACCOUNT.exec(given);
  if (!match) return stop(LOOKUP.invalid, `${META.helmLookup} must be an account's name or namespace:name`);
  const own = app.spec.destination.namespace ?? "";
  const namespace = match[1] ?? own;
  if (!namespace)
    return stop(LOOKUP.invalid, `${META.helmLookup} needs namespace:name, because the destination has no namespace`);
  if (namespace !== own) {
    // A deployer to a namespace can already run a Pod as any of its accounts; no one else may read as one.
    const project = deps.projects.of(app);
    if (project.kind !== "done") return project;
    const refused = refusesApplication(project.value, [], { server, name, namespace }, project.value.name);
    if (refused)
      return stop(
        LOOKUP.refused,
        `${META.helmLookup} names an account of namespace ${namespace}, to which the project does not deploy`,
      );
  }
  const user = `system:serviceaccount:${namespace}:${match[3]}`;
  // Where the project writes as one account, its charts read as that one and no other.
  const acting = writer.config.impersonate;
  return acting && acting !== user
    ? stop(LOOKUP.refused, `${META.helmLookup} names another account than the project's, ${acting}`)
    : done(user);
}

/** Renders with access to the cluster: reads as the account, through a reader that lives only during the rendering. */
export async function renderReading(
  deps: Deps,
  app: Application,
  destination: Destination,
  request: RenderRequest,
): Promise<Outcome<Rendered>> {
  if (!deps.lookup)
    return stop(
      LOOKUP.unavailable,
      `charts that read the cluster (${META.helmLookup}) are rendered by the controller alone`,
    );
  const account = accountOf(deps, app, destination);
  if (account.kind !== "done") return account;
  const door = await deps.lookup();
  const eyes = tenantEyes(deps, app, destination, (deps.readAs ?? actingAs)(destination, account.value));
  const reader = await openReader(eyes);
  try {
    const rendered = await door.renderReading(request, reader);
    const kept: Failure | undefined = reader.failure();
    // A chart may treat an object that it could not read as missing, and then leave objects out.
    return kept && (rendered.kind === "done" || kept.kind !== "stop")
      ? { ...kept, message: `${account.value} cannot read what a chart looks up: ${kept.message}` }
      : rendered;
  } finally {
    await reader.close();
  }
}
