import { expect, test } from "@jest/globals";
import type { KustomizeParameters } from "../types.ts";
import { type Kustomization, override } from "./kustomization.ts";

// What kustomize 5.8.1 itself does to these files.
const file = { images: [{ name: "web", newName: "old", newTag: "1", digest: "sha256:a" }] };

test.each<[image: string, want: Kustomization | undefined]>([
  ["web:2", { name: "web", newTag: "2" }],
  ["web=new", { name: "web", newName: "new" }],
  ["web=new:2@sha256:b", { name: "web", newName: "new", newTag: "2", digest: "sha256:b" }],
  ["web=host:5000/new", { name: "web", newName: "host:5000/new" }],
  ["web=*:2", { name: "web", newName: "old", newTag: "2" }],
  ["web=new:*", { name: "web", newName: "new", newTag: "1" }],
  ["web@*", { name: "web", digest: "sha256:a" }],
  ["web=", { name: "web" }],
  ["web", undefined],
  ["host:5000/web", undefined],
  ["", undefined],
])("the image %s is set as `kustomize edit` sets it", (image, want) => {
  const edited = override(file, { images: [image] });
  if (want) expect(edited).toEqual({ images: [want] });
  else expect(edited).toContain("says nothing new");
});

test.each<[name: string, file: Kustomization, settings: KustomizeParameters, want: Kustomization | string]>([
  [
    "images come in the order of their names",
    { images: [{ name: "b" }] },
    { images: ["c:1", "a:1"] },
    { images: [{ name: "a", newTag: "1" }, { name: "b" }, { name: "c", newTag: "1" }] },
  ],
  ["a star for what is not there is nothing", {}, { images: ["web=*:*"] }, { images: [{ name: "web" }] }],
  [
    "the old name of images is read, too",
    { imageTags: [{ name: "web", newTag: "1" }] },
    { images: ["web:2"] },
    { images: [{ name: "web", newTag: "2" }] },
  ],
  [
    "of two images with one name the first stays",
    {
      images: [
        { name: "a", newTag: "1" },
        { name: "a", newTag: "2" },
      ],
    },
    { images: ["a:*"] },
    { images: [{ name: "a", newTag: "1" }] },
  ],
  [
    "labels without selectors go where such labels are",
    { labels: [{ pairs: { a: "1" }, includeSelectors: true }, { pairs: { b: "1" } }] },
    { commonLabels: { a: "2" }, labelWithoutSelector: true },
    {
      labels: [
        { pairs: { a: "1" }, includeSelectors: true },
        { pairs: { b: "1", a: "2" }, includeSelectors: false, includeTemplates: false },
      ],
    },
  ],
  [
    "a label that is there is not replaced without being told to",
    { labels: [{ pairs: { a: "1" } }] },
    { commonLabels: { a: "2" }, labelWithoutSelector: true },
    "label a is already in labels; set forceCommonLabels to replace it",
  ],
  [
    "quotes around a value are not of the value",
    {},
    { commonAnnotations: { a: '"x:y"' } },
    { commonAnnotations: { a: "x:y" } },
  ],
])("%s", (_, given, settings, want) => {
  expect(override(given, settings)).toEqual(want);
});
