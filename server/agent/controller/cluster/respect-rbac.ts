import { done, type Failure, type Outcome } from "../../../base/outcome.ts";
import { inParallel } from "../../../base/process/parallel.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { KUBE } from "../../../kube/errors.ts";
import { type KubeObject, objectKey } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import { instanceOf } from "../../project/instance.ts";
import { type Application, META } from "../application.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import type { Destination } from "../destination.ts";
import { appLabel } from "../tracking.ts";

/** Whether a kind is left out because rights are missing; `strict` asks the cluster again, so that one wrong answer leaves nothing out. */
export async function isSkippedByRbac(
  { client, settings, managed }: Destination,
  resource: Resource,
  { reason }: Failure,
): Promise<boolean> {
  if (settings.respectRbac === "off" || (reason !== KUBE.forbidden && reason !== KUBE.unauthorized)) return false;
  if (settings.respectRbac === "normal") return true;
  const namespaces = resource.namespaced && managed.length ? managed : [undefined];
  const allowed = await Promise.all(namespaces.map((namespace) => mayList(client, resource, namespace)));
  return allowed.includes(false);
}

/** Undefined when the cluster does not say. */
async function mayList(
  client: KubeClient,
  { group, plural }: Resource,
  namespace: string | undefined,
): Promise<boolean | undefined> {
  const asked = await client.json<{ status?: { allowed?: boolean } }>("POST", REVIEWS, {
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: { group, resource: plural, namespace, verb: "list" } },
    },
  });
  return asked.kind === "done" ? asked.value.status?.allowed === true : undefined;
}

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/**
 * Asks for the objects of a kind that is not watched: those in Git, and those that the application had. Objects that are not asked for are not
 * known, whatever was known of it, so that nothing is taken away for what it was once.
 */
export async function readOneByOne(
  { client, live, own }: Destination,
  app: Application,
  resource: Resource,
  targets: readonly CompareTarget[],
): Promise<Outcome<void>> {
  const label = appLabel(instanceOf(app, own));
  const { group, kind } = resource;
  const wanted = targets
    .filter((target) => target.resource?.group === group && target.resource.kind === kind)
    .map(({ object }) => object.metadata);
  const { resources = [], operationState } = app.status ?? {};
  const had = [...resources, ...(operationState?.syncResult?.resources ?? [])].filter(
    (row) => (row.group ?? "") === group && row.kind === kind,
  );
  const asked = new Map<string, Pick<KubeObject["metadata"], "name" | "namespace">>();
  for (const one of [...wanted, ...had])
    if (one.name) asked.set(objectKey(group, kind, one.namespace ?? "", one.name), one);
  let failure: Failure | undefined;
  await inParallel([...asked], async ([key, { namespace, name }]) => {
    const got = await client.get(resource, namespace, name);
    if (got.kind !== "done" && got.reason !== KUBE.notFound) {
      failure ??= got;
      return;
    }
    // An object of another application is stored under that application.
    const whose = got.kind === "done" ? got.value.metadata.labels?.[META.app] : undefined;
    for (const before of [label, live.find(key)?.metadata.labels?.[META.app]])
      if (before !== undefined && before !== whose) live.remove(key, before);
    if (got.kind === "done" && whose !== undefined) live.put(got.value);
  });
  for (const key of [...live.ofApp(label).keys()])
    if (key.startsWith(`${group}/${kind}/`) && !asked.has(key)) live.remove(key, label);
  return failure ?? done(undefined);
}
