import type { KubeObject } from "../../kube/object.ts";
import { appLabel, BY_ANNOTATION, isMarked, mark, markOf, migrated, ownerOf, type Tracking } from "./tracking.ts";

const ID = "argocd.argoproj.io/tracking-id";
const INSTALLATION = "argocd.argoproj.io/installation-id";
const INSTANCE = "app.kubernetes.io/instance";
const of = (method: Tracking["method"], more: Partial<Tracking> = {}): Tracking => ({ ...BY_ANNOTATION, method, ...more });
const made = (metadata: Partial<KubeObject["metadata"]> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", namespace: "shop", ...metadata },
});
function marked(how: Tracking, app = "shop", given = made()): KubeObject {
  const object = structuredClone(given);
  mark(object, app, "shop", how);
  return object;
}

const SELF = "shop:/ConfigMap:shop/a";
test.each<[string, Tracking, object, object | undefined]>([
  ["by annotation", of("annotation"), {}, { [ID]: SELF }],
  ["by both", of("annotation+label"), { [INSTANCE]: "shop" }, { [ID]: SELF }],
  ["by label", of("label"), { [INSTANCE]: "shop" }, undefined],
  ["by a label of another name", of("label", { labelKey: "team/app" }), { "team/app": "shop" }, undefined],
  ["of an installation", of("annotation", { installation: "eu" }), {}, { [ID]: SELF, [INSTALLATION]: "eu" }],
  ["of an installation, by label alone", of("label", { installation: "eu" }), { [INSTANCE]: "shop" }, undefined],
])("an object is marked as the method says, and read back as its application's: %s", (_name, how, labels, annotations) => {
  const object = marked(how);
  expect(object.metadata.labels).toEqual({ ...labels, "outpost.dev/app": "shop" });
  expect(object.metadata.annotations).toEqual(annotations);
  expect(ownerOf(object, how)).toBe("shop");
});

test.each<[string, Tracking]>([
  ["annotation", of("annotation")],
  ["both", of("annotation+label")],
  ["label", of("label")],
])("marks that Git brings along do not count, by %s", (_name, how) => {
  const given = made({
    annotations: { [ID]: "other:/ConfigMap:shop/a", [INSTALLATION]: "us", kept: "yes" },
    labels: { [INSTANCE]: "chart" },
  });
  const object = marked(how, "shop", given);
  expect(ownerOf(object, how)).toBe("shop");
  expect(object.metadata.annotations).not.toHaveProperty([INSTALLATION]);
  expect(object.metadata.annotations?.kept).toBe("yes");
  // What a chart says with the label is its own where it is no mark.
  expect(object.metadata.labels?.[INSTANCE]).toBe(how.method === "annotation" ? "chart" : "shop");
});

test.each<[string, KubeObject, Tracking, string | undefined]>([
  ["copied from another object", made({ name: "copy", annotations: { [ID]: SELF } }), of("annotation"), undefined],
  [
    "copied, with a label that agrees",
    made({ name: "copy", annotations: { [ID]: SELF }, labels: { [INSTANCE]: "shop" } }),
    of("annotation+label"),
    undefined,
  ],
  ["without annotation, by both", made({ labels: { [INSTANCE]: "shop" } }), of("annotation+label"), undefined],
  ["marked by label while the annotation counts", marked(of("label")), of("annotation"), undefined],
  ["marked by annotation while the label counts", marked(of("annotation")), of("label"), undefined],
  ["of another installation", marked(of("annotation", { installation: "us" })), of("annotation", { installation: "eu" }), undefined],
  ["of an installation, seen by one without a name", marked(of("annotation", { installation: "us" })), of("annotation"), undefined],
  ["of none, seen by one with a name", marked(of("annotation")), of("annotation", { installation: "eu" }), undefined],
  ["of another application, by label", marked(of("label"), "other"), of("label"), "other"],
  ["with an empty label", made({ labels: { [INSTANCE]: "" } }), of("label"), undefined],
])("whose an object is: %s", (_name, object, how, want) => {
  expect(ownerOf(object, how)).toBe(want);
});

test("a name longer than a label is cut, never to end in a sign, and its objects are still its own", () => {
  const name = `${"x".repeat(60)}.-.${"y".repeat(10)}`;
  for (const how of [of("label"), of("annotation+label")]) {
    const object = marked(how, name);
    expect(object.metadata.labels?.[INSTANCE]).toBe("x".repeat(60));
    expect(ownerOf(object, how)).toBe(markOf(name, how));
  }
});

test("long application names become labels that do not collide", () => {
  const [a, b] = ["x".repeat(80), `${"x".repeat(79)}y`].map(appLabel);
  expect(a).toHaveLength(63);
  expect(a).not.toBe(b);
});

test.each<[string, Tracking, Tracking, boolean]>([
  ["label to annotation", of("label"), of("annotation"), true],
  ["label to both", of("label"), of("annotation+label"), true],
  ["both to annotation", of("annotation+label"), of("annotation"), true],
  ["annotation to label", of("annotation"), of("label"), false],
  ["annotation to both", of("annotation"), of("annotation+label"), false],
  ["annotation to an installation", of("annotation"), of("annotation", { installation: "eu" }), false],
])("that an object has its former marks is no difference where the label was one: %s", (_name, before, now, same) => {
  const [live, wanted] = [marked(before), marked(now)];
  expect(isMarked(live, wanted, now)).toBe(false);
  const seen = migrated(live, live, wanted, now);
  expect(JSON.stringify(sorted(seen)) === JSON.stringify(sorted(migrated(wanted, live, wanted, now)))).toBe(same);
});

const sorted = ({ metadata }: KubeObject) =>
  [metadata.labels, metadata.annotations].map((all) => Object.entries(all ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));
