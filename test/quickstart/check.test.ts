import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { which } from "../cluster/tools.ts";
import { freePort } from "../servers/run.ts";
import { atLeast, checkNodeVersion } from "./check.mjs";
import { applyNote, terraformErrors } from "./terraform.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = ".quickstart-check";

/** Runs the quickstart on a machine that has only these programs; it must end before it changes anything. */
async function onMachineWith(
  programs: string[],
  args: string[],
  more: Record<string, string> = {},
): Promise<{ exit: number | null; said: string }> {
  const bin = await mkdtemp(join(tmpdir(), "machine-"));
  try {
    for (const program of programs) await symlink(which(program)!, join(bin, program));
    // Programs of sbin are found without PATH; what is asked for here is not among them.
    const env = { PATH: bin, HOME: bin, OUTPOST_QUICKSTART: FOLDER, OUTPOST_DOWNLOADS: "off", NO_COLOR: "1", ...more };
    return await new Promise((resolve) => {
      const child = execFile(process.execPath, [join(root, "test/quickstart.mjs"), ...args], { env }, (_, out, err) =>
        resolve({ exit: child.exitCode, said: out + err }),
      );
    });
  } finally {
    await rm(bin, { recursive: true });
  }
}
afterEach(() => expect(existsSync(join(root, FOLDER))).toBe(false));

test("what is missing is named, each with what to do, before anything is changed", async () => {
  const { exit, said } = await onMachineWith(["npm"], ["--port", String(await freePort())]);
  expect(exit).toBe(1);
  expect(said).toContain("nothing has been changed");
  for (const part of [
    "missing  git",
    "missing  terraform",
    "missing  unshare",
    "missing  Go 1.26",
    "https://go.dev/dl",
    "apt-get install util-linux",
  ])
    expect(said).toContain(part);
});

test("a taken port is named with the next one to try", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const { said } = await onMachineWith(["npm", "git"], ["--port", String(port)]);
  server.close();
  expect(said).toContain(`port ${port} of 127.0.0.1; another program has it`);
  expect(said).toContain(`npm run quickstart -- --port ${port + 1}`);
});

test("a cluster of one's own needs an address and an image, not root", async () => {
  const { said } = await onMachineWith(["npm", "git"], ["--kubeconfig", "/nonexistent"]);
  for (const part of ["missing  --address", "missing  --image", "missing  the file /nonexistent", "missing  kubectl"])
    expect(said).toContain(part);
  expect(said).not.toContain("unshare");
});

test.each([
  [["--port", "many"], "--port takes a number"],
  [["--frobnicate"], "Unknown option"],
])("%j is a usage error", async (args, text) => {
  const { exit, said } = await onMachineWith([], args);
  expect([exit, said]).toEqual([2, expect.stringContaining(text)]);
  expect(said).toContain("npm run quickstart -- --down");
});

test("--down where nothing is has nothing to do", async () => {
  expect(await onMachineWith([], ["--down"])).toEqual({
    exit: 0,
    said: "Nothing to remove: the quickstart has not run here.\n",
  });
});

test.each([
  ["20.19.0", 0],
  ["20.18.9", 1],
  ["18.20.0", 1],
  ["22.1.0", 0],
])("Node %s", (version, lacks) => expect(checkNodeVersion(version)).toHaveLength(lacks));

test.each([
  ["1.11.4", [1, 11], true],
  ["1.9", [1, 11], false],
  ["2", [1, 11], true],
] as const)("atLeast %s %j", (text, least, want) => expect(atLeast(text, least)).toBe(want));

test("what Terraform says becomes one line of progress", () => {
  const note = applyNote();
  const said = [
    "module.agent.outpost_agent.agent: Creating...",
    "module.agent.outpost_agent.agent: Creation complete after 0s [id=prod]",
    "helm_release.x: Creating...",
    "helm_release.x: Still creating... [00m10s elapsed]",
    "Plan: 3 to add",
  ].map(note);
  expect(said).toEqual([
    "0 done, now agent.outpost_agent.agent",
    "1 done",
    "1 done, now helm_release.x",
    "1 done, now helm_release.x 00m10s",
    undefined,
  ]);
});

test("Terraform's errors are told without their frames", () => {
  expect(terraformErrors("Plan: 1\n╷\n│ Error: no\n│ \n│   with a.b\n╵\n")).toBe("Error: no\n\n  with a.b");
});
