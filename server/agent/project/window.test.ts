import { parseCron } from "../../base/lang/cron.ts";
import { judgeWindows, type SyncWindow, windowsFor } from "./window.ts";

const app = { name: "shop", namespace: "web", server: "https://kubernetes.default.svc", clusterName: "in-cluster" };
const at = Date.parse("2026-03-04T10:30:20Z");
const window = (more: SyncWindow): SyncWindow => ({
  kind: "deny",
  schedule: "0 10 * * *",
  duration: "1h",
  applications: ["*"],
  ...more,
});

test.each<[string, SyncWindow[], string]>([
  ["none", [], "0 auto manual"],
  ["an active deny", [window({})], "1 - -"],
  ["an active deny that lets people", [window({ manualSync: true })], "1 - manual"],
  ["two denies, one lets nobody", [window({ manualSync: true }), window({})], "2 - -"],
  ["an active allow", [window({ kind: "allow" })], "1 auto manual"],
  ["an allow for later", [window({ kind: "allow", schedule: "0 12 * * *" })], "1 - -"],
  ["a deny beats an allow", [window({ kind: "allow" }), window({})], "2 - -"],
  ["of another application", [window({ applications: ["other*"] })], "0 auto manual"],
  ["by namespace", [window({ applications: [], namespaces: ["w?b"] })], "1 - -"],
  ["by the cluster's address", [window({ applications: [], clusters: ["https://kube*"] })], "1 - -"],
  ["all lists must fit", [window({ namespaces: ["other"], andOperator: true })], "0 auto manual"],
  ["no list fits nothing", [window({ applications: [] })], "0 auto manual"],
  ["in a zone", [window({ schedule: "0 16 * * *", timeZone: "Asia/Kolkata" })], "1 - -"],
  ["in a zone that the schedule names", [window({ schedule: "TZ=Asia/Kolkata 0 16 * * *" })], "1 - -"],
  ["in another, by its other name", [window({ schedule: "CRON_TZ=America/New_York 0 5 * * *" })], "1 - -"],
  ["where the schedule's zone has another hour", [window({ schedule: "TZ=Asia/Kolkata 0 10 * * *" })], "1 auto manual"],
  [
    "in the schedule's zone and the window's",
    [window({ schedule: "TZ=Asia/Tokyo 30 0 * * *", timeZone: "Asia/Kolkata" })],
    "1 - -",
  ],
  [
    "an empty zone is UTC, the local one ours",
    [window({ schedule: "TZ= 0 10 * * *" }), window({ schedule: "TZ=Local 0 10 * * *" })],
    "2 - -",
  ],
  ["an unknown zone is UTC", [window({ timeZone: "Middle/Earth" })], "1 - -"],
  ["by name of month and day", [window({ schedule: "30 10 * MAR wed" })], "1 - -"],
  ["a day of the month or of the week", [window({ schedule: "30 10 1 * wed" })], "1 - -"],
  ["ended a moment ago", [window({ schedule: "30 9 * * *" })], "1 auto manual"],
])("%s", (_name, windows, want) => {
  const got = judgeWindows(windows, app, at);
  expect(
    typeof got === "string"
      ? got
      : `${got.matching} ${got.canSyncAuto ? "auto" : "-"} ${got.canSyncManual ? "manual" : "-"}`,
  ).toBe(want);
});

test("at its first second a window is not open yet", () => {
  const one = [window({})];
  expect(judgeWindows(one, app, Date.parse("2026-03-04T10:00:00Z"))).toMatchObject({ canSyncAuto: true });
  expect(judgeWindows(one, app, Date.parse("2026-03-04T10:00:01Z"))).toMatchObject({ canSyncAuto: false });
});

test("a window over a change of the clocks is open by the clocks of the schedule's zone at either end", () => {
  const night = [window({ schedule: "TZ=Europe/Berlin 30 1 29 3 *", duration: "2h" })];
  expect(judgeWindows(night, app, Date.parse("2026-03-29T02:29:00Z"))).toMatchObject({ canSyncAuto: false });
  expect(judgeWindows(night, app, Date.parse("2026-03-29T02:31:00Z"))).toMatchObject({ canSyncAuto: true });
});

test("what began while it was allowed may end in a window with overrun", () => {
  const before = Date.parse("2026-03-04T09:50:00Z");
  expect(judgeWindows([window({ syncOverrun: true })], app, at, before)).toMatchObject({ canSyncAuto: true });
  expect(judgeWindows([window({})], app, at, before)).toMatchObject({ canSyncAuto: false });
  expect(judgeWindows([window({ syncOverrun: true })], app, at, at - 1_000)).toMatchObject({ canSyncAuto: false });
});

test.each([
  ["nonsense", /exactly 5 fields/],
  ["0 0 10 * * *", /found 6/],
  ["@daily", /exactly 5 fields/],
  ["60 * * * *", /outside/],
  ["* * * * 7", /outside/],
  ["5-1 * * * *", /beyond/],
  ["*/0 * * * *", /positive/],
  ["a * * * *", /parse/],
  ["TZ=Middle/Earth 0 10 * * *", /bad location Middle\/Earth/],
  ["TZ=Europe/Berlin", /found 0/],
  [" TZ=Europe/Berlin 0 10 * * *", /found 6/],
])("the schedule %j is refused", (text, why) => {
  expect(parseCron(text)).toMatch(why);
});

test("a broken window says so", () => {
  expect(judgeWindows([window({ duration: "1day" })], app, at)).toMatch(/cannot parse duration/);
  expect(judgeWindows([window({ schedule: "x" })], app, at)).toMatch(/cannot parse schedule/);
});

test("a project with many hostile patterns costs no more than a moment, and they hold a sync back", () => {
  const applications = Array.from({ length: 500 }, () => `${"*a".repeat(400)}b`);
  const denies = Array.from({ length: 20 }, () => ({
    kind: "deny",
    schedule: "* * * * *",
    duration: "1h",
    applications,
  }));
  const app = { name: "a".repeat(2_000), namespace: "n", server: "s", clusterName: "c" };
  const began = performance.now();
  expect(windowsFor(denies, app).length).toBeGreaterThan(15);
  expect(performance.now() - began).toBeLessThan(2_000);
});
