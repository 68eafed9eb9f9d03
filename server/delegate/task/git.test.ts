import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { which } from "../../../test/cluster/tools.ts";
import { type GitServer, startGit } from "../../../test/servers/git.ts";
import { type GitSshServer, startGitSsh } from "../../../test/servers/git-ssh.ts";
import { gitClone } from "../kinds/git/git-clone.ts";
import { shellRun } from "../kinds/script/shell-run.ts";
import { type KindBench, kindBench } from "../testing/kind.ts";
import { temporaryFolder } from "../testing/temporary.ts";

jest.setTimeout(30_000);
const dir = temporaryFolder();
const password = "pass'word $(x) 9f3k2";
let git: GitServer;
let bench: KindBench;

beforeAll(async () => {
  git = await startGit();
  await git.createRepository("open", { files: { "a.txt": "open" } });
  await git.createRepository("closed", { users: { robot: password }, files: { "a.txt": "closed" } });
  // A git that notes its arguments.
  mkdirSync(join(dir, "bin"));
  const script = `#!/bin/sh\nprintf '%s\\n' "$*" >> '${join(dir, "args")}'\nexec '${which("git")}' "$@"\n`;
  writeFileSync(join(dir, "bin/git"), script, { mode: 0o755 });
  bench = kindBench(join(dir, "a folder's name"), { PATH: `${join(dir, "bin")}:${process.env.PATH}` });
});
afterAll(() => git?.stop());

test("a login opens its repository, and stands in no list of processes and no log", async () => {
  const result = await bench.run(gitClone, { url: git.cloneUrl("closed"), username: "robot", password });
  expect(result).toMatchObject({ outcome: "succeeded", outputs: { commit: expect.stringMatching(/^[0-9a-f]{40}$/) } });
  expect(readFileSync(join(result.outputs!.path as string, "a.txt"), "utf8")).toBe("closed");
  expect(readFileSync(join(dir, "args"), "utf8") + result.log.join("\n")).not.toContain("9f3k2");
  expect(readFileSync(join(result.outputs!.path as string, ".git/config"), "utf8")).not.toContain("9f3k2");
});

test("a login is for its own host only", async () => {
  const other = await startGit();
  try {
    await other.createRepository("closed", { users: { robot: password } });
    const source = { git: { url: git.cloneUrl("closed"), username: "robot", password } };
    const script = `git -c credential.helper= ls-remote ${other.cloneUrl("closed")} && exit 9; exit 0`;
    expect(await bench.run(shellRun, { source, script })).toMatchObject({ outcome: "succeeded" });
  } finally {
    await other.stop();
  }
});

test.each<[string, object, RegExp]>([
  ["a wrong password", { username: "robot", password: "wrong password" }, /Authentication failed.*rejects this login/],
  ["no login", {}, /rejects this login/],
])("%s is told as such", async (_name, login, want) => {
  const result = await bench.run(gitClone, { url: git.cloneUrl("closed"), ...login });
  expect(result).toMatchObject({ outcome: "failed", reason: "FetchFailed", message: expect.stringMatching(want) });
});

test("a login that git cannot send, or that does not fit the address, is refused before anything runs", async () => {
  const twoLines = await bench.run(gitClone, {
    url: git.cloneUrl("closed"),
    username: "robot",
    password: "one\nhost=evil",
  });
  expect(twoLines).toMatchObject({ reason: "ParamsInvalid", message: expect.stringContaining("line break") });
  const ssh = await bench.run(gitClone, { url: "git@127.0.0.1:closed.git", password: "password" });
  expect(ssh).toMatchObject({ reason: "ParamsInvalid", message: expect.stringContaining("sshKey") });
});

test("a script works in its source: git, files, or an artefact of another task", async () => {
  const cloned = await bench.run(shellRun, { source: { git: { url: git.cloneUrl("open") } }, script: "cat a.txt" });
  expect(cloned.log).toContain("open");
  const files = { "d/e.txt": "text\n", "run.sh": "#!/bin/sh\necho ran > d/out" };
  const made = await bench.run(shellRun, {
    source: { files },
    script: "./run.sh",
    keep: [{ name: "d.tgz", path: "d" }],
  });
  expect(made).toMatchObject({ outcome: "succeeded" });
  const task = made.dir.split("/").at(-1)!.split(".")[0]!;
  const used = await bench.run(shellRun, { source: { artifact: { task, name: "d.tgz" } }, script: "cat e.txt out" });
  expect(used.log).toEqual(expect.arrayContaining(["text", "ran"]));
  expect(await bench.run(shellRun, { source: { artifact: { task, name: "none.tgz" } }, script: "true" })).toMatchObject(
    {
      outcome: "failed",
    },
  );
});

test("what is kept stays inside of the task's files, and must be there", async () => {
  writeFileSync(join(dir, "outside"), "not yours");
  const keep = [{ name: "x", path: "x" }];
  const link = await bench.run(shellRun, {
    source: { files: { a: "" } },
    script: `ln -s '${join(dir, "outside")}' x`,
    keep,
  });
  expect(link).toMatchObject({ outcome: "failed", reason: "PathRefused" });
  expect(await bench.run(shellRun, { script: "true", keep })).toMatchObject({
    outcome: "failed",
    reason: "PathNotFound",
  });
});

const sshd = [process.env.OUTPOST_SSHD, "/usr/sbin/sshd"].find((file) => file && existsSync(file));
const possible = sshd && process.getuid?.() === 0 ? describe : describe.skip;

possible("over SSH (skipped without sshd and root)", () => {
  let ssh: GitSshServer;
  beforeAll(async () => {
    ssh = await startGitSsh({
      root: git.root,
      sshd: sshd!,
      libraries: (process.env.OUTPOST_SSHD_LIBRARIES ?? "").split(":").filter(Boolean),
    });
  });
  afterAll(() => ssh?.stop());

  test("a key with its known host clones; an unknown host and a wrong key are refused with what to do", async () => {
    const key = await ssh.addKey("open");
    const url = ssh.cloneUrl("open");
    const sshKey = key.privateKey;
    const good = await bench.run(gitClone, { url, sshKey, knownHosts: ssh.knownHosts() });
    expect(good).toMatchObject({ outcome: "succeeded" });
    const unknown = await bench.run(gitClone, { url, sshKey, knownHosts: "" });
    expect(unknown).toMatchObject({ outcome: "failed", message: expect.stringMatching(/knownHosts/) });
    ssh.removeKey(key);
    const removed = await bench.run(gitClone, { url, sshKey, knownHosts: ssh.knownHosts() });
    expect(removed).toMatchObject({ outcome: "failed", message: expect.stringMatching(/sshKey/) });
    const none = await bench.run(gitClone, { url, sshKey: "no key at all", knownHosts: ssh.knownHosts() });
    expect(none).toMatchObject({ outcome: "failed", message: expect.stringMatching(/sshKey/) });
  });
});
