import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { which } from "../../../../test/cluster/tools.ts";
import { kindBench } from "../../testing/kind.ts";
import { temporaryFolder } from "../../testing/temporary.ts";
import { powershellArgs, powershellRun } from "./powershell-run.ts";

const dir = temporaryFolder();
const folder = (name: string, script?: string) => {
  mkdirSync(join(dir, name));
  if (script) writeFileSync(join(dir, name, "pwsh"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return join(dir, name);
};

test.each<[string, string | undefined, RegExp | undefined]>([
  ["where it is not installed", undefined, /^pwsh is not installed: install PowerShell 7/],
  ["where it does not start", "exit 131", /^pwsh is installed but does not start \(exit code 131\)/],
  ["where it answers", "echo PowerShell 7.4.6", undefined],
])("the capability %s", async (name, script, want) => {
  const why = await powershellRun.lacks({ PATH: `${folder(name, script)}:/usr/bin-none` });
  if (want) expect(why).toMatch(want);
  else expect(why).toBeUndefined();
  // The contract's length.
  expect((why ?? "").length).toBeLessThan(256);
});

test("the script is a file, without a profile and without prompts", async () => {
  expect(powershellArgs("/w/script.ps1")).toEqual([
    "-NoLogo",
    "-NoProfile",
    "-NonInteractive",
    "-File",
    "/w/script.ps1",
  ]);
  // Stands in for PowerShell only to note how it is started.
  const path = folder(
    "noted",
    'printf "%s\\n" "$@" > "$HOME/args"; echo "who=$WHO" >> "$OUTPOST_OUTPUT"; echo "$POWERSHELL_TELEMETRY_OPTOUT"',
  );
  const bench = kindBench(join(dir, "bench"), { PATH: `${path}:${process.env.PATH}` });
  const result = await bench.run(powershellRun, { script: "exit 0", env: { WHO: "me" } });
  expect(result).toMatchObject({ outcome: "succeeded", outputs: { who: "me", exitCode: 0 }, log: ["1"] });
  const args = readFileSync(join(result.dir, "home/args"), "utf8").trim().split("\n");
  expect(args).toEqual(powershellArgs(join(result.dir, "script.ps1")));
});

const real = which("pwsh") ? test : test.skip;

real("PowerShell itself runs a script (skipped without pwsh)", async () => {
  const script = '"a=$(1 + 1)" >> $env:OUTPOST_OUTPUT\nWrite-Output "hello"\nexit 3';
  const result = await kindBench(join(dir, "real")).run(powershellRun, { script });
  expect(result).toMatchObject({ outcome: "failed", outputs: { a: "2", exitCode: 3 } });
});
