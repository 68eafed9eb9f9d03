import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask as askProvider } from "../../server/agent/appset/world/http.ts";
import { MemoryCache } from "../../server/agent/cache/memory.ts";
import { Charts } from "../../server/agent/repo/charts/charts.ts";
import { RegistryClient } from "../../server/agent/repo/charts/registry.ts";
import { RemoteValues } from "../../server/agent/repo/charts/remote-values.ts";
import { RepoService } from "../../server/agent/repo/service.ts";
import type { RepoAccess } from "../../server/agent/repo/types.ts";
import { normaliseUrl, redactUrl } from "../../server/agent/repo/url.ts";
import { Secret } from "../../server/base/secret.ts";
import { makeFetch } from "../../server/delegate/task/fetch.ts";
import { type GitServer, startGit } from "../servers/git.ts";

// What is told of an address: never what lets one in. Signed addresses have their secret in the query, others in front of the host or behind a #.
const CANARY = "canary-f00d";
const work = mkdtempSync(join(tmpdir(), "abuse-told-"));
let service: RepoService;
let git: GitServer;
let server: Server;
let at: string;
let answer = 404;
beforeAll(async () => {
  service = new RepoService({ folder: join(work, "repo"), cache: new MemoryCache() });
  await service.start();
  git = await startGit();
  await git.createRepository("closed", { users: { ana: "right" }, files: { a: "1" } });
  server = createServer((_, to) =>
    to
      .writeHead(answer, { location: `/elsewhere?X-Amz-Signature=${CANARY}` })
      .end(answer === 404 ? "" : `nothing for ${CANARY.slice(7)}`),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  at = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  service?.close();
  await git?.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(work, { recursive: true, force: true });
});

const ways: [string, (url: string) => Promise<unknown>][] = [
  ["git", (url) => service.refs({ url })],
  ["a chart", (url) => new Charts(join(work, "charts")).find({ url, type: "helm" }, "web", "1.0.0", "hard", false)],
  [
    "a registry",
    async (given) => {
      const url = given.replace(/^https?:/, "oci:");
      if (!RegistryClient.fits(url)) return "refused";
      const client = new RegistryClient({ url, type: "oci", forceHttp: true });
      const got = await client.manifest("1.0.0");
      await client.close();
      return got;
    },
  ],
  [
    "values",
    async (url) => {
      const remote = new RemoteValues(true);
      const got = await remote.get(url, true);
      await remote.close();
      return got;
    },
  ],
  ["a generator", (url) => askProvider(url)],
  [
    "a task",
    async (url) => {
      const { fetch, close } = makeFetch({ env: {}, caBundle: () => undefined, signal: new AbortController().signal });
      const got = await fetch(url, { redirect: "sameHost" });
      await close();
      // What a server answers is the task's own, and its log is masked.
      return (got as { kind: string }).kind === "done" ? "done" : got;
    },
  ],
];
const ADDRESSES: [string, (host: string) => string][] = [
  ["a password", (host) => `http://ana:${CANARY}@${host}/a`],
  ["a token for a name", (host) => `http://${CANARY}@${host}/a`],
  ["a password with an @", (host) => `http://ana:p@${CANARY}@${host}/a`],
  ["a password with quotes", (host) => `http://ana:'"${CANARY}@${host}/a`],
  ["a password with a slash", (host) => `http://ana:x/${CANARY}@${host}/a`],
  ["a password with a % too many", (host) => `http://ana:%${CANARY}@${host}/a`],
  ["a signature in the query", (host) => `http://${host}/a?X-Amz-Signature=${CANARY}&x=1`],
  ["a second part of the query", (host) => `http://${host}/a?x=1;sig=${CANARY}`],
  ["a token behind a #", (host) => `http://${host}/a#access_token=${CANARY}`],
  ["a password for another protocol", (host) => `ftp://ana:${CANARY}@${host}/a`],
  ["a password for ssh", (host) => `ssh://ana:${CANARY}@${host}/a`],
  ["a password in an address that is none", (host) => `http://ana:${CANARY}@${host}:x/a b`],
  ["a password in one that is too long", (host) => `http://ana:${CANARY}@${host}/${"a".repeat(3_000)}`],
];

test.each(ADDRESSES)("%s of an address is told by nobody, whatever comes of it", async (_, make) => {
  const wrong: string[] = [];
  for (const [status, host] of [
    [404, at],
    [302, at],
    [0, "127.0.0.1:9"],
    [0, "169.254.169.254"],
  ] as const) {
    answer = status || 404;
    for (const [name, way] of ways) {
      const got = await way(make(host)).catch((error: Error) => ({ thrown: error.message }));
      const text = JSON.stringify(got);
      if (text.includes(CANARY) || text.includes(encodeURIComponent(CANARY)) || text.includes('"thrown"'))
        wrong.push(`${name} ${status}: ${text}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("text around addresses stays what it was", () => {
  for (const text of [
    "mail ana@example.com",
    "https://github.com/a/b@v1",
    "git@github.com:a/b.git",
    "'https://h/a' and b@c",
    "a=b; c=d",
    "#1 of 2",
  ])
    expect(redactUrl(text)).toBe(text);
  expect(redactUrl("fatal: unable to access 'https://ana:pw@h/a/': x; try https://b@h/c?t=1#d=2")).toBe(
    "fatal: unable to access 'https://***@h/a/': x; try https://***@h/c?t=***#d=***",
  );
});

// By the square of their length the first would take twenty minutes.
test.each([
  "https://h/".concat("/".repeat(1_000_000), "x"),
  "x".repeat(1_000_000),
  "?".repeat(1_000_000),
  "a://".repeat(250_000),
  `a://${"@".repeat(1_000_000)}x`,
])("an address of a megabyte takes no longer than its length, case %#", (text) => {
  const began = process.cpuUsage();
  normaliseUrl(text);
  redactUrl(text);
  const { user, system } = process.cpuUsage(began);
  expect((user + system) / 1_000_000).toBeLessThan(20);
});

test("many at once who sign in as different people, some of them wrongly, get each what is theirs", async () => {
  const url = git.cloneUrl("closed");
  const access = (i: number): RepoAccess => ({
    url,
    username: "ana",
    password: new Secret(i % 3 === 0 ? "right" : `wrong-${i % 7}`),
  });
  const got = await Promise.all(Array.from({ length: 36 }, (_, i) => service.refs(access(i))));
  expect(got.map(({ kind }) => kind)).toEqual(got.map((_, i) => (i % 3 === 0 ? "done" : "stop")));
  for (const one of got) if (one.kind !== "done") expect(one.reason).toBe("AuthenticationFailed");
});
