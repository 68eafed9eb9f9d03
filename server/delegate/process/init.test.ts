import { existsSync } from "node:fs";
import { join } from "node:path";
import { SILENT } from "../../link/log.ts";
import { temporaryFolder } from "../testing/temporary.ts";
import { runInit } from "./init.ts";

const dir = temporaryFolder();
const said: string[] = [];
const log = { ...SILENT, info: (_: object, message: string) => void said.push(message) };
const run = (script: string, deadlineMs = 10_000) =>
  runInit({
    script,
    workDir: dir,
    env: { PATH: process.env.PATH! },
    deadlineMs,
    log,
    signal: new AbortController().signal,
  });

test.each<[string, string, number, object]>([
  ["that ends well", "echo hello; touch made", 10_000, { kind: "done" }],
  ["that fails in its middle", "false\ntrue", 10_000, { kind: "stop", reason: "InitFailed", message: /exited with 1/ }],
  ["that does not end", "sleep 60", 300, { kind: "stop", reason: "InitFailed", message: /within 0.3 s/ }],
])("an init script %s is said", async (_name, script, ms, want) => {
  const message = (want as { message?: RegExp }).message;
  expect(await run(script, ms)).toMatchObject({
    ...want,
    ...(message ? { message: expect.stringMatching(message) } : {}),
  });
});

test("its output stands in the delegate's log, and it ran in the work folder", () => {
  expect(said).toContain("INIT_SCRIPT: hello");
  expect(existsSync(join(dir, "init", "made"))).toBe(true);
});
