import type { KubeObject } from "../../kube/object.ts";
import { setOf } from "../appset/application.ts";
import { entriesIn, type Shared } from "./entries.ts";
import { type Collection, type Marks, marksOf } from "./names.ts";
import { SECRET_TYPE } from "./secrets.ts";
import { type MadeApplication, toSetStatus } from "./set-status.ts";
import { toStatus } from "./status.ts";
import { certificateStatus, gnupgKeyStatus, hostKeyStatus, TRUST } from "./trust.ts";

/** A delivered object as it is found in the cluster: an object of its own, or a part of one. */
export interface Found extends Marks {
  collection: Collection;
  /** Names it among all: `Kind/name`, and its part. */
  at: string;
  part?: string;
  object: KubeObject;
}

const KIND: Record<string, Collection> = { Application: "applications", ApplicationSet: "applicationsets", AppProject: "appprojects" };
const SECRET: Record<string, Collection> = { repository: "repositories", "repo-creds": "repositorycredentials", cluster: "clusters" };
const SHARED: [Shared, Collection][] = [
  [TRUST.certificates, "repositorycertificates"],
  [TRUST.hosts, "repositorycertificates"],
  [TRUST.keys, "gnupgkeys"],
];

/** What of an object was delivered. `kind` is said beside it, because objects of a list do not say it. */
export function foundIn(kind: string, object: KubeObject, account: string): Found[] {
  const at = `${kind}/${object.metadata.name}`;
  if (kind === "ConfigMap") {
    const [shared, collection] = SHARED.find(([one]) => one.name === object.metadata.name) ?? [];
    if (!shared || !collection) return [];
    return [...entriesIn(shared, object, account)].map(([part, marks]) => ({ ...marks, collection, at: `${at}/${part}`, part, object }));
  }
  // What a set makes was not delivered, whatever it carries.
  if (kind === "Application" && setOf(object) !== undefined) return [];
  const marks = marksOf(object, account);
  const collection = KIND[kind] ?? SECRET[object.metadata.labels?.[SECRET_TYPE] ?? ""];
  return marks && collection ? [{ ...marks, collection, at, object }] : [];
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
      return object.metadata.name === TRUST.hosts.name ? hostKeyStatus(object.data ?? {}, uid) : certificateStatus(object.data ?? {}, part);
    case "gnupgkeys":
      return gnupgKeyStatus(object.data ?? {}, part);
    default:
      return undefined;
  }
}

/** Whether there is somebody to reach: a repository or a cluster. */
export const isReached = (collection: Collection): boolean => collection === "repositories" || collection === "clusters";
