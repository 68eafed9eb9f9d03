import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { Destination } from "../destination.ts";
import { NOTHING } from "./ignore.ts";
import { LAST_APPLIED } from "./last-applied.ts";
import { removeLeftovers } from "./leftovers.ts";

const MAPS = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true };
const map = (data: object, text: object | undefined, metadata: object = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name: "a",
    namespace: "shop",
    annotations: text
      ? { [LAST_APPLIED]: JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: text }) }
      : {},
    ...metadata,
  },
  data,
});

test("a field that left Git goes also when the object's controller writes between", async () => {
  const wanted = map({ a: "1" }, { a: "1" });
  const before = map({ a: "1", b: "2" }, { a: "1", b: "2" }, { uid: "u", resourceVersion: "1" });
  const after = map({ a: "1", b: "2" }, { a: "1" }, { uid: "u", resourceVersion: "2" });
  const answers: Outcome<unknown>[] = [stop(KUBE.conflict, "the object has been modified")];
  const sent: KubeObject[] = [];
  const client = {
    get: async () => done({ ...after, metadata: { ...after.metadata, resourceVersion: "3" } }),
    json: async (_: string, __: string, { body }: { body: KubeObject }) => {
      sent.push(body);
      return answers.shift() ?? done(body);
    },
  };
  const destination = { client, writer: client } as unknown as Destination;
  const cleaned = await removeLeftovers(destination, MAPS, wanted, { before, after, ignored: NOTHING });
  expect(cleaned).toMatchObject({ kind: "done", value: { data: { a: "1" } } });
  expect(sent.map(({ metadata, data }) => [metadata.resourceVersion, data])).toEqual([
    ["2", { a: "1" }],
    ["3", { a: "1" }],
  ]);
});
