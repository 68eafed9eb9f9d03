import { readSettings, withProxy } from "./settings.ts";

const given = { OUTPOST_ENDPOINT: "https://outpost.example.com", OUTPOST_WORK_DIR: "/w" };

test.each<[string, NodeJS.ProcessEnv, Record<string, unknown>]>([
  [
    "defaults",
    {},
    {
      listen: "127.0.0.1:3460",
      graceMs: 590_000,
      bounds: { memoryBytes: 2 ** 30, diskBytes: 2 ** 32, outputBytes: 2 ** 26, files: 1_000_000, processes: 1_024 },
      sandbox: "auto",
      tags: [],
    },
  ],
  ["in a Pod", { POD_NAME: "d-0" }, { listen: "0.0.0.0:3460", instance: "d-0" }],
  [
    "names of other delegates",
    {
      OUTPOST_ENDPOINT: undefined,
      MANAGER_HOST_AND_PORT: "outpost.example.com:443",
      DELEGATE_NAME: "one",
      ACCOUNT_ID: "acme",
    },
    { endpoint: "https://outpost.example.com", name: "one", account: "acme" },
  ],
  [
    "bounds",
    { OUTPOST_TASK_MEMORY_MIB: "0", OUTPOST_TASK_DISK_MIB: "1" },
    { bounds: { memoryBytes: 0, diskBytes: 2 ** 20, outputBytes: 2 ** 26, files: 1_000_000, processes: 1_024 } },
  ],
  [
    "tags, labels and type",
    { DELEGATE_TAGS: " linux, eu ,linux", OUTPOST_LABELS: "team:a", DELEGATE_TYPE: "HELM_DELEGATE" },
    { tags: ["linux", "eu", "team:a"], type: "HELM_DELEGATE" },
  ],
  ["type in ECS", { ECS_CONTAINER_METADATA_URI_V4: "http://169.254.170.2" }, { type: "ECS" }],
  ["capacity", { DELEGATE_TASK_CAPACITY: "3" }, { capacity: 3 }],
  ["levels of other programs", { LOGGING_LEVEL: "WARNING" }, { logLevel: "warn" }],
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
  ["a wrong name", { OUTPOST_TASK_ENV: "A=B" }, /not a variable's name/],
  ["a tag that is none", { DELEGATE_TAGS: "a b" }, /tag "a b"/],
  ["a capacity that is none", { DELEGATE_TASK_CAPACITY: "all" }, /DELEGATE_TASK_CAPACITY must be a whole number/],
  ["a sandbox that is none", { OUTPOST_SANDBOX: "yes" }, /OUTPOST_SANDBOX must be/],
  ["a wrong level", { OUTPOST_LOG_LEVEL: "loud" }, /OUTPOST_LOG_LEVEL/],
])("settings refused: %s", (_name, env, message) => {
  expect(readSettings({ ...given, ...env })).toMatchObject({ kind: "stop", message: expect.stringMatching(message) });
});

test("two folders on one machine give two instances", () => {
  const names = ["/a", "/b"].map((dir) => readSettings({ ...given, OUTPOST_WORK_DIR: dir }));
  expect(new Set(names.map((read) => read.kind === "done" && read.value.instance)).size).toBe(2);
});

test.each<[string, NodeJS.ProcessEnv, NodeJS.ProcessEnv]>([
  [
    "all of it",
    {
      PROXY_HOST: "proxy.corp",
      PROXY_PORT: "3128",
      PROXY_SCHEME: "HTTP",
      PROXY_USER: "me@corp",
      PROXY_PASSWORD: "a/b:c",
      NO_PROXY: ".corp",
    },
    {
      HTTPS_PROXY: "http://me%40corp:a%2Fb%3Ac@proxy.corp:3128",
      HTTP_PROXY: "http://me%40corp:a%2Fb%3Ac@proxy.corp:3128",
      NO_PROXY: ".corp",
    },
  ],
  [
    "not for the service",
    { PROXY_HOST: "p", PROXY_PORT: "1", PROXY_MANAGER: "false", OUTPOST_ENDPOINT: "https://outpost.example.com:8443" },
    { HTTPS_PROXY: "http://p:1", NO_PROXY: "outpost.example.com" },
  ],
  ["HTTPS_PROXY wins", { PROXY_HOST: "p", HTTPS_PROXY: "http://q:1" }, { HTTPS_PROXY: "http://q:1" }],
])("the proxy of other delegates is understood: %s", (_name, env, want) => {
  expect(withProxy(env)).toMatchObject(want);
});
