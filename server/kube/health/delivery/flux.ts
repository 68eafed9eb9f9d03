import type { KubeObject } from "../../object.ts";
import { type Checks, each, firstOf, waiting, when } from "../rules.ts";
import { type Condition, conditionsOf, type HealthCheck, health } from "../types.ts";

interface Votes {
  /** How many conditions must say so before it is well. */
  needed: number;
  /** Conditions that count for it beside Ready. */
  good?: readonly string[];
  /** The status of Ready that means "working on it", together with Reconciling. */
  busy?: "Unknown" | "False";
  /** Reasons of Reconciling that count; by default all. */
  reasons?: readonly string[];
  /** What two signs of work mean. */
  working?: "Progressing" | "Degraded";
}

/** Flux tells by several conditions at once, so they are counted: two signs of work are progress, enough good ones are health. */
const votes = ({ needed, good = [], busy = "Unknown", reasons, working = "Progressing" }: Votes): HealthCheck => {
  const isWork = (c: Condition) =>
    (c.type === "Ready" && c.status === busy) ||
    (c.type === "Reconciling" && c.status === "True" && (!reasons || reasons.includes(c.reason ?? "")));
  const isGood = (c: Condition) => c.status === "True" && (c.type === "Ready" || good.includes(c.type ?? ""));
  return firstOf((object: KubeObject) => {
    if (!Array.isArray(object.status?.conditions)) return undefined;
    const list = conditionsOf(object);
    const message = messageOf(list);
    if (list.filter(isWork).length === 2) return health(working, message);
    return health(list.filter(isGood).length === needed ? "Healthy" : "Degraded", message);
  }, waiting("Status unknown"));
};

/** The reason of Ready, and of an outdated artefact after it. */
function messageOf(list: readonly Condition[]): string {
  let message = "";
  for (const { type, status, reason = "" } of list) {
    if (type === "Ready") message = reason;
    else if (type === "ArtifactOutdated" && status === "True") message += ` ${reason}`;
  }
  return message;
}

const suspended = when(
  ({ spec }) => spec?.suspend === true,
  "Suspended",
  ({ kind }) => `${kind} is suspended`,
);
const source = firstOf(suspended, votes({ needed: 2, good: ["ArtifactInStorage"] }));
const helmRepository = firstOf(
  suspended,
  when(
    ({ spec }) => spec?.type === "oci",
    "Healthy",
    "Helm repositories of type 'oci' do not contain any information in the status.",
  ),
  source,
);

export const flux: Checks = {
  ...each("source.toolkit.fluxcd.io", ["Bucket", "GitRepository", "HelmChart", "OCIRepository"], () => source),
  "source.toolkit.fluxcd.io/HelmRepository": helmRepository,
  "helm.toolkit.fluxcd.io/HelmRelease": firstOf(suspended, votes({ needed: 2, good: ["Released", "TestSuccess"] })),
  "kustomize.toolkit.fluxcd.io/Kustomization": firstOf(suspended, votes({ needed: 1 })),
  "image.toolkit.fluxcd.io/ImagePolicy": votes({
    needed: 1,
    busy: "False",
    reasons: ["NewGeneration", "AccessingRepository", "ApplyingPolicy"],
  }),
  "image.toolkit.fluxcd.io/ImageRepository": firstOf(
    suspended,
    votes({ needed: 1, busy: "False", reasons: ["NewGeneration", "Scanning"] }),
  ),
  "image.toolkit.fluxcd.io/ImageUpdateAutomation": firstOf(suspended, votes({ needed: 1 })),
  "notification.toolkit.fluxcd.io/Receiver": firstOf(
    suspended,
    votes({ needed: 1, busy: "False", working: "Degraded" }),
  ),
};
