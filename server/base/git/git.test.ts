import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gitEnvironment } from "./environment.ts";
import { type GitRefusal, gitRefusal } from "./refusal.ts";

const run = promisify(execFile);

test("git takes our configuration, and neither the machine's nor the user's", async () => {
  const home = await mkdtemp(join(tmpdir(), "outpost-git-home-"));
  try {
    await writeFile(join(home, ".gitconfig"), "[core]\n\thooksPath = /evil\n[user]\n\tname = Someone\n");
    const env = { PATH: process.env.PATH, HOME: home, ...gitEnvironment([["http.followRedirects", "false"]]) };
    const { stdout } = await run("git", ["config", "--list"], { cwd: home, env });
    expect(stdout.split("\n")).toEqual(
      expect.arrayContaining(["core.hookspath=/dev/null", "credential.helper=", "http.followredirects=false"]),
    );
    expect(stdout).not.toMatch(/evil|Someone/);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

test("only the protocols of the policy are there, and files where they are allowed", () => {
  expect(gitEnvironment().GIT_ALLOW_PROTOCOL).toBe("https:http:ssh");
  expect(gitEnvironment([], { local: true }).GIT_ALLOW_PROTOCOL).toBe("https:http:ssh:file");
});

test.each<[GitRefusal | undefined, string]>([
  ["hostKey", "Host key verification failed.\nfatal: Could not read from remote repository."],
  ["certificate", "fatal: unable to access 'https://h/r/': SSL certificate problem: self-signed certificate"],
  ["certificate", "fatal: unable to access 'https://h/r/': server certificate verification failed. CAfile: none"],
  ["sshKey", "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository."],
  ["login", "fatal: could not read Username for 'https://h': terminal prompts disabled"],
  ["login", "remote: Invalid username or password.\nfatal: Authentication failed for 'https://h/r/'"],
  ["login", "fatal: unable to access 'https://h/r/': The requested URL returned error: 403"],
  ["notFound", "fatal: repository 'https://h/r/' not found"],
  ["notFound", "fatal: '/srv/r.git' does not appear to be a git repository"],
  ["host", "fatal: unable to access 'https://h/r/': Could not resolve host: h"],
  ["connection", "ssh: connect to host h port 22: Connection refused\nfatal: Could not read from remote repository."],
  ["connection", "fatal: unable to access 'https://h/certificates/': Failed to connect to h port 443"],
  ["notGit", "fatal: https://h/r/info/refs not valid: is this a git repository?"],
  ["revision", "fatal: remote error: upload-pack: not our ref 0123"],
  ["revision", "fatal: couldn't find remote ref none"],
  [undefined, "fatal: early EOF"],
])("%s is known by git's words: %s", (want, stderr) => {
  expect(gitRefusal(stderr)).toBe(want);
});
