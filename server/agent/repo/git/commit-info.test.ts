import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Secret } from "../../../base/secret.ts";
import { newestFirst } from "../charts/versions.ts";
import { RepoClient } from "../client.ts";
import { repoServer } from "../server.ts";
import { type Bench, configMap, startBench } from "../testing.ts";

let bench: Bench;
let server: Server;
let client: RepoClient;
beforeAll(async () => {
  bench = await startBench();
  const secret = new Secret("a-long-shared-secret");
  const path = join(tmpdir(), `who-${process.pid}.sock`);
  server = repoServer(bench.service, secret).listen(path);
  await once(server, "listening");
  client = new RepoClient(`unix:${path}`, secret);
});
afterAll(async () => {
  await client.close();
  server.close();
  await bench.stop();
});

test("who made a commit, when, why and under which tags, over the network as in one process", async () => {
  const name = await bench.repository({ "a.yaml": configMap("a") });
  const commit = await bench.git.commit(name, { "a.yaml": configMap("b") }, "Change it\n\nbecause it must.");
  await bench.git.tag(name, "v1.0.0", commit);
  await bench.git.tag(name, "v1.0.1", commit, "a release");
  const { source, repo } = bench.source(name);
  for (const door of [bench.service, client])
    for (const revision of ["main", "v1.0.1", "1.0.*", commit])
      expect(await door.revision({ repo, source, revision })).toMatchObject({
        kind: "done",
        value: {
          revision: commit,
          author: expect.stringMatching(/<.+@.+>$/),
          date: expect.stringMatching(/^20\d\d-.*Z$/),
          message: "Change it\n\nbecause it must.",
          tags: ["v1.0.0", "v1.0.1"],
        },
      });
  expect(await client.revision({ repo, source, revision: "nope" })).toMatchObject({
    kind: "stop",
    reason: "RevisionNotFound",
  });
});

describe("charts", () => {
  let http: Server;
  let index: string;
  beforeAll(async () => {
    http = createServer((request, response) => {
      if (request.headers.authorization !== `Basic ${Buffer.from("ana:pw").toString("base64")}`)
        return void response.writeHead(401).end();
      if (request.url === "/index.yaml") return void response.end(index);
      response.writeHead(404).end();
    }).listen(0, "127.0.0.1");
    await once(http, "listening");
  });
  afterAll(() => void http.close());
  const repo = (path = "") => ({
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}${path}`,
    type: "helm" as const,
    username: "ana",
    password: new Secret("pw"),
  });

  test("a Helm repository's charts and their versions, newest first", async () => {
    const entry = (name: string, version: string) =>
      `  - {apiVersion: v2, name: ${name}, version: ${version}, urls: [x.tgz]}\n`;
    index = `apiVersion: v1\nentries:\n  web:\n${entry("web", "1.2.0")}${entry("web", "1.10.0")}${entry("web", "2.0.0-rc1")}  db:\n${entry("db", "0.1.0")}`;
    expect(await client.charts(repo())).toEqual({
      kind: "done",
      value: {
        items: [
          { name: "db", versions: ["0.1.0"] },
          { name: "web", versions: ["2.0.0-rc1", "1.10.0", "1.2.0"] },
        ],
      },
    });
  });
  test.each([
    ["no index", () => repo("/elsewhere"), "RepositoryNotFound"],
    ["the wrong password", () => ({ ...repo(), password: new Secret("no") }), "AuthenticationFailed"],
    ["no password", () => ({ url: repo().url, type: "helm" as const }), "AuthenticationFailed"],
    ["nobody listens", () => ({ ...repo(), url: "http://127.0.0.1:1" }), "ConnectionRefused"],
    ["no such host", () => ({ ...repo(), url: "http://nowhere.invalid" }), "HostNotFound"],
  ])("%s is told by name", async (_, ask, reason) => {
    expect(await bench.service.charts(ask())).toMatchObject({ reason });
  });
  test("a page that is not an index is not a chart repository", async () => {
    index = "<html>sign in</html>";
    expect(await bench.service.charts(repo())).toMatchObject({ kind: "stop", reason: "NotARepository" });
  });
});

test.each([
  [
    ["1.0.0", "v2.0.0", "latest", "10.0.0", "2.0.0-rc1", "edge"],
    ["10.0.0", "v2.0.0", "2.0.0-rc1", "1.0.0", "edge", "latest"],
  ],
])("%j newest first", (given, want) => expect(newestFirst(given)).toEqual(want));
