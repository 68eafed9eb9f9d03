import { execFile } from "node:child_process";
import { createReadStream } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GitServer, signedIn, startGit } from "./git.ts";
import { cgiHead } from "./git-http.ts";
import { fastImport } from "./git-repo.ts";

let server: GitServer;
let work: string;

beforeAll(async () => {
  server = await startGit();
  work = await mkdtemp(join(tmpdir(), "git-test-"));
});
afterAll(async () => {
  await server.stop();
  await rm(work, { recursive: true, force: true });
});

const env: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  HOME: "/nonexistent",
  GIT_TERMINAL_PROMPT: "0",
  GIT_CONFIG_NOSYSTEM: "1",
};
const git = (...args: string[]) =>
  new Promise<{ code: number; out: string }>((resolve) => {
    execFile(
      "git",
      ["-c", "user.name=t", "-c", "user.email=t@t", ...args],
      { cwd: work, env, timeout: 120_000 },
      (error, out, err) => resolve({ code: error ? 1 : 0, out: out + err }),
    );
  });
const withLogin = (url: string, login: string) => url.replace("://", `://${login}@`);

test("a commit can be cloned, changed, deleted from and tagged", async () => {
  await server.createRepository("plain", {
    files: { "a.txt": "one\n", "dir/b c.txt": "two", "run.sh": { exec: "#!/bin/sh\n" } },
  });
  const second = await server.commit("plain", { "a.txt": null, "dir/b c.txt": "three" }, "second");
  await server.tag("plain", "v1", second, "release");
  await server.commit("plain", { "x.txt": "x" }, "on another branch", "feature");
  expect((await git("clone", "-q", server.cloneUrl("plain"), "plain")).code).toBe(0);
  expect(await readFile(join(work, "plain/dir/b c.txt"), "utf8")).toBe("three");
  expect((await git("-C", "plain", "ls-files", "-s")).out).toMatch(/100755 .*run\.sh/);
  expect((await git("-C", "plain", "ls-files")).out).not.toContain("a.txt");
  expect((await git("ls-remote", server.cloneUrl("plain"))).out).toMatch(
    /refs\/heads\/feature[\s\S]*refs\/heads\/main[\s\S]*refs\/tags\/v1\^\{\}/,
  );
  await server.deleteBranch("plain", "feature");
  expect((await git("ls-remote", server.cloneUrl("plain"))).out).not.toContain("feature");
});

test("the same content, parent and date give the same commit id", async () => {
  const ids = [];
  for (const name of ["same1", "same2"]) {
    await server.createRepository(name);
    ids.push(await server.commit(name, { f: "1" }, "m", "main", { date: 1_700_000_000 }));
  }
  expect(ids[0]).toBe(ids[1]);
});

test("a server started again on a kept folder has the same repositories", async () => {
  const root = join(work, "kept");
  const first = await startGit({ root });
  await first.createRepository("a", { files: { f: "1" } });
  const id = await first.commit("a", { f: "2" }, "second");
  await first.stop();
  const second = await startGit({ root, port: first.port });
  await second.createRepository("a", { files: { f: "1" } });
  expect((await git("ls-remote", second.cloneUrl("a"), "main")).out).toContain(id);
  await second.stop();
});

test("commits made at once all land", async () => {
  await server.createRepository("busy");
  await Promise.all(Array.from({ length: 8 }, (_, i) => server.commit("busy", { [`f${i}`]: `${i}` }, `c${i}`)));
  expect(await server.repository("busy").git("rev-list", "--count", "main")).toBe("8");
});

test("a repository with users refuses strangers and takes changed passwords", async () => {
  await server.createRepository("closed", { users: { ada: "one" }, files: { f: "1" } });
  const url = server.cloneUrl("closed");
  const before = server.refused();
  expect((await git("ls-remote", url)).code).toBe(1);
  expect((await git("ls-remote", withLogin(url, "ada:wrong"))).code).toBe(1);
  expect(server.refused()).toBeGreaterThanOrEqual(before + 2);
  expect((await git("ls-remote", withLogin(url, "ada:one"))).code).toBe(0);
  server.setPassword("closed", "ada", "two");
  expect((await git("ls-remote", withLogin(url, "ada:one"))).code).toBe(1);
  expect((await git("ls-remote", withLogin(url, "ada:two"))).code).toBe(0);
});

test("a push larger than git's post buffer streams through", async () => {
  await server.createRepository("push", { users: { ada: "one" } });
  const url = withLogin(server.cloneUrl("push"), "ada:one");
  await git("init", "-q", "-b", "main", "pusher");
  // Random bytes do not pack, so that the body is over http.postBuffer (1 MiB) and git sends it in chunks.
  await writeFile(
    join(work, "pusher/big"),
    await new Promise<Buffer>((done) => {
      const parts: Buffer[] = [];
      createReadStream("/dev/urandom", { end: 3 << 20 })
        .on("data", (part) => parts.push(part as Buffer))
        .on("end", () => done(Buffer.concat(parts)));
    }),
  );
  await git("-C", "pusher", "add", "big");
  await git("-C", "pusher", "commit", "-qm", "big");
  expect(await git("-C", "pusher", "push", "-q", url, "main")).toEqual({ code: 0, out: "" });
  expect(await server.repository("push").git("rev-parse", "main")).toBe(
    (await git("-C", "pusher", "rev-parse", "main")).out.trim(),
  );
});

