import { allowedFrom } from "./next.ts";
import type { SyncWindow } from "./window.ts";

const app = { name: "shop", namespace: "web", server: "https://kubernetes.default.svc", clusterName: "in-cluster" };
const at = Date.parse("2026-03-04T10:30:20Z");
const window = (more: SyncWindow): SyncWindow => ({
  kind: "deny",
  schedule: "0 10 * * *",
  duration: "1h",
  applications: ["*"],
  ...more,
});

test.each<[string, SyncWindow[], boolean, string | undefined]>([
  ["a deny ends", [window({})], false, "2026-03-04T11:00:00.000Z"],
  [
    "two denies in a row",
    [window({}), window({ schedule: "59 10 * * *", duration: "2h" })],
    false,
    "2026-03-04T12:59:00.000Z",
  ],
  ["an allow begins", [window({ kind: "allow", schedule: "0 12 * * *" })], false, "2026-03-04T12:00:00.001Z"],
  ["an allow of next Monday", [window({ kind: "allow", schedule: "0 8 * * 1" })], false, "2026-03-09T08:00:00.001Z"],
  [
    "an allow in a zone",
    [window({ kind: "allow", schedule: "0 18 * * *", timeZone: "Asia/Kolkata" })],
    false,
    "2026-03-04T12:30:00.001Z",
  ],
  [
    "an allow in the schedule's zone",
    [window({ kind: "allow", schedule: "TZ=Asia/Kolkata 0 18 * * *" })],
    false,
    "2026-03-04T12:30:00.001Z",
  ],
  ["an allow of next month", [window({ kind: "allow", schedule: "0 8 1 4 *" })], false, undefined],
  ["a deny for ever", [window({ schedule: "* * * * *", duration: "24h" })], false, undefined],
])("%s", (_name, windows, manual, want) => {
  const found = allowedFrom(windows, app, at, manual);
  expect(found === undefined ? undefined : new Date(found).toISOString()).toBe(want);
});
