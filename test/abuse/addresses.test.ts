import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ask as askProvider } from "../../server/agent/appset/world/http.ts";
import { MemoryCache } from "../../server/agent/cache/memory.ts";
import { Repositories } from "../../server/agent/controller/config/repositories.ts";
import { Destinations } from "../../server/agent/controller/destination.ts";
import { Charts } from "../../server/agent/repo/charts/charts.ts";
import { RegistryClient } from "../../server/agent/repo/charts/registry.ts";
import { RemoteValues } from "../../server/agent/repo/charts/remote-values.ts";
import { RepoService } from "../../server/agent/repo/service.ts";
import type { RepoAccess } from "../../server/agent/repo/types.ts";
import { isLoopback, isMetadata, refusedFrom, resolver } from "../../server/base/cloud/address.ts";
import type { Outcome } from "../../server/base/outcome.ts";
import { Secret } from "../../server/base/secret.ts";
import { gitClone } from "../../server/delegate/kinds/git/git-clone.ts";
import { makeFetch } from "../../server/delegate/task/fetch.ts";
import { kindBench } from "../../server/delegate/testing/kind.ts";
import { KubeClient } from "../../server/kube/client.ts";
import { type GitServer, startGit } from "../servers/git.ts";

// A name of public DNS, one that only a machine's operator can give, and addresses that must not be reached.
const PUBLIC = "git.public.example.com";
const PRIVATE = "rebind.test";
const METADATA = "169.254.169.254";
const PASSWORD = "canary-credential";

type Answer = (asked: IncomingMessage, answer: ServerResponse) => void;
const servers: Server[] = [];
/** A server that counts who comes; as a proxy it answers itself for every name, when it makes tunnels. */
async function serve(handle: Answer, tunnels = false): Promise<{ url: string; port: number; seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((asked, answer) => {
    seen.push(`${asked.method} ${asked.url} ${asked.headers.authorization ?? "-"}`);
    handle(asked, answer);
  });
  server.on("connect", (asked, socket) => {
    seen.push(`CONNECT ${asked.url}`);
    if (!tunnels) return void socket.end("HTTP/1.1 502 no\r\n\r\n");
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    server.emit("connection", socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  servers.push(server);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, seen };
}

/** Answers of names, one after the other; the last one stays. */
const names = new Map<string, string[][]>();
let asked: string[] = [];
const real = { lookup: resolver.lookup, connect: Socket.prototype.connect };
let forbidden: string[] = [];

const work = mkdtempSync(join(tmpdir(), "addresses-"));
let service: RepoService;
let git: GitServer;
let inner: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  resolver.lookup = ((host: string, _options: unknown, give: (error: Error | null, found?: object[]) => void) => {
    asked.push(host);
    const answers = names.get(host);
    const now = answers && (answers.length > 1 ? answers.shift()! : answers[0]!);
    if (!now) return void give(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }));
    give(
      null,
      now.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  }) as typeof resolver.lookup;
  // Every connection that this process begins, in whatever part.
  Socket.prototype.connect = function connect(this: Socket, ...args: unknown[]) {
    const flat = args.flat() as { host?: string }[];
    const host = flat.find((one) => one && typeof one === "object" && typeof one.host === "string")?.host;
    if (host && isMetadata(host)) forbidden.push(host);
    return (real.connect as (...given: unknown[]) => Socket).apply(this, args);
  } as typeof Socket.prototype.connect;
  service = new RepoService({ folder: join(work, "repo"), cache: new MemoryCache() });
  await service.start();
  git = await startGit();
  await git.createRepository("open", { files: { a: "1" } });
  await git.createRepository("closed", { users: { ana: PASSWORD }, files: { a: "1" } });
  inner = await serve((_, answer) => answer.end("inner"));
});
beforeEach(() => {
  names.clear();
  asked = [];
  forbidden = [];
  inner.seen.length = 0;
});
afterEach(() => {
  expect(forbidden).toEqual([]);
  expect(inner.seen).toEqual([]);
});
afterAll(async () => {
  resolver.lookup = real.lookup;
  Socket.prototype.connect = real.connect;
  service?.close();
  await git?.stop();
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  rmSync(work, { recursive: true, force: true });
});

