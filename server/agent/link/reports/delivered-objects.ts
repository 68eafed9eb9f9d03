import type { KubeObject } from "../../../kube/object.ts";
import { setOf } from "../../appset/application.ts";
import { missingTenant, tenantOf } from "../../project/tenant.ts";
import { TRUST_NAMES } from "../../project/trust-names.ts";
import { SECRET_TYPE } from "../credentials/secrets.ts";
import { certificateStatus, gnupgKeyStatus, hostKeyStatus, trustOf } from "../deliveries/trust.ts";
import { entriesIn, isPlaced, type Shared } from "../entries.ts";
import { type Collection, type Marks, marksOf } from "../names.ts";
import { type MadeApplication, toSetStatus } from "./set-status.ts";
import { toStatus } from "./status.ts";

/** A delivered object as it is found in the cluster: an object of its own, or a part of one. */
export interface Found extends Marks {
  collection: Collection;
  /** Names it among all: `Kind/name`, and its part. */
  at: string;
  part?: string;
  object: KubeObject;
  /** It lacks the mark of its tenant, because an older agent wrote it: the service has to send it again. */
  unmarked?: boolean;
}

const KIND: Record<string, Collection> = { Application: "applications", ApplicationSet: "applicationsets", AppProject: "appprojects" };
const SECRET: Record<string, Collection> = { repository: "repositories", "repo-creds": "repositorycredentials", cluster: "clusters" };
/** What a ConfigMap of trust holds: the agent's own, or a tenant's. */
function sharedOf(configMap: KubeObject): [Shared, Collection] | undefined {
  const { certificates, hosts, keys } = trustOf(tenantOf(configMap));
  const all: [Shared, Collection][] = [
    [certificates, "repositorycertificates"],
    [hosts, "repositorycertificates"],
    [keys, "gnupgkeys"],
  ];
  return all.find(([one]) => one.name === configMap.metadata.name);
}

/**
 * What of an object was delivered. `kind` is said beside it, because objects of a list do not say it; `place` is `namespace/name` outside the
 * agent's own namespace.
 */
export function foundIn(kind: string, object: KubeObject, account: string, place = object.metadata.name): Found[] {
  const at = `${kind}/${place}`;
  if (kind === "ConfigMap") {
    const [shared, collection] = sharedOf(object) ?? [];
    if (!shared || !collection) return [];
    return [...entriesIn(shared, object, account)].map(([part, marks]) => ({
      ...marks,
      collection,
      at: `${at}/${part}`,
      part,
      object,
      unmarked: !isPlaced(object, part),
    }));
  }
  // What a set makes was not delivered, whatever it carries.
  if (kind === "Application" && setOf(object) !== undefined) return [];
  const marks = marksOf(object, account);
  const collection = KIND[kind] ?? SECRET[object.metadata.labels?.[SECRET_TYPE] ?? ""];
  return marks && collection ? [{ ...marks, collection, at, object, unmarked: missingTenant(object) !== undefined }] : [];
}

/** What is told of it: the status that it has by itself; nothing for what is only to be there. */
export function statusOf({ collection, object, part = "", uid }: Found, made: () => readonly MadeApplication[]): object | undefined {
  switch (collection) {
    case "applications":
      return toStatus(object);
    case "applicationsets":
      return toSetStatus(object, made());
    case "appprojects":
      return { name: object.metadata.name };
    case "repositorycertificates":
      return object.metadata.name.startsWith(TRUST_NAMES.hosts)
        ? hostKeyStatus(object.data ?? {}, uid)
        : certificateStatus(object.data ?? {}, part);
    case "gnupgkeys":
      return gnupgKeyStatus(object.data ?? {}, part);
    default:
      return undefined;
  }
}

/** Whether there is somebody to reach: a repository or a cluster. */
export const isReached = (collection: Collection): boolean => collection === "repositories" || collection === "clusters";
