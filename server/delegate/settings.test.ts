import { readSettings } from "./settings.ts";

const given = { OUTPOST_ENDPOINT: "https://outpost.example.com", OUTPOST_WORK_DIR: "/w" };

test.each<[string, NodeJS.ProcessEnv, Record<string, unknown>]>([
  [
    "defaults",
    {},
    { listen: "127.0.0.1:3460", graceMs: 590_000, bounds: { memoryBytes: 2 ** 30, diskBytes: 2 ** 32, outputBytes: 2 ** 26 } },
  ],
  ["in a Pod", { POD_NAME: "d-0" }, { listen: "0.0.0.0:3460", instance: "d-0" }],
  [
    "names of other delegates",
    { OUTPOST_ENDPOINT: undefined, MANAGER_HOST_AND_PORT: "outpost.example.com:443", DELEGATE_NAME: "one", ACCOUNT_ID: "acme" },
    { endpoint: "https://outpost.example.com", name: "one", account: "acme" },
  ],
  [
    "bounds",
    { OUTPOST_TASK_MEMORY_MIB: "0", OUTPOST_TASK_DISK_MIB: "1" },
    { bounds: { memoryBytes: 0, diskBytes: 2 ** 20, outputBytes: 2 ** 26 } },
  ],
  ["grace", { OUTPOST_GRACE_SECONDS: "5" }, { graceMs: 5_000 }],
  ["more variables", { OUTPOST_TASK_ENV: "A, B_2," }, { taskEnv: ["A", "B_2"] }],
])("settings: %s", (_name, env, want) => {
  expect(readSettings({ ...given, ...env })).toMatchObject({ kind: "done", value: want });
});

test.each<[string, NodeJS.ProcessEnv, RegExp]>([
  ["no endpoint", { OUTPOST_ENDPOINT: "" }, /OUTPOST_ENDPOINT is not set/],
  ["a port that is none", { OUTPOST_LISTEN: "127.0.0.1:99999" }, /OUTPOST_LISTEN must be host:port/],
  ["no port", { OUTPOST_LISTEN: "localhost" }, /OUTPOST_LISTEN must be host:port/],
  ["a grace that is none", { OUTPOST_GRACE_SECONDS: "soon" }, /OUTPOST_GRACE_SECONDS must be a whole number/],
  ["the token for tasks", { OUTPOST_TASK_ENV: "PATH,DELEGATE_TOKEN" }, /would give the delegate's token to tasks/],
  ["a wrong name", { OUTPOST_TASK_ENV: "A=B" }, /no variable's name/],
  ["a wrong level", { OUTPOST_LOG_LEVEL: "loud" }, /OUTPOST_LOG_LEVEL/],
])("settings refused: %s", (_name, env, message) => {
  expect(readSettings({ ...given, ...env })).toMatchObject({ kind: "stop", message: expect.stringMatching(message) });
});

test("two folders on one machine give two instances", () => {
  const names = ["/a", "/b"].map((dir) => readSettings({ ...given, OUTPOST_WORK_DIR: dir }));
  expect(new Set(names.map((read) => read.kind === "done" && read.value.instance)).size).toBe(2);
});