const said = (outcome: Outcome<unknown>) => (outcome.kind === "done" ? "done" : `${outcome.kind} ${outcome.reason}`);
const refs = (url: string, more: Partial<RepoAccess> = {}) => service.refs({ url, ...more }).then(said);
const chartOf = (url: string, more: Partial<RepoAccess> = {}, pass = false) =>
  new Charts(join(work, "charts")).find({ url, type: "helm", ...more }, "web", "1.0.0", "hard", pass).then(said);
async function registry(url: string, more: Partial<RepoAccess> = {}): Promise<string> {
  if (!RegistryClient.fits(url)) return "stop RepositoryUrlRefused";
  const client = new RegistryClient({ url, type: "oci", forceHttp: true, ...more });
  const got = await client.manifest("1.0.0");
  await client.close();
  return said(got);
}
async function values(url: string): Promise<string> {
  const remote = new RemoteValues();
  const got = await remote.get(url, true);
  await remote.close();
  return said(got);
}
async function task(url: string): Promise<string> {
  const { fetch, close } = makeFetch({ env: {}, caBundle: () => undefined, signal: new AbortController().signal });
  const got = await fetch(url, { redirect: "sameHost", headers: { authorization: PASSWORD } });
  await close();
  return said(got);
}
async function clone(url: string): Promise<string> {
  const result = await kindBench(mkdtempSync(join(work, "task-")), {}).run(gitClone, { url });
  return `${result.outcome === "succeeded" ? "done" : "stop"} ${result.reason ?? ""}`.trim();
}
async function cluster(server: string): Promise<string> {
  const client = new KubeClient({ server, namespace: "default", token: async () => new Secret(PASSWORD) });
  const got = await client.json("GET", "/version");
  await client.close();
  return said(got);
}
const provider = (url: string) => askProvider(url, { headers: { authorization: PASSWORD } }).then(said);

const FORMS = [
  METADATA,
  "2852039166",
  "0xa9fea9fe",
  "0251.0376.0251.0376",
  "169.254.43518",
  "169.254.169.254.",
  "①⑥⑨.254.169.254",
  "[::ffff:169.254.169.254]",
  "[::ffff:a9fe:a9fe]",
  "[::169.254.169.254]",
  "[64:ff9b::169.254.169.254]",
  "[64:ff9b:1::a9fe:a9fe]",
  "[2002:a9fe:a9fe::]",
  "[fe80::1]",
  "[fd00:ec2::254]",
  "[fd20:ce::254]",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "169.254.170.2",
  "metadata.google.internal",
];

test.each(FORMS)("%s is asked by nobody", async (host) => {
  const got = {
    git: await refs(`http://${host}/a.git`),
    chart: await chartOf(`http://${host}/charts`),
    registry: await registry(`oci://${host}/charts/web`),
    values: await values(`http://${host}/values.yaml`),
    provider: await provider(`http://${host}/api`),
    task: await task(`http://${host}/`),
    clone: await clone(`http://${host}/a.git`),
  };
  const refused = "stop RepositoryUrlRefused";
  expect(got).toEqual({
    git: refused,
    chart: refused,
    registry: refused,
    values: refused,
    provider: "stop ProviderRefused",
    task: "stop AddressRefused",
    clone: "stop AddressRefused",
  });
});

test.each([
  `ssh://git@${METADATA}/a`,
  `git@${METADATA}:a`,
  "ssh://git@[::ffff:a9fe:a9fe]/a",
  "ssh://git@2852039166/a",
  "git@0xa9fea9fe:a",
])("%s is refused before ssh is started", async (url) => {
  for (const host of ["2852039166", "0xa9fea9fe"]) names.set(host, [[METADATA]]);
  expect(await refs(url)).toBe("stop RepositoryUrlRefused");
});

