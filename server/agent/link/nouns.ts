import type { Outcome } from "../../base/outcome.ts";
import type { KubeObject } from "../../kube/object.ts";
import { RESOURCES, type Resource } from "../../kube/path.ts";
import type { WorkerObject } from "../../link/exchange.ts";
import { APPLICATION_SET } from "../appset/reconcile/reconcile.ts";
import type { AgentContext } from "./context.ts";
import { putApplication, removeApplication } from "./deliveries/application.ts";
import { putCluster } from "./deliveries/cluster.ts";
import { putAppProject, removeAppProject } from "./deliveries/project.ts";
import { putRepository, putRepositoryCredential, removeRepository, removeSecret } from "./deliveries/repository.ts";
import { putApplicationSet, removeApplicationSet } from "./deliveries/set.ts";
import { trust } from "./deliveries/trust.ts";
import type { Shared } from "./entries.ts";
import type { Collection } from "./names.ts";
import { type MadeApplication, toSetStatus } from "./reports/set-status.ts";
import { toStatus } from "./reports/status.ts";

type Handler = (ctx: AgentContext, object: WorkerObject) => Promise<Outcome<undefined>>;

/** Where a delivered object is in the cluster: an object of its own, a Secret that Argo CD labels, or a part of ConfigMaps. */
export interface Place {
  kind?: string;
  secret?: string;
  parts?(tenant: string | undefined): readonly Shared[];
}

/** A question about a discovered object. `part` is the key of its part in a ConfigMap. */
export interface Asked {
  object: KubeObject;
  part: string;
  uid: string;
  /** Applications that a set has made. */
  made: () => readonly MadeApplication[];
}

/** All that the agent knows of a noun that is delivered to it. */
export interface DeliveredNoun {
  put: Handler;
  delete: Handler;
  place: Place;
  /** It may be in other namespaces than the agent's own. */
  elsewhere?: Resource;
  /** The status that it has by itself; without it, it is only to be there. */
  status?(asked: Asked): object | undefined;
  /** There is an address to reach, so the connection is tested. */
  reached?: boolean;
}

/** One row for each noun that the contract delivers; a missing one does not compile. */
export const NOUNS: Readonly<Record<Collection, DeliveredNoun>> = {
  applications: {
    put: putApplication,
    delete: removeApplication,
    place: { kind: "Application" },
    elsewhere: RESOURCES.application,
    status: ({ object }) => toStatus(object),
  },
  applicationsets: {
    put: putApplicationSet,
    delete: removeApplicationSet,
    place: { kind: "ApplicationSet" },
    elsewhere: APPLICATION_SET,
    status: ({ object, made }) => toSetStatus(object, made()),
  },
  appprojects: {
    put: putAppProject,
    delete: removeAppProject,
    place: { kind: "AppProject" },
    status: ({ object }) => ({ name: object.metadata.name }),
  },
  repositories: { put: putRepository, delete: removeRepository, place: { secret: "repository" }, reached: true },
  repositorycredentials: { put: putRepositoryCredential, delete: removeSecret, place: { secret: "repo-creds" } },
  clusters: { put: putCluster, delete: removeSecret, place: { secret: "cluster" }, reached: true },
  ...trust,
};

/** The collection of an object of this kind, or of a Secret with this label. */
export function collectionAt(kind: string, secretType: string | undefined): Collection | undefined {
  const fits = ({ place }: DeliveredNoun) =>
    place.kind === kind || (place.secret !== undefined && place.secret === secretType);
  return rows.find(([, noun]) => fits(noun))?.[0];
}

/** The part of a noun that a ConfigMap of a tenant holds. */
export function partOf(
  configMap: KubeObject,
  tenant: string | undefined,
): { shared: Shared; collection: Collection } | undefined {
  for (const [collection, { place }] of rows)
    for (const shared of place.parts?.(tenant) ?? [])
      if (shared.name === configMap.metadata.name) return { shared, collection };
  return undefined;
}

const rows = Object.entries(NOUNS) as [Collection, DeliveredNoun][];
