import type { KubeObject } from "../../../../kube/object.ts";
import { podInfo, podRequests } from "./pod.ts";
import { milli } from "./quantity.ts";

const pod = (spec: object, status: object, metadata: object = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", ...metadata },
  spec: { containers: [{ name: "a" }, { name: "b" }], ...spec },
  status,
});
const shown = (one: KubeObject) => Object.fromEntries(podInfo(one).map(({ name, value }) => [name, value]));
const running = { ready: true, state: { running: {} } };
const sidecar = { name: "side", restartPolicy: "Always" };
const leaving = { deletionTimestamp: "2026-01-01T00:00:00Z" };

// As `kubectl get pods` says it.
test.each<[string, KubeObject, string, string]>([
  ["running", pod({}, { phase: "Running", containerStatuses: [running, running] }), "Running", "2/2"],
  [
    "not ready yet",
    pod({}, { phase: "Running", containerStatuses: [running, { ready: false, state: { running: {} } }] }),
    "Running",
    "1/2",
  ],
  [
    "the first container's reason counts",
    pod({}, { phase: "Running", containerStatuses: [{ state: { waiting: { reason: "CrashLoopBackOff" } } }, running] }),
    "CrashLoopBackOff",
    "1/2",
  ],
  [
    "ended",
    pod({}, { phase: "Succeeded", containerStatuses: [{ state: { terminated: { reason: "Completed" } } }] }),
    "Completed",
    "0/2",
  ],
  [
    "by a signal",
    pod({}, { phase: "Failed", containerStatuses: [{ state: { terminated: { signal: 9 } } }] }),
    "Signal:9",
    "0/2",
  ],
  [
    "by its code",
    pod({}, { phase: "Failed", containerStatuses: [{ state: { terminated: { exitCode: 3 } } }] }),
    "ExitCode:3",
    "0/2",
  ],
  [
    "one has ended and another runs",
    pod({}, { phase: "Running", containerStatuses: [{ state: { terminated: { reason: "Completed" } } }, running] }),
    "Running",
    "1/2",
  ],
  ["evicted", pod({}, { phase: "Failed", reason: "Evicted" }), "Evicted", "0/2"],
  [
    "gated",
    pod({}, { phase: "Pending", conditions: [{ type: "PodScheduled", reason: "SchedulingGated" }] }),
    "SchedulingGated",
    "0/2",
  ],
  [
    "starting",
    pod(
      { initContainers: [{ name: "i" }, { name: "j" }] },
      { phase: "Pending", initContainerStatuses: [{ name: "i", state: { running: {} } }] },
    ),
    "Init:0/2",
    "0/2",
  ],
  [
    "the start fails",
    pod(
      { initContainers: [{ name: "i" }] },
      { phase: "Pending", initContainerStatuses: [{ name: "i", state: { terminated: { exitCode: 2 } } }] },
    ),
    "Init:ExitCode:2",
    "0/2",
  ],
  [
    "with a sidecar",
    pod(
      { initContainers: [sidecar] },
      {
        phase: "Running",
        initContainerStatuses: [{ name: "side", started: true, ready: true, state: { running: {} } }],
        containerStatuses: [running],
      },
    ),
    "Running",
    "2/3",
  ],
  [
    "being deleted",
    pod({}, { phase: "Running", containerStatuses: [running, running] }, leaving),
    "Terminating",
    "2/2",
  ],
  ["its node is lost", pod({}, { phase: "Running", reason: "NodeLost" }, leaving), "Unknown", "0/2"],
  ["deleted after its end", pod({}, { phase: "Succeeded" }, leaving), "Succeeded", "0/2"],
  ["of an odd shape", pod({ containers: "x" }, { phase: "Pending", containerStatuses: [null, 3] }), "Pending", "0/0"],
])("a Pod: %s", (_name, one, reason, containers) => {
  expect(shown(one)).toMatchObject({ "Status Reason": reason, Containers: containers });
});

test("restarts are counted, and one that has ended asks for nothing", () => {
  const one = pod(
    { nodeName: "n" },
    { phase: "Running", containerStatuses: [{ ...running, restartCount: 2 }, { restartCount: 1 }] },
  );
  expect(shown(one)).toMatchObject({ "Restart Count": "3", Node: "n", cpu: "0", memory: "0" });
  expect(Object.keys(shown(pod({}, { phase: "Failed" })))).toEqual(["Status Reason", "Node", "Containers"]);
});

const asks = (cpu: string) => ({ resources: { requests: { cpu } } });
test.each<[string, object, number]>([
  ["the sum of the containers", { containers: [asks("100m"), asks("0.2")] }, 300],
  ["the largest step of the start", { containers: [asks("100m")], initContainers: [asks("1"), asks("500m")] }, 1_000],
  [
    "sidecars beside the containers",
    { containers: [asks("100m")], initContainers: [{ ...sidecar, ...asks("50m") }] },
    150,
  ],
  [
    "a step beside the sidecar before it",
    { containers: [asks("1m")], initContainers: [{ ...sidecar, ...asks("50m") }, asks("1")] },
    1_050,
  ],
  ["the overhead on top", { containers: [asks("100m")], overhead: { cpu: "10m" } }, 110],
  ["the Pod's own request", { containers: [asks("100m")], resources: { requests: { cpu: "2" } } }, 2_000],
])("requests: %s", (_name, spec, want) => {
  expect(podRequests(pod(spec, {})).cpu).toBe(want);
});

test.each<[unknown, number]>([
  ["250m", 250],
  ["1", 1_000],
  [2, 2_000],
  ["64Mi", 67_108_864_000],
  ["1.5Gi", 1_610_612_736_000],
  ["1k", 1_000_000],
  ["1e3", 1_000_000],
  ["1n", 1],
  ["0", 0],
  ["-1", -1_000],
  ["", 0],
  ["many", 0],
  ["9".repeat(99), 0],
  [undefined, 0],
])("thousandths of %p are %p", (quantity, want) => {
  expect(milli(quantity)).toBe(want);
});
