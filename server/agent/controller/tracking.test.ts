import { FIELD_MANAGER } from "../../kube/client.ts";
import type { KubeObject } from "../../kube/object.ts";
import {
  appLabel,
  BY_ANNOTATION,
  effectiveOwner,
  isMarked,
  isStray,
  mark,
  markOf,
  migrated,
  ownerOf,
  type Tracking,
} from "./tracking.ts";

const ID = "argocd.argoproj.io/tracking-id";
const INSTALLATION = "argocd.argoproj.io/installation-id";
const INSTANCE = "app.kubernetes.io/instance";
const of = (method: Tracking["method"], more: Partial<Tracking> = {}): Tracking => ({
  ...BY_ANNOTATION,
  method,
  ...more,
});
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

const EU = { installation: "eu" };
const SELF = "shop:/ConfigMap:shop/a";
test.each<[string, Tracking, object, object | undefined]>([
  ["by annotation", of("annotation"), {}, { [ID]: SELF }],
  ["by both", of("annotation+label"), { [INSTANCE]: "shop" }, { [ID]: SELF }],
  ["by label", of("label"), { [INSTANCE]: "shop" }, undefined],
  ["by a label of another name", of("label", { labelKey: "team/app" }), { "team/app": "shop" }, undefined],
  ["of an installation", of("annotation", { installation: "eu" }), {}, { [ID]: SELF, [INSTALLATION]: "eu" }],
  ["of an installation, by label alone", of("label", { installation: "eu" }), { [INSTANCE]: "shop" }, undefined],
])(
  "an object is marked as the method says, and read back as its application's: %s",
  (_name, how, labels, annotations) => {
    const object = marked(how);
    expect(object.metadata.labels).toEqual({ ...labels, "outpost.dev/app": "shop" });
    expect(object.metadata.annotations).toEqual(annotations);
    expect(ownerOf(object, how)).toBe("shop");
  },
);

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
  [
    "of another installation",
    marked(of("annotation", { installation: "us" })),
    of("annotation", { installation: "eu" }),
    undefined,
  ],
  [
    "of an installation, seen by one without a name",
    marked(of("annotation", { installation: "us" })),
    of("annotation"),
    undefined,
  ],
  ["of none, seen by one with a name", marked(of("annotation")), of("annotation", { installation: "eu" }), undefined],
  ["of another application, by label", marked(of("label"), "other"), of("label"), "other"],
  [
    "of another installation that tracks by both, by label",
    marked(of("annotation+label", { installation: "us" })),
    of("label", { installation: "eu" }),
    undefined,
  ],
  [
    "of our installation when it tracked by both, by label",
    marked(of("annotation+label", EU)),
    of("label", EU),
    "shop",
  ],
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
])(
  "that an object has its former marks is not a difference where the label was one: %s",
  (_name, before, now, same) => {
    const [live, wanted] = [marked(before), marked(now)];
    expect(isMarked(live, wanted, now)).toBe(false);
    const seen = migrated(live, live, wanted, now);
    expect(JSON.stringify(sorted(seen)) === JSON.stringify(sorted(migrated(wanted, live, wanted, now)))).toBe(same);
  },
);

const sorted = ({ metadata }: KubeObject) =>
  [metadata.labels, metadata.annotations].map((all) => Object.entries(all ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));

const chart = made({ labels: { [INSTANCE]: "release" } });
/** As the watch shows it: with what we have written last. */
const watched = (how: Tracking, app = "shop", given = made()): KubeObject => {
  const object = marked(how, app, given);
  const labels = Object.fromEntries(Object.keys(object.metadata.labels ?? {}).map((key) => [`f:${key}`, {}]));
  object.metadata.managedFields = [{ fieldsV1: { "f:metadata": { "f:labels": labels } } }];
  return object;
};
const called = (object: KubeObject, name: string): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, name },
});
const taken = (object: KubeObject, instance: string): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, [INSTANCE]: instance }, managedFields: [] },
});
const long = (end: string) => `${"x".repeat(70)}${end}`;
test.each<[string, KubeObject, Tracking, string | undefined, boolean]>([
  ["its own", watched(of("annotation")), of("annotation"), "shop", false],
  ["its own by label, before the annotation counted", watched(of("label")), of("annotation"), "shop", true],
  ["its own by annotation, before the label counted", watched(of("annotation")), of("label"), "shop", true],
  ["the same with a chart's label", watched(of("annotation"), "shop", chart), of("label"), "shop", true],
  [
    "its own under another key, with a chart's label",
    watched(of("label", { labelKey: "a/b" }), "shop", chart),
    of("label"),
    "shop",
    true,
  ],
  ["its own before there was an installation", watched(of("annotation")), of("annotation", EU), "shop", true],
  ["its own when there was one", watched(of("annotation", EU)), of("annotation"), "shop", true],
  ["another's", watched(of("annotation"), "other"), of("annotation"), "other", false],
  [
    "another's by label, before the annotation counted",
    watched(of("label"), "other"),
    of("annotation"),
    "other",
    false,
  ],
  [
    "another's by annotation, before the label counted",
    watched(of("annotation"), "other"),
    of("label"),
    "other",
    false,
  ],
  ["another's under another key", watched(of("label", { labelKey: "a/b" }), "other"), of("label"), "other", false],
  [
    "another's before there was an installation",
    watched(of("annotation"), "other"),
    of("annotation", EU),
    "other",
    false,
  ],
  [
    "another's with a chart's label that is its name by accident",
    watched(of("annotation"), "other", taken(made(), "shop")),
    of("label"),
    "other",
    false,
  ],
  [
    "taken by another program that tracks by label",
    taken(watched(of("label")), "foreign"),
    of("label"),
    "foreign",
    false,
  ],
  [
    "a copy with all that the first one says",
    called(watched(of("annotation")), "copy"),
    of("annotation"),
    undefined,
    false,
  ],
  ["a copy of another's", called(watched(of("annotation"), "other"), "copy"), of("annotation"), undefined, false],
])("whose an object is to write, and of which it is told that it stays: %s", (_name, object, how, want, stray) => {
  expect([effectiveOwner(object, "shop", how), isStray(object, "shop", how)]).toEqual([want, stray]);
  // To prune and to delete it, only the mark that counts now is enough.
  if (stray) expect(ownerOf(object, how)).not.toBe("shop");
});

test("of two long names that are cut to one label each holds its own", () => {
  const [a, b] = [long("a"), long("b")];
  expect(effectiveOwner(watched(of("label"), a), a, of("label"))).toBe(a);
  expect(effectiveOwner(watched(of("label"), b), a, of("label"))).toBe(appLabel(b));
});

test.each<Tracking["method"]>(["label", "annotation"])(
  "Endpoints that the cluster made with the labels of their Service are nobody's, by %s",
  (method) => {
    const how = of(method);
    const { labels } = marked(of("label")).metadata;
    const endpoints = { ...made({ labels, managedFields: [] }), kind: "Endpoints" };
    expect([ownerOf(endpoints, how), effectiveOwner(endpoints, "shop", how), isStray(endpoints, "shop", how)]).toEqual([
      undefined,
      undefined,
      false,
    ]);
    const written = marked(how, "shop", {
      ...made({ managedFields: [{ manager: FIELD_MANAGER }] }),
      kind: "Endpoints",
    });
    expect([ownerOf(written, how), effectiveOwner(written, "shop", how)]).toEqual(["shop", "shop"]);
  },
);
