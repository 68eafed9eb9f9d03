import type { KubeObject } from "../../../kube/object.ts";
import { BY_ANNOTATION, type Tracking } from "../../controller/tracking.ts";
import { makerOf } from "./owner.ts";

const OWN = "argocd";
const app = (name: string, metadata: object = {}): KubeObject => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Application",
  metadata: { name, namespace: OWN, ...metadata },
});
const reference = (kind: string, name: string) => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind,
  name,
  uid: "u",
  controller: true,
});
const tracked = (by: string, name: string, namespace = OWN) => ({
  annotations: { "argocd.argoproj.io/tracking-id": `${by}:argoproj.io/Application:${namespace}/${name}` },
});
const BY_LABEL: Tracking = { ...BY_ANNOTATION, method: "label" };
const label = (value: string) => ({ labels: { "app.kubernetes.io/instance": value } });

const ROWS: [what: string, object: KubeObject, tracking: Tracking, want: string | undefined][] = [
  [
    "made by a set",
    app("a", { ownerReferences: [reference("ApplicationSet", "teams")] }),
    BY_ANNOTATION,
    "applicationset argocd/teams",
  ],
  ["tracked by an application", app("a", tracked("root", "a")), BY_ANNOTATION, "application argocd/root"],
  ["tracked by one of another namespace", app("a", tracked("team_root", "a")), BY_ANNOTATION, "application team/root"],
  [
    "both: the set writes it",
    app("a", { ownerReferences: [reference("ApplicationSet", "s")], ...tracked("root", "a") }),
    BY_ANNOTATION,
    "applicationset argocd/s",
  ],
  ["an annotation that was copied from another object", app("a", tracked("root", "b")), BY_ANNOTATION, undefined],
  ["one that tracks itself", app("root", tracked("root", "root")), BY_ANNOTATION, undefined],
  ["a label of a chart, where annotations count", app("a", label("release")), BY_ANNOTATION, undefined],
  ["a label, where labels count", app("a", label("root")), BY_LABEL, "application argocd/root"],
  ["nothing", app("a"), BY_ANNOTATION, undefined],
];

test.each(ROWS)("the maker of an object: %s", (_, object, tracking, want) => {
  const maker = makerOf(object, OWN, tracking);
  expect(maker && `${maker.kind} ${maker.namespace}/${maker.name}`).toBe(want);
});
