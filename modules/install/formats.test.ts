import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { renderDocker } from "./docker.ts";
import { powershellWord } from "./environment.ts";
import { installPs1 } from "./generated/install-ps1.ts";
import { installSh } from "./generated/install-sh.ts";
import { renderPowershell } from "./powershell.ts";
import { refusedForDelegate } from "./refused.ts";
import { renderShell } from "./shell.ts";
import type { InstallValues } from "./values.ts";

const values: InstallValues = {
  kind: "delegate",
  id: "prod",
  account: "default",
  namespace: "",
  endpoint: "https://o.example",
  token: "ot1_a_b_c",
  tags: ["x", "y"],
};
const EVIL = `'; touch /tmp/evil; echo "$(id)" \`id\` \\ $HOME '\n# @'@ ‘’`;

/** What a shell reads as the value of a variable that the script sets first. */
function settingOf(script: string, name: string): string {
  const settings = script.slice(script.indexOf("\nNAME="), script.indexOf("\nusage()"));
  return execFileSync("sh", ["-c", `${settings}\nprintf %s "$${name}"`], { encoding: "utf8" });
}

test("no value of the shell installer is read as code", () => {
  const script = renderShell({
    ...values,
    initScript: EVIL,
    caCertificate: EVIL,
    description: EVIL,
    httpsProxy: "http://p:1",
    noProxy: "a',b",
  });
  expect(settingOf(script, "INIT")).toBe(EVIL);
  expect(settingOf(script, "CA")).toBe(EVIL);
  expect(settingOf(script, "ENVIRONMENT").split("\n")).toEqual([
    "OUTPOST_ENDPOINT=https://o.example",
    "DELEGATE_NAME=prod",
    "ACCOUNT_ID=default",
    "DELEGATE_TAGS=x,y",
    `DELEGATE_DESCRIPTION=${EVIL.replaceAll(/\s+/g, " ")}`,
    "HTTPS_PROXY=http://p:1",
    "NO_PROXY=localhost,127.0.0.1,a',b",
  ]);
});

test.each([
  ["shell", renderShell],
  ["docker", renderDocker],
])("the script for %s is one that sh takes, whatever the values", (_, draw) => {
  const script = draw({ ...values, initScript: EVIL, caCertificate: EVIL, description: EVIL });
  execFileSync("sh", ["-n"], { input: script });
  expect(script.split("\n")[0]).toBe("#!/bin/sh");
});

test("users of delegates have names that systems take", () => {
  const user = (id: string) => settingOf(renderShell({ ...values, id }), "OWN_USER");
  expect(user("prod")).toBe("outpost-prod");
  const long = ["d".repeat(63), `${"d".repeat(62)}e`].map(user);
  expect(new Set(long).size).toBe(2);
  for (const name of long) expect(name).toMatch(/^[a-z][-a-z0-9]{1,31}$/);
});

/** There is no Windows and no PowerShell here: the text is reviewed, and this shows when it changes. */
test("the PowerShell installer has its settings as literals, after its parameters", () => {
  const script = renderPowershell({ ...values, initScript: "Write-Output 'x'", caCertificate: "PEM\n" });
  const settings = script.slice(script.indexOf("$Name ="), script.indexOf("\nif ($PSVersionTable"));
  expect(settings).toMatchInlineSnapshot(`
"$Name = 'outpost-delegate-prod'
$Token = 'ot1_a_b_c'
$Ca = 'PEM'
$Init = 'Write-Output ''x'''
$Environment = @(
  'OUTPOST_ENDPOINT=https://o.example',
  'DELEGATE_NAME=prod',
  'ACCOUNT_ID=default',
  'DELEGATE_TAGS=x,y'
)
"
`);
  expect(script.indexOf("param(")).toBeLessThan(script.indexOf("$Name ="));
});

test("no quote ends a literal of PowerShell", () => {
  expect(powershellWord("a'b‘c’d‚e‛")).toBe("'a''b‘‘c’’d‚‚e‛‛'");
});

test("the generated installers are the scripts", () => {
  for (const [file, text] of [
    ["install.sh", installSh],
    ["install.ps1", installPs1],
  ] as const)
    expect(readFileSync(new URL(`scripts/${file}`, import.meta.url), "utf8")).toBe(text);
});

test("braces, brackets and here-strings of the PowerShell installer are paired", () => {
  const [script, source, ...none] = [
    installPs1.replace(/@'\n[\s\S]*?\n'@/, ""),
    /@'\n([\s\S]*?)\n'@/.exec(installPs1)![1]!,
  ];
  expect(none).toEqual([]);
  for (const text of [script, source])
    for (const [open, close] of ["{}", "()"])
      expect([open, text.split(open!).length]).toEqual([open, text.split(close!).length]);
});

test.each([
  ["docker", "imagePullSecret", "regcred"],
  ["ecs", "permissions", "none"],
  ["shell", "replicas", 1],
  ["powershell", "existingSecret", "s"],
  ["kubernetes", "redisImage", "redis:7"],
] as const)("%s has no place for %s and says what to do instead", (format, field, value) => {
  const { namespace: _, ...given } = values;
  expect(refusedForDelegate(format, { ...given, [field]: value })).toEqual({
    field,
    why: expect.stringMatching(/: [^:]+\.$/),
  });
  expect(refusedForDelegate(format, given)).toBeUndefined();
});
