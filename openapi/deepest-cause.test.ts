import { deepestCause } from "./deepest-cause.ts";

const node = (
  kind: string,
  uid: string,
  parent: string | undefined,
  health: string,
  message?: string,
  status?: string,
) =>
  ({
    kind,
    version: "v1",
    namespace: "shop",
    name: `web-${uid}`,
    uid,
    ...(parent ? { parents: [parent] } : {}),
    health,
    ...(message ? { message } : {}),
    ...(status ? { info: [{ name: "status", value: status }] } : {}),
  }) as never;
const deployment = node("Deployment", "d", undefined, "Progressing", "0 of 1 updated replicas are available");
const replicas = node("ReplicaSet", "r", "d", "Progressing");
const pulling = node("Pod", "p", "r", "Degraded", 'Back-off pulling image "web:9"', "ImagePullBackOff");
const starting = node("Pod", "s", "r", "Progressing", "containers are starting");
const warning = (reason: string, message: string, kind = "ReplicaSet") =>
  ({ type: "Warning", kind, namespace: "shop", name: "web", reason, message }) as never;
const quota = warning("FailedCreate", 'pods "web-1" is forbidden: exceeded quota: q');

test.each([
  ["nothing", [], [], undefined],
  ["a healthy tree", [node("Deployment", "d", undefined, "Healthy")], [], undefined],
  [
    "an image that cannot be pulled",
    [deployment, replicas, pulling],
    [],
    ['Pod web-p: ImagePullBackOff: Back-off pulling image "web:9"', true],
  ],
  [
    "the Degraded one before those that only start",
    [deployment, starting, pulling, replicas],
    [],
    [expect.stringContaining("ImagePull"), true],
  ],
  ["a Pod that starts", [deployment, replicas, starting], [], ["Pod web-s: containers are starting", false]],
  [
    "a quota, which only an event tells",
    [deployment, replicas],
    [quota],
    [expect.stringContaining("exceeded quota: q"), true],
  ],
  [
    "a Pod that does not fit on a node, which may come",
    [deployment, replicas],
    [warning("FailedScheduling", "0/1 nodes are available", "Pod")],
    ["Pod web: FailedScheduling: 0/1 nodes are available", false],
  ],
  [
    "no event beside a Pod that says it itself",
    [deployment, replicas, pulling],
    [quota],
    [expect.stringContaining("ImagePull"), true],
  ],
  [
    "a Deployment that stands alone",
    [deployment],
    [],
    ["Deployment web-d: 0 of 1 updated replicas are available", false],
  ],
  [
    "owners in a circle",
    [node("A", "a", "b", "Degraded", "x"), node("B", "b", "a", "Healthy")],
    [],
    ["A web-a: x", false],
  ],
])("the deepest cause of %s", (_, nodes, events, want) => {
  const got = deepestCause(nodes, events);
  expect(got && [got.text, got.lasting]).toEqual(want);
});

test("a container that crashes is named, so that its log can be asked for", () => {
  const crashing = node("Pod", "p", "r", "Degraded", "back-off 10s restarting failed container", "CrashLoopBackOff");
  expect(deepestCause([deployment, replicas, crashing], [])).toEqual({
    text: "Pod web-p: CrashLoopBackOff: back-off 10s restarting failed container",
    lasting: true,
    crashes: true,
    of: { kind: "Pod", namespace: "shop", name: "web-p" },
  });
});