test.each(["fe80::1%eth0", "[fe80::1%25lo]", "::ffff:0:169.254.169.254", "::ffff:0:a9fe:a9fe"])(
  "%s is metadata, with its zone",
  (address) => expect(isMetadata(address)).toBe(true),
);
test.each([
  "::1",
  "::",
  "[::1]",
  "::ffff:127.0.0.1",
  "::127.0.0.1",
  "64:ff9b::7f00:1",
  "2002:7f00:1::",
  "0.0.0.0",
  "127.9.9.9",
])("%s is this machine", (address) =>
  expect([isLoopback(address), refusedFrom(PUBLIC)(address), refusedFrom("127.0.0.1")(address)]).toEqual([
    true,
    true,
    false,
  ]),
);

test.each([
  "file:///etc/passwd",
  "ext::sh -c id",
  "fd::3",
  "--upload-pack=id",
  "-oProxyCommand=id",
  "ssh://-oProxyCommand=id/a",
  "git@-oProxyCommand=id:a",
  "git://127.0.0.1/a",
  "ftp://127.0.0.1/a",
  "gopher://127.0.0.1/a",
  "http://127.0.0.1/a\n--x",
  "http://127.0.0.1/a b",
  "http://127.0.0.1/\u0000",
])("%j is not an address of a repository, a chart or values", async (url) => {
  expect([await refs(url), await chartOf(url), await registry(url)]).toEqual(
    Array(3).fill("stop RepositoryUrlRefused"),
  );
  if (!url.startsWith("http:")) expect(await values(url)).toBe("stop RepositoryUrlRefused");
});

describe("a name", () => {
  test.each([[[METADATA]], [["::ffff:a9fe:a9fe"]], [["64:ff9b::a9fe:a9fe", METADATA]], [["127.0.0.1"]], [["::1"]]])(
    "of public DNS that leads to %j is refused",
    async (addresses) => {
      names.set(PUBLIC, [addresses]);
      const at = `http://${PUBLIC}:${inner.port}`;
      expect(await refs(`${at}/a.git`)).toBe("stop RepositoryUrlRefused");
      expect(await refs(`ssh://git@${PUBLIC}/a`)).toBe("stop RepositoryUrlRefused");
      expect(await chartOf(at)).toBe("stop RepositoryUrlRefused");
      expect(await registry(`oci://${PUBLIC}:${inner.port}/web`)).toBe("stop RepositoryUrlRefused");
      expect(await values(`${at}/values.yaml`)).toBe("stop RepositoryUrlRefused");
      expect(await provider(at)).toBe("stop ProviderRefused");
      if (addresses.every(isMetadata)) {
        expect(await task(at)).toBe("stop AddressRefused");
        expect(await clone(`${at}/a.git`)).toBe("stop AddressRefused");
        expect(await cluster(at)).toMatch(/KubeUnavailable|Unavailable|Unreachable/);
      }
    },
  );
  test("is looked up once: git connects to what was looked at, and the next time to nobody when that has changed", async () => {
    const { port } = new URL(git.cloneUrl("open"));
    const url = git.cloneUrl("open").replace("127.0.0.1", PRIVATE);
    names.set(PRIVATE, [["127.0.0.1"], [METADATA]]);
    expect(port).not.toBe("");
    expect(await refs(url)).toBe("done");
    expect(asked).toEqual([PRIVATE]);
    expect(await refs(url)).toBe("stop RepositoryUrlRefused");
  });
  test("is looked up once by every other way out, too", async () => {
    const open = await serve((_, answer) => void answer.writeHead(404).end("{}"));
    const at = `http://${PRIVATE}:${open.port}`;
    for (const way of [chartOf, provider, task, cluster]) {
      names.set(PRIVATE, [["127.0.0.1"], [METADATA]]);
      asked = [];
      await way(at);
      expect([asked.length, open.seen.splice(0).length]).toEqual([1, 1]);
      expect(await way(at)).toMatch(/Refused|navailable/);
      expect(open.seen).toEqual([]);
    }
    names.set(PRIVATE, [["127.0.0.1"], [METADATA]]);
    await clone(git.cloneUrl("open").replace("127.0.0.1", PRIVATE));
    expect(await clone(git.cloneUrl("open").replace("127.0.0.1", PRIVATE))).toBe("stop AddressRefused");
  });
  test("with good and bad addresses is asked at the good ones alone", async () => {
    names.set(PRIVATE, [[METADATA, "127.0.0.1"]]);
    expect(await refs(git.cloneUrl("open").replace("127.0.0.1", PRIVATE))).toBe("done");
  });
});

