import type { KubeObject } from "../../../kube/object.ts";
import { NOTHING } from "./ignore.ts";
import { hasLeftovers, LAST_APPLIED } from "./last-applied.ts";

const object = (kind: string, fields: object, metadata: object = {}) =>
  ({ apiVersion: "v1", kind, metadata: { name: "x", ...metadata }, ...fields }) as unknown as KubeObject;
const left = (last: KubeObject, wanted: KubeObject, live: KubeObject) =>
  hasLeftovers(
    { ...live, metadata: { ...live.metadata, annotations: { [LAST_APPLIED]: JSON.stringify(last) } } },
    wanted,
    NOTHING,
  );
const spec = (value: object) => object("Pod", { spec: value });

const a = { name: "v", mountPath: "/a", subPath: "a" };
const b = { name: "v", mountPath: "/b" };
const [tcp, udp] = ["TCP", "UDP"].map((protocol) => ({ containerPort: 53, protocol }));
test.each<[string, KubeObject, KubeObject, KubeObject]>([
  ["a second mount of one volume", spec({ mounts: [a, b] }), spec({ mounts: [a] }), spec({ mounts: [a, b] })],
  ["the first mount of one volume", spec({ mounts: [a, b] }), spec({ mounts: [b] }), spec({ mounts: [a, b] })],
  [
    "a field of a mount",
    spec({ mounts: [b, a] }),
    spec({ mounts: [b, { ...a, subPath: undefined }] }),
    spec({ mounts: [b, a] }),
  ],
  ["a port of another protocol", spec({ ports: [tcp, udp] }), spec({ ports: [tcp] }), spec({ ports: [tcp, udp] })],
  [
    "a plain text of a Secret",
    object("Secret", { stringData: { a: "1", b: "2" } }),
    object("Secret", { data: { a: "MQ==" } }),
    object("Secret", { data: { a: "MQ==", b: "Mg==" } }),
  ],
  [
    "a finalizer",
    object("ConfigMap", {}, { finalizers: ["x/y", "x/z"] }),
    object("ConfigMap", {}, { finalizers: ["x/y"] }),
    object("ConfigMap", {}, { finalizers: ["x/y", "x/z"] }),
  ],
])("what has left Git is left over: %s", (_, last, wanted, live) => {
  expect(left(last, wanted, live)).toBe(true);
  expect(left(last, last, live)).toBe(false);
  expect(left(last, wanted, wanted)).toBe(false);
});

test("a protocol that the cluster has filled in is nothing that was left over", () => {
  const plain = spec({ ports: [{ containerPort: 53 }] });
  expect(left(plain, plain, spec({ ports: [tcp] }))).toBe(false);
});

test.each(["finalizers", "labels", "annotations"])(
  "what others have put into %s that were never applied is nothing that was left over",
  (field) => {
    const theirs = field === "finalizers" ? ["kubernetes.io/pvc-protection"] : { theirs: "1" };
    const plain = object("PersistentVolumeClaim", {});
    const live = object("PersistentVolumeClaim", {}, { [field]: theirs });
    expect(hasLeftovers(annotated(live, plain), plain, NOTHING)).toBe(false);
  },
);

function annotated(live: KubeObject, last: KubeObject): KubeObject {
  const annotations = { ...live.metadata.annotations, [LAST_APPLIED]: JSON.stringify(last) };
  return { ...live, metadata: { ...live.metadata, annotations } };
}
