import type { KubeObject } from "../../../kube/object.ts";
import { NOTHING } from "./ignore.ts";
import { hasTextLeftovers, withTexts } from "./plain-texts.ts";
import { predict } from "./three-way.ts";

const secret = (data: Record<string, string>, texts: string[] = [], kind = "Secret"): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: {
    name: "a",
    managedFields: [
      {
        manager: "argocd-controller",
        operation: "Apply",
        fieldsV1: texts.length ? { "f:stringData": Object.fromEntries(texts.map((key) => [`f:${key}`, {}])) } : {},
      },
    ],
  },
  data,
});
const A = { a: "MQ==" };
const AB = { ...A, b: "Mg==" };

test.each<[string, KubeObject, Record<string, string>, string[], boolean]>([
  ["a key that left Git", secret(AB, ["a", "b"]), A, [], true],
  ["a key that Git has still", secret(AB, ["a", "b"]), AB, [], false],
  ["a key that is gone already", secret(A, ["a", "b"]), A, [], false],
  ["a key of another manager", secret(AB, ["a"]), A, [], false],
  ["no plain texts", secret(AB), A, [], false],
  ["an ignored key", secret(AB, ["a", "b"]), A, ["/data/b"], false],
  ["ignored data", secret(AB, ["a", "b"]), A, ["/data"], false],
  ["another kind", secret(AB, ["a", "b"], "Other"), A, [], false],
])("left over of plain texts, %s", (_, live, wanted, pointers, want) => {
  expect(hasTextLeftovers(live, secret(wanted), { ...NOTHING, pointers })).toBe(want);
});

test("a predicted apply takes the keys of plain texts for keys of data, and leaves those of others", () => {
  const live = secret({ ...AB, theirs: "eA==" }, ["a", "b"]);
  expect(predict(secret(A), live).data).toEqual({ ...A, theirs: "eA==" });
  expect(withTexts({ "f:data": { "f:c": {} }, "f:stringData": { "f:a": {} } })).toEqual({
    "f:data": { "f:a": {}, "f:c": {} },
  });
});