describe("who redirects", () => {
  // A public host is played by a proxy, which answers for unknown names.
  const to = (location: string) => serve((_, answer) => void answer.writeHead(302, { location }).end());
  const REFS = "/info/refs?service=git-upload-pack";
  test.each([
    `http://${METADATA}/a.git${REFS}`,
    "file:///etc/passwd",
    `http://[::ffff:a9fe:a9fe]/a.git${REFS}`,
    `http://user:pass@x.test${REFS}`,
  ])("to %s leads nobody there", async (location) => {
    const { url } = await to(location);
    expect(await refs(`${url}/a.git`)).toBe("stop RepositoryUrlRefused");
    expect(await chartOf(url)).toBe("stop RepositoryUrlRefused");
    expect(await registry(`oci://${new URL(url).host}/web`)).toBe("stop RepositoryUrlRefused");
    expect(await provider(url)).toBe("stop ProviderRefused");
    expect(await task(url)).toBe("stop RedirectRefused");
  });
  test("from a public host to this machine is refused", async () => {
    const proxy = await serve(
      (_, answer) => void answer.writeHead(302, { location: `${inner.url}/a.git${REFS}` }).end(),
      true,
    );
    expect(await refs(`http://${PUBLIC}/a.git`, { proxy: proxy.url })).toBe("stop RepositoryUrlRefused");
    expect(await chartOf(`http://${PUBLIC}`, { proxy: proxy.url })).toBe("stop RepositoryUrlRefused");
    expect(await registry(`oci://${PUBLIC}/web`, { proxy: proxy.url })).toBe("stop RepositoryUrlRefused");
    expect(proxy.seen.length).toBeGreaterThan(2);
  });
  test("to another host gets no credentials there", async () => {
    const other = await serve((_, answer) => void answer.writeHead(404).end());
    const moved = (path = "") => to(`${other.url}${path}`);
    const signedIn = { username: "ana", password: new Secret(PASSWORD) };
    const from = await moved(`/a.git${REFS}`);
    await refs(`${from.url}/a.git`, signedIn);
    await chartOf((await moved("/index.yaml")).url, signedIn);
    await registry(`oci://${new URL((await moved("/v2/")).url).host}/web`, signedIn);
    await task((await moved()).url);
    await provider((await moved()).url);
    expect(other.seen.length).toBeGreaterThan(1);
    expect(other.seen.filter((line) => !line.endsWith(" -"))).toEqual([]);
  });
});

