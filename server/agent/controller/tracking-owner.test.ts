import type { KubeObject } from "../../kube/object.ts";
import { META } from "./application.ts";
import { BY_ANNOTATION, effectiveOwner, type Tracking } from "./tracking.ts";

type Who = "nobody" | "this" | "other";
interface Given {
  /** What the mark that counts says: the annotation or the label, as `by` says. */
  mark: Who;
  /** What our own label says. */
  label: Who;
  by: "annotation" | "label";
  /** The tracking annotation is about an object of another name. */
  copy?: boolean;
  /** The label was written by the first field manager, which is this program's. */
  written?: boolean;
  /** The annotation names this application where the label counts. */
  named?: boolean;
  /** An Endpoints object with the labels of its Service. */
  copied?: boolean;
}

const LABEL = "app.kubernetes.io/instance";
const NAMES = { nobody: undefined, this: "shop", other: "blog" };
const TRACKING: Record<Given["by"], Tracking> = {
  annotation: BY_ANNOTATION,
  label: { ...BY_ANNOTATION, method: "label" },
};

function objectOf({ by, mark, label, copy, written, named, copied }: Given): KubeObject {
  const kind = copied ? "Endpoints" : "ConfigMap";
  const former = named || copy ? "shop" : undefined;
  const id = (by === "annotation" ? NAMES[mark] : undefined) ?? former;
  return {
    apiVersion: "v1",
    kind,
    metadata: {
      name: "a",
      namespace: "shop",
      labels: { [META.app]: NAMES[label], [LABEL]: by === "label" ? NAMES[mark] : undefined } as Record<string, string>,
      annotations: id === undefined ? undefined : { [META.trackingId]: `${id}:/${kind}:shop/${copy ? "b" : "a"}` },
      managedFields: written ? [{ fieldsV1: { "f:metadata": { "f:labels": { [`f:${LABEL}`]: {} } } } }] : [],
    },
  };
}

const annotation = (mark: Who, ours: Who, more: Partial<Given> = {}): Given => ({
  by: "annotation",
  mark,
  label: ours,
  ...more,
});
const label = (mark: Who, ours: Who, more: Partial<Given> = {}): Given => ({ by: "label", mark, label: ours, ...more });

test.each<[Given, Who]>([
  // The annotation counts: what it says wins.
  [annotation("this", "nobody"), "this"],
  [annotation("this", "this"), "this"],
  [annotation("this", "other"), "this"],
  [annotation("other", "nobody"), "other"],
  [annotation("other", "this"), "other"],
  [annotation("other", "other"), "other"],
  // It says nothing, as on an object that was marked under former settings: our label.
  [annotation("nobody", "nobody"), "nobody"],
  [annotation("nobody", "this"), "this"],
  [annotation("nobody", "other"), "other"],
  // It was copied from another object, and our label with it.
  [annotation("nobody", "nobody", { copy: true }), "nobody"],
  [annotation("nobody", "this", { copy: true }), "nobody"],
  [annotation("nobody", "other", { copy: true }), "nobody"],

  // The label counts, and says no other application: our own label, which is never cut.
  [label("nobody", "nobody"), "nobody"],
  [label("nobody", "this"), "this"],
  [label("nobody", "other"), "other"],
  [label("this", "nobody"), "this"],
  [label("this", "this"), "this"],
  [label("this", "other"), "other"],
  // It says another application: that one, unless the label is what a chart says and the rest is ours.
  [label("other", "nobody"), "other"],
  [label("other", "this"), "other"],
  [label("other", "other"), "other"],
  [label("other", "nobody", { written: true }), "other"],
  [label("other", "this", { written: true }), "this"],
  [label("other", "other", { written: true }), "other"],
  [label("other", "nobody", { named: true }), "other"],
  [label("other", "this", { named: true }), "this"],
  [label("other", "other", { named: true }), "other"],

  // The cluster makes Endpoints with all labels of their Service: only an annotation of their own counts.
  [label("this", "this", { copied: true }), "nobody"],
  [label("other", "this", { copied: true }), "nobody"],
  [annotation("nobody", "this", { copied: true }), "nobody"],
  [annotation("this", "nobody", { copied: true }), "this"],
  [annotation("other", "this", { copied: true }), "other"],
])("of an object with %j the owner is: %s", (given, want) => {
  expect(effectiveOwner(objectOf(given), "shop", TRACKING[given.by])).toBe(NAMES[want]);
});
