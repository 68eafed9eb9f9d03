import type { Schemas } from "../../../../openapi/client.ts";
import { validateApplicationSpec } from "../../../../openapi/contract/validators.js";
import { HOME_NAME, isHomeAddress } from "../../../base/cloud/home-cluster.ts";
import { done, later, type Outcome } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import type { WorkerObject } from "../../../link/exchange.ts";
import type { AgentContext } from "../context.ts";
import { partsOf } from "../names.ts";
import { act } from "./action.ts";
import { type Content, deleteOwn, explainKind, findOwn, goneKind, putManaged } from "./managed.ts";
import { mayUseProject } from "./project.ts";
import { serviceLabels } from "./service-labels.ts";
import { toApplicationSpec } from "./spec.ts";
import { fits } from "./validate-spec.ts";

// As Argo CD names them; the bare one means foreground.
const DEPENDS_ON = "outpost.dev/depends-on";
/** The account under which charts may look at the cluster. */
const HELM_LOOKUP = "outpost.dev/helm-lookup";
const FINALIZER = "resources-finalizer.argocd.argoproj.io";
const CASCADE: Record<string, string | undefined> = {
  foreground: FINALIZER,
  background: `${FINALIZER}/background`,
  orphan: undefined,
};

/** Writes the Application of a delivery, and puts its sync or refresh beside it. */
export async function putApplication(ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> {
  const fitting = fits<Schemas["ApplicationSpec"]>(validateApplicationSpec, object.spec);
  if (fitting.kind !== "done") return fitting;
  const given = fitting.value;
  const spec = toApplicationSpec(given, object.resolved);
  if (spec.kind !== "done") return spec;
  const allowed = await mayUseProject(ctx, object, String(spec.value.project));
  if (allowed.kind !== "done") return allowed;
  let busy = false;
  const build = (existing: KubeObject | undefined): Outcome<Content> => {
    const wanted = object.adopt
      ? { ...spec.value, destination: sameHome(spec.value.destination, existing?.spec?.destination) }
      : spec.value;
    const acted = act(object.action, existing, wanted);
    busy = acted.busy;
    return done({
      labels: { ...given.labels, ...serviceLabels(given) },
      annotations: {
        ...acted.annotations,
        [DEPENDS_ON]: neighbours(object, given.waitsFor),
        [HELM_LOOKUP]: given.helmLookup?.serviceAccount,
      },
      finalizers: [FINALIZER],
      fields: { spec: wanted, ...acted.fields },
    });
  };
  const written = await putManaged(ctx, RESOURCES.application, object, build);
  if (written.kind !== "done") return explainKind(written, "Application");
  return busy
    ? later(500, "OperationRunning", "the sync waits until the operation that runs has ended")
    : done(undefined);
}

interface Place {
  name?: string;
  server?: string;
  namespace?: string;
}

/** The agent's own cluster has two spellings. A taken-over application keeps its own, as Argo CD would see the other as a change. */
function sameHome(wanted: unknown, live: Place | undefined): Place {
  const [now, { name, server }] = [wanted as Place, live ?? {}];
  const isHome = name === HOME_NAME || (!name && server !== undefined && isHomeAddress(server, process.env));
  if (now.name !== HOME_NAME || !isHome) return now;
  return {
    ...(name ? { name } : { server: server! }),
    ...(now.namespace === undefined ? {} : { namespace: now.namespace }),
  };
}

/** Deletes the Application with or without what it deployed; done when it is really gone. */
export async function removeApplication(ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> {
  const found = await findOwn(ctx, RESOURCES.application, object);
  if (found.kind !== "done") return goneKind(found);
  if (!found.value) return done(undefined);
  const own = found.value;
  const wanted = CASCADE[object.cascade ?? "foreground"];
  const others = (own.metadata.finalizers ?? []).filter((finalizer) => finalizer.split("/")[0] !== FINALIZER);
  const present = (own.metadata.finalizers ?? []).filter((finalizer) => !others.includes(finalizer));
  // During a deletion, Kubernetes allows finalizers to be removed but not added.
  const mayAdd = own.metadata.deletionTimestamp === undefined;
  const kept = wanted && (mayAdd || present.includes(wanted)) ? [wanted] : present;
  const next = [...others, ...(wanted ? kept : [])];
  if (next.join() !== (own.metadata.finalizers ?? []).join()) {
    const patch = {
      metadata: { finalizers: next, uid: own.metadata.uid, resourceVersion: own.metadata.resourceVersion },
    };
    const patched = await ctx.client.mergePatch(
      RESOURCES.application,
      own.metadata.namespace ?? ctx.namespace,
      own.metadata.name,
      patch,
    );
    if (patched.kind !== "done" && patched.reason !== KUBE.notFound)
      return patched.reason === KUBE.conflict ? later(100, patched.reason, patched.message) : patched;
  }
  return deleteOwn(ctx, RESOURCES.application, own);
}

/** Other applications of the same scope, as they are called in this namespace: with the same ending, unless the service says otherwise. */
function neighbours({ name, key, resolved }: WorkerObject, ids: string[] | undefined): string | undefined {
  if (resolved?.waitsFor) return resolved.waitsFor.join(",");
  const { id } = partsOf(key);
  const tail = name?.startsWith(id) ? name.slice(id.length) : "";
  return ids?.map((one) => one + tail).join(",") || undefined;
}
