import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { describe, gvkOf, type KubeObject } from "../../../kube/object.ts";
import { marksIn, TENANT, tenantOf } from "../../project/tenant.ts";
import type { Application } from "../application.ts";
import type { Destination } from "../destination.ts";
import { type MarksKnown, withoutGivenMarks } from "./given-marks.ts";

const GROUP = "argoproj.io";
export const AGENT_NAMESPACE = "AgentNamespaceRefused";

type Rule = NonNullable<Destination["refuse"]>;
type Guarded = Pick<Destination, "own" | "tenant">;

/** Whether a cluster is the agent's or its scope's: what a tenant registers with credentials of its own is the tenant's own business. */
const isShared = ({ tenant }: Guarded): boolean => tenant === undefined;

const guards = new WeakMap<Destination, Map<string, Destination>>();

/**
 * A destination as a tenant may use it. In the agent's own namespace are the Secrets, ConfigMaps, projects and applications that all tenants
 * trust; an application of a tenant neither goes there nor puts an object there.
 */
export function guardTenant(destination: Destination, app: Application): Destination {
  const tenant = tenantOf(app);
  if (tenant === undefined || !isShared(destination)) return destination;
  const known = guards.get(destination) ?? new Map<string, Destination>();
  guards.set(destination, known);
  let guarded = known.get(tenant);
  if (!guarded) {
    const refuse: Rule = (object, resource) =>
      refusesTenant(destination, tenant, object) ?? destination.refuse?.(object, resource);
    guarded = { ...destination, ...turnsOf(destination, tenant), refuse };
    known.set(tenant, guarded);
  }
  return guarded;
}

/** Its requests take turns with those of other tenants. */
function turnsOf({ client, writer }: Destination, tenant: string): Pick<Destination, "client" | "writer"> {
  const own = client.lane(tenant);
  // Without an account of its own, both are the same client.
  return { client: own, writer: writer === client ? own : writer.lane(tenant) };
}

/** Refuses an application of a tenant whose own namespace is the agent's. */
export function placeTenant(destination: Destination, app: Application): Outcome<Destination> {
  const { own } = destination;
  if (tenantOf(app) !== undefined && isShared(destination) && app.spec.destination.namespace === own)
    return stop(AGENT_NAMESPACE, `namespace ${own} is the agent's own: choose another destination namespace`);
  return done(guardTenant(destination, app));
}

function refusesTenant({ own }: Guarded, tenant: string, object: KubeObject): string | undefined {
  const { group, kind } = gvkOf(object);
  const { namespace, name } = object.metadata;
  if (namespace === own || (group === "" && kind === "Namespace" && name === own))
    return `${describe(object)} is in namespace ${own}, which is the agent's own: applications of ${tenant} put nothing there`;
  if (group === "apiextensions.k8s.io" && name?.endsWith(`.${GROUP}`))
    return `${describe(object)} is a kind of the agent's own: applications of ${tenant} do not manage it`;
  if (group !== GROUP) return undefined;
  const mark = marksIn(object, tenant)[0];
  return mark && `${describe(object)} carries ${mark}, which only Outpost sets: remove it from the manifest`;
}

/**
 * What a tenant's application makes of Argo CD's kinds, in any namespace, is that tenant's too. And what the cluster makes of its templates bears
 * no mark of an application.
 */
export function inherited(
  app: Application,
  shape: Guarded & MarksKnown,
  objects: readonly KubeObject[],
): readonly KubeObject[] {
  const tenant = tenantOf(app);
  if (tenant === undefined || !isShared(shape)) return objects;
  return objects.map((given) => {
    const { metadata, ...rest } = given;
    const object = { ...withoutGivenMarks(app, rest, shape), metadata };
    const { group } = gvkOf(object);
    // A mark that is there already is refused when the object is applied.
    if (group !== GROUP || object.metadata.annotations?.[TENANT] !== undefined) return object;
    return {
      ...object,
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [TENANT]: tenant } },
    };
  });
}