test("many refs make git send a gzip body, and it is read", async () => {
  await server.createRepository("gzip");
  for (let i = 0; i < 24; i++) await server.commit("gzip", { f: `${i}` }, `c${i}`, `b${i}`);
  const trace = join(work, "trace");
  // A request body over 1 KiB is what git compresses; the trace proves that this one was.
  env.GIT_TRACE_CURL = trace;
  expect((await git("-c", "protocol.version=0", "clone", "-q", server.cloneUrl("gzip"), "gzip")).code).toBe(0);
  delete env.GIT_TRACE_CURL;
  expect((await readFile(trace, "utf8")).toLowerCase()).toContain("content-encoding: gzip");
  expect((await git("-C", "gzip", "branch", "-r")).out).toContain("origin/b11");
});

test("requests are counted for each repository", async () => {
  await server.createRepository("count", { files: { f: "1" } });
  await git("ls-remote", server.cloneUrl("count"));
  expect(server.requests("count")).toBeGreaterThan(0);
  expect(server.requests()).toBeGreaterThan(server.requests("count"));
});

test("faults: down answers 503, reset cuts, and none heals", async () => {
  await server.createRepository("faulty", { files: { f: "1" } });
  server.fault("down");
  expect((await git("ls-remote", server.cloneUrl("faulty"))).out).toContain("503");
  server.fault("reset");
  expect((await git("ls-remote", server.cloneUrl("faulty"))).code).toBe(1);
  server.fault("none");
  expect((await git("ls-remote", server.cloneUrl("faulty"))).code).toBe(0);
});

test("a path outside the known repositories is 404", async () => {
  const status = await new Promise((done) => {
    request(`${server.url}/../../etc/passwd.git/info/refs`, (answer) => done(answer.resume().statusCode)).end();
  });
  expect(status).toBe(404);
});

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString("base64")}`;
const users = new Map([["ada", "a:b"]]);
test.each([
  ["no users", undefined, new Map<string, string>(), "anonymous"],
  ["no header", undefined, users, undefined],
  ["password with a colon", basic("ada:a:b"), users, "ada"],
  ["wrong password", basic("ada:a"), users, undefined],
  ["unknown user", basic("eve:"), users, undefined],
  ["no user", basic(":a:b"), users, undefined],
  ["bearer", "Bearer abc", users, undefined],
])("sign-in: %s", (_, header, known, want) => expect(signedIn(header, known)).toBe(want));

test.each([
  ["incomplete", "Status: 404 Not Found\r\n", undefined],
  ["status", "Status: 404 Not Found\r\nX-A: b\r\n\r\nbody", { status: 404, headers: { "x-a": "b" }, rest: "body" }],
  ["no status is 200", "X-A: b:c\r\n\r\n", { status: 200, headers: { "x-a": "b:c" }, rest: "" }],
])("CGI head: %s", (_, given, want) => {
  const got = cgiHead(Buffer.from(given));
  expect(got && { ...got, rest: got.rest.toString() }).toEqual(want);
});

test("fast-import input quotes paths and counts bytes, not characters", () => {
  const got = fastImport("refs/heads/m", "p", { 'a"b': "é", gone: null, l: { link: "t" } }, "msg", {
    date: 1,
  }).toString();
  expect(got).toBe(
    "commit refs/heads/m\nauthor Test <test@example.com> 1 +0000\ncommitter Test <test@example.com> 1 +0000\ndata 3\nmsg\nfrom p\n" +
      'M 100644 inline "a\\"b"\ndata 2\né\nD "gone"\nM 120000 inline "l"\ndata 1\nt\n',
  );
});

test("a push makes a repository where that is allowed, for whoever may; nothing else does", async () => {
  const root = join(work, "pushed");
  const other = await startGit({ root, onPush: { users: { outpost: "secret" } } });
  try {
    await git("init", "-q", "-b", "main", "new");
    await git("-C", "new", "commit", "-q", "--allow-empty", "-m", "first");
    const url = withLogin(other.cloneUrl("new"), "outpost:secret");
    expect((await git("ls-remote", url)).code).toBe(1);
    expect((await git("-C", "new", "push", "-q", withLogin(other.cloneUrl("new"), "outpost:wrong"), "main")).code).toBe(
      1,
    );
    expect(await git("-C", "new", "push", "-q", url, "main")).toEqual({ code: 0, out: "" });
    expect((await git("ls-remote", url)).out).toMatch(/refs\/heads\/main/);
    for (const name of ["a/b", "-x", "A", "a.git"])
      expect(
        (await git("-C", "new", "push", "-q", withLogin(other.cloneUrl(name), "outpost:secret"), "main")).code,
      ).toBe(1);
    expect((await git("-C", "new", "push", "-q", server.cloneUrl("nowhere"), "main")).code).toBe(1);
  } finally {
    await other.stop();
  }
});
