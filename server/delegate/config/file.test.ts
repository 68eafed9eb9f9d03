import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../testing/temporary.ts";
import { readConfig } from "./file.ts";

const dir = temporaryFolder();
let count = 0;
const read = (text: string, env: NodeJS.ProcessEnv = {}) => {
  const path = join(dir, `${++count}.yaml`);
  writeFileSync(path, text);
  return readConfig({ ...env, OUTPOST_CONFIG_FILE: path });
};

test("a file completes the environment; a variable that is set wins, by any of its names", () => {
  const got = read(
    `endpoint: https://file.example.com
name: one
tags: [linux, eu]
labels: { team: payments, tier: gold }
capacity: 3
bounds: { memoryMiB: 10, processes: 50 }
proxy: { url: "http://proxy:3128", noProxy: [a.test, .b.test] }
env: { REGION: eu, MINE: file }
taskEnv: [LANG]
tokenFile: /run/token
sources: { vault: { type: vault } }
`,
    { MANAGER_HOST_AND_PORT: "env.example.com", DELEGATE_NAME: "two", MINE: "env", DELEGATE_TOKEN: "t" },
  );
  if (got.kind !== "done") throw new Error(got.message);
  const { OUTPOST_CONFIG_FILE: _, ...env } = got.value.env;
  expect(env).toEqual({
    MANAGER_HOST_AND_PORT: "env.example.com",
    DELEGATE_NAME: "two",
    DELEGATE_TOKEN: "t",
    DELEGATE_TAGS: "linux,eu",
    OUTPOST_LABELS: "team:payments,tier:gold",
    DELEGATE_TASK_CAPACITY: "3",
    OUTPOST_TASK_MEMORY_MIB: "10",
    OUTPOST_TASK_PROCESSES: "50",
    HTTPS_PROXY: "http://proxy:3128",
    NO_PROXY: "a.test,.b.test",
    REGION: "eu",
    MINE: "env",
    OUTPOST_TASK_ENV: "LANG,REGION,MINE",
  });
  expect(got.value.sources).toEqual({ vault: { type: "vault" } });
});

test.each<[string, string, RegExp]>([
  ["a key that is not known", "endpont: x", /endpont is not a setting/],
  ["a key below a known one", "bounds: { memory: 5 }", /bounds\.memory is not a setting/],
  ["a value of another type", "capacity: many", /capacity must be a whole number/],
  ["a variable that says who the delegate is", "env: { OUTPOST_TOKEN: x }", /env\.OUTPOST_TOKEN is not a name/],
  ["a key twice", "name: a\nname: b", /must be unique/],
  ["a list", "- a", /must be a map/],
  ["aliases that grow", `a: &a [x,x]\nb: &b [${"*a,".repeat(30)}]\n`, /is not a setting|alias/],
  ["no YAML", "a: [", /delegate|yaml|Flow/],
])("a config file is refused: %s", (_name, text, message) => {
  let got: ReturnType<typeof read>;
  try {
    got = read(text);
  } catch (error) {
    throw new Error(`it must not throw: ${(error as Error).message}`);
  }
  expect(got).toMatchObject({ kind: "stop", message: expect.stringMatching(message) });
});

test("no file is fine where none was named, and said where one was", () => {
  expect(readConfig({ A: "b" }, join(dir, "none"))).toEqual({ kind: "done", value: { env: { A: "b" }, sources: {} } });
  expect(readConfig({ OUTPOST_CONFIG_FILE: join(dir, "none") })).toMatchObject({
    kind: "stop",
    reason: "ConfigUnreadable",
  });
});