describe("an index of charts", () => {
  const index = (url: string) =>
    `apiVersion: v1\nentries:\n  other:\n  - version: 1.0.0\n    urls: [x]\n  web:\n  - version: 1.0.0\n    urls: ["${url}"]\n`;
  test.each([
    `http://${METADATA}/web.tgz`,
    `oci://${METADATA}/web:1.0.0`,
    "file:///etc/passwd",
    `http://[64:ff9b::a9fe:a9fe]/web.tgz`,
  ])("that names %s leads nobody there", async (url) => {
    const { url: at } = await serve((_, answer) => answer.end(index(url)));
    expect(await chartOf(at)).toBe("stop RepositoryUrlRefused");
  });
  test("that names another host sends no password there, unless the application passes it on", async () => {
    const other = await serve((_, answer) => answer.end(gzipSync(Buffer.alloc(1024))));
    const { url } = await serve((_, answer) => answer.end(index(`${other.url}/web.tgz`)));
    const signedIn = { username: "ana", password: new Secret(PASSWORD) };
    await chartOf(url, signedIn);
    expect(other.seen).toEqual(["GET /web.tgz -"]);
    await chartOf(url, signedIn, true);
    expect(other.seen[1]).toMatch(/Basic /);
  });
});

test("a registry that names a place for tokens gets nobody there, and no password to another host", async () => {
  const signedIn = { username: "ana", password: new Secret(PASSWORD) };
  const other = await serve((_, answer) => answer.end("{}"));
  const challenge = (realm: string) =>
    serve(
      (_, answer) => void answer.writeHead(401, { "www-authenticate": `Bearer realm="${realm}",service="s"` }).end(),
    );
  const bad = await challenge(`http://${METADATA}/token`);
  expect(await registry(`oci://${new URL(bad.url).host}/web`, signedIn)).toBe("stop RepositoryUrlRefused");
  const elsewhere = await challenge(other.url.replace("127.0.0.1", "localhost"));
  names.set("localhost", [["127.0.0.1"]]);
  await registry(`oci://${new URL(elsewhere.url).host}/web`, signedIn);
  expect(other.seen).toEqual([expect.stringMatching(/ -$/)]);
});

test("a proxy of a repository is judged like the repository", async () => {
  for (const proxy of [`http://${METADATA}`, METADATA, `http://${PUBLIC}:${inner.port}`]) {
    names.set(PUBLIC, [["127.0.0.1"]]);
    expect([proxy, await refs("http://127.0.0.1:1/a.git", { proxy })]).toEqual([proxy, "stop RepositoryUrlRefused"]);
  }
});

test("a cluster at a refused address is none", async () => {
  const data = (fields: Record<string, string>) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, Buffer.from(value).toString("base64")]));
  const found = async (server: string, config: object = {}) => {
    const signal = new AbortController().signal;
    const home = new KubeClient({ server: inner.url, namespace: "default" });
    const destinations = new Destinations({ home, own: "", namespaces: [], changed: () => undefined, signal });
    destinations.replace([
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "c" },
        data: data({ name: "c", server, config: JSON.stringify(config) }),
      },
    ]);
    const got = await destinations.find({ spec: { destination: { name: "c" } } } as never);
    await destinations.close();
    await home.close();
    return said(got);
  };
  expect(await found(`https://${METADATA}`)).toBe("stop ClusterSecretInvalid");
  expect(await found("https://[::ffff:a9fe:a9fe]:6443")).toBe("stop ClusterSecretInvalid");
  expect(await found("https://cluster.example", { proxyUrl: `http://${METADATA}` })).toBe("stop ClusterSecretInvalid");
});

test("credentials of a template are for its own host, not for one whose name begins the same", () => {
  const all = new Repositories();
  const data = (url: string) => ({
    url: Buffer.from(url).toString("base64"),
    username: Buffer.from("ana").toString("base64"),
    password: Buffer.from(PASSWORD).toString("base64"),
  });
  all.replaceTemplates([
    { apiVersion: "v1", kind: "Secret", metadata: { name: "t" }, data: data("https://git.example.com") },
  ]);
  expect(all.find("https://git.example.com/team/a").password).toBeDefined();
  for (const url of [
    "https://git.example.com.evil.org/a",
    "https://git.example.community/a",
    "https://git.example.com@evil.org/a",
  ])
    expect([url, all.find(url).password]).toEqual([url, undefined]);
});
