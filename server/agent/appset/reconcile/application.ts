import type { KubeObject } from "../../../kube/object.ts";
import type { Free } from "../types.ts";

/** An Application as far as sets read it. */
export interface LiveApplication extends KubeObject {
  spec: Free;
  status?: {
    sync?: { status?: string; comparedTo?: Free; revision?: string; revisions?: string[] };
    health?: { status?: string; message?: string; lastTransitionTime?: string };
    operationState?: { phase?: string; startedAt?: string };
    conditions?: { type: string }[];
  };
  operation?: Free;
}

const SET_KIND = "ApplicationSet";
export const API_VERSION = "argoproj.io/v1alpha1";

export const META = {
  refresh: "argocd.argoproj.io/refresh",
  hydrate: "argocd.argoproj.io/hydrate",
  refreshSet: "argocd.argoproj.io/application-set-refresh",
  notified: "notified.notifications.argoproj.io",
  finalizer: "resources-finalizer.argocd.argoproj.io",
  /** The mark of objects that are made by the service: they have an owner there. */
  generation: "outpost.dev/generation",
} as const;

export const ownerOf = (app: KubeObject) => app.metadata.ownerReferences?.find((owner) => owner.controller);

/** Whether the application is the set's own: by the owner's identity, so that a set of the same name made later does not inherit. */
export const isOwned = (app: KubeObject, set: KubeObject): boolean => {
  const owner = ownerOf(app);
  return owner?.kind === SET_KIND && owner.name === set.metadata.name && owner.uid === set.metadata.uid;
};

/** Which set an application belongs to, if to any. */
export const setOf = (app: KubeObject): string | undefined => {
  const owner = ownerOf(app);
  return owner?.kind === SET_KIND ? owner.name : undefined;
};

export const reference = (set: KubeObject) => ({
  apiVersion: API_VERSION,
  kind: SET_KIND,
  name: set.metadata.name,
  uid: set.metadata.uid!,
  controller: true,
  blockOwnerDeletion: true,
});
