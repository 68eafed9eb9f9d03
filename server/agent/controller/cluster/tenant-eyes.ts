import { type Outcome, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import { type Project, refusesApplication } from "../../project/project.ts";
import { tenantOf } from "../../project/tenant.ts";
import type { Application } from "../application.ts";
import type { Deps } from "../deps.ts";
import type { Destination } from "../destination.ts";
import { type Eyes, placeOf } from "./reader.ts";

export const LOOKUP_OUTSIDE = "HelmLookupOutside";

/**
 * What the charts of a tenant's application may read, whatever their account may: cluster-scoped objects, and those of namespaces to which
 * the project deploys. In the agent's own namespace are the credentials of all tenants, and a list of all namespaces would show them too.
 */
export function tenantEyes(deps: Pick<Deps, "projects">, app: Application, destination: Destination, eyes: Eyes): Eyes {
  if (tenantOf(app) === undefined) return eyes;
  const project = deps.projects.of(app);
  if (project.kind !== "done") return { json: async () => project };
  return {
    json: async (method, path, ask) =>
      (await refusesPath(destination, project.value, path)) ?? eyes.json(method, path, ask),
  };
}

async function refusesPath(
  destination: Destination,
  project: Project,
  path: string,
): Promise<Outcome<never> | undefined> {
  const place = placeOf(path);
  // Discovery and the server's version.
  if (!place) return undefined;
  const { server, name, own, client, tenant } = destination;
  const { group, version, plural, namespace } = place;
  if (namespace === undefined) {
    const find = async () =>
      (await client.discovery.all()).find(
        (one) => one.group === group && one.plural === plural && one.version === version,
      );
    let kind = await find();
    if (!kind) {
      // One that came a moment ago.
      client.discovery.forget();
      kind = await find();
    }
    if (!kind) return stop(KUBE.notFound, `the cluster has no ${plural} of ${group || "the core group"} ${version}`);
    if (!kind.namespaced) return undefined;
    return stop(
      LOOKUP_OUTSIDE,
      `it lists ${plural} of all namespaces: name a namespace to which project '${project.name}' deploys`,
    );
  }
  const isAgents = namespace === own && tenant === undefined;
  if (isAgents)
    return stop(LOOKUP_OUTSIDE, `namespace ${namespace} is the agent's own: charts of a tenant read nothing there`);
  const refused = refusesApplication(project, [], { server, name, namespace }, project.name);
  return refused && stop(LOOKUP_OUTSIDE, `project '${project.name}' does not deploy to namespace ${namespace}`);
}
