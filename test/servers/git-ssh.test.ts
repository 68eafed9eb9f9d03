import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GitServer, startGit } from "./git.ts";
import { type GitSshServer, keyLine, type SshKey, startGitSsh, users } from "./git-ssh.ts";

test.each([
  [
    "root:x:0:0::/root:/bin/sh\nsshd:x:1:1::/:/x\n",
    0,
    "root:x:0:0::/root:/bin/sh\nsshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\ngit:*:0:0::/:/bin/sh\n",
  ],
])("users of %j", (given, uid, want) => expect(users(given, uid)).toBe(want));

test("a forced command has no place for a shell's signs", () => {
  expect(keyLine("ssh-ed25519 A c", "/s.sh", ["/root", "app"])).toBe(
    'restrict,command="sh /s.sh /root app" ssh-ed25519 A c\n',
  );
  expect(() => keyLine("k", "/s.sh", ["a;b"])).toThrow(/a;b/);
});

const sshd = [process.env.OUTPOST_SSHD, "/usr/sbin/sshd"].find((file) => file && existsSync(file));
const possible = sshd && process.getuid?.() === 0 ? describe : describe.skip;

possible("Git over SSH", () => {
  let git: GitServer;
  let ssh: GitSshServer;
  let work: string;
  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), "ssh-test-"));
    git = await startGit();
    await git.createRepository("one", { files: { f: "1" } });
    await git.createRepository("two", { files: { f: "2" } });
    ssh = await startGitSsh({
      root: git.root,
      sshd: sshd!,
      libraries: (process.env.OUTPOST_SSHD_LIBRARIES ?? "").split(":").filter(Boolean),
    });
  });
  afterAll(async () => {
    await ssh?.stop();
    await git?.stop();
    await rm(work, { recursive: true, force: true });
  });

  const clone = async (key: SshKey, name: string, knownHosts = ssh.knownHosts()) => {
    await writeFile(join(work, "key"), key.privateKey, { mode: 0o600 });
    await writeFile(join(work, "known"), knownHosts);
    const command = `ssh -F none -i ${work}/key -o IdentitiesOnly=yes -o BatchMode=yes -o UserKnownHostsFile=${work}/known -o StrictHostKeyChecking=yes`;
    await rm(join(work, "clone"), { recursive: true, force: true });
    return new Promise<string>((resolve) => {
      const env = { PATH: process.env.PATH, HOME: "/nonexistent", GIT_SSH_COMMAND: command };
      execFile(
        "git",
        ["clone", "-q", ssh.cloneUrl(name), join(work, "clone")],
        { env, timeout: 120_000 },
        (_, __, said) => resolve(said),
      );
    });
  };

  test("a key clones what it may, and pushes", async () => {
    const key = await ssh.addKey("one");
    expect(await clone(key, "one")).toBe("");
    expect(await readFile(join(work, "clone/f"), "utf8")).toBe("1");
    expect(await clone(key, "two")).toContain("this key may not read two");
    expect(await clone(key, "../etc")).toContain("no such repository");
  });
  test("a removed key is refused", async () => {
    const key = await ssh.addKey();
    expect(await clone(key, "two")).toBe("");
    ssh.removeKey(key);
    expect(await clone(key, "two")).toContain("Permission denied");
  });
  test("an unknown host key stops the client", async () => {
    expect(await clone(await ssh.addKey(), "one", "")).toContain("Host key verification failed");
  });
  test("a key gives no shell", async () => {
    const key = await ssh.addKey();
    await writeFile(join(work, "key"), key.privateKey, { mode: 0o600 });
    await writeFile(join(work, "known"), ssh.knownHosts());
    const options = [
      "-F",
      "none",
      "-i",
      `${work}/key`,
      "-o",
      "BatchMode=yes",
      "-o",
      `UserKnownHostsFile=${work}/known`,
      "-p",
      `${ssh.port}`,
    ];
    expect(() => execFileSync("ssh", [...options, "git@127.0.0.1", "id"], { stdio: "pipe" })).toThrow(
      /only git is served here/,
    );
  });
});
