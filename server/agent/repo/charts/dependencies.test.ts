import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { toolPath } from "../../../../test/cluster/apiserver.ts";
import { Secret } from "../../../base/secret.ts";
import { type Bench, chart, startBench } from "../testing.ts";
import type { RenderRequest, RepoAccess } from "../types.ts";

/** A chart repository that is registered nowhere, and all that it was asked. */
interface Public {
  url: string;
  asked: IncomingMessage[];
  /** Answers the next question by leading there. */
  redirect?: string;
}

let bench: Bench;
let strict: Bench;
let server: Server;
const charts: Public = { url: "", asked: [] };
const work = mkdtempSync(join(tmpdir(), "repo-dependencies-"));

beforeAll(async () => {
  [bench, strict] = [await startBench({ allowLocal: true }), await startBench()];
  for (const [file, content] of Object.entries(chart("web/", "web", "", "1.2.0"))) {
    mkdirSync(dirname(join(work, file)), { recursive: true });
    writeFileSync(join(work, file), content);
  }
  execFileSync(toolPath("helm"), ["package", "web"], { cwd: work, stdio: "pipe" });
  const archive = readFileSync(join(work, "web-1.2.0.tgz"));
  const index =
    "apiVersion: v1\nentries:\n  web:\n  - {apiVersion: v2, name: web, version: 1.2.0, urls: [web-1.2.0.tgz]}\n";
  server = createServer((request, response) => {
    charts.asked.push(request);
    const { redirect } = charts;
    charts.redirect = undefined;
    if (redirect) response.writeHead(302, { location: redirect }).end();
    else response.end(request.url === "/index.yaml" ? index : archive);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  charts.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}, 120_000);
beforeEach(() => {
  charts.asked.length = 0;
});
afterAll(async () => {
  server.close();
  await Promise.all([bench.stop(), strict.stop()]);
  rmSync(work, { recursive: true, force: true });
});

/** An application of a chart that depends on the repository; what its projects permit. */
async function rendered(
  at: Bench,
  dependencyRepos: RenderRequest["dependencyRepos"],
  repository = charts.url,
  registered: RenderRequest["charts"] = [],
): Promise<string[] | string> {
  const name = await at.repository(
    chart("", "c", `dependencies: [{name: web, version: "1.x", repository: "${repository}"}]\n`),
  );
  const got = await at.names(
    at.request(name, {}, { charts: registered, ...(dependencyRepos ? { dependencyRepos } : {}) }),
  );
  return Array.isArray(got) ? [...got].sort() : got;
}
const both = ["app-c", "app-web"];

test("a dependency comes from a repository that is registered nowhere, where the project permits its address, and is shown no credentials", async () => {
  expect(await rendered(bench, [["*"]])).toEqual(both);
  expect(await rendered(bench, [["https://git.example/*", charts.url]])).toEqual(both);
  expect(charts.asked.length).toBeGreaterThan(0);
  expect(charts.asked.every(({ headers }) => headers.authorization === undefined)).toBe(true);
});

test.each<[string, RenderRequest["dependencyRepos"]]>([
  ["no project is asked", undefined],
  ["the project permits other addresses", [["https://git.example/*"]]],
  ["the project denies it", [["*", "!http://127.0.0.1*/**", "!http://127.0.0.1*"]]],
  ["a project above limits it", [["*"], ["https://git.example/*"]]],
])("nothing is fetched where %s", async (_, permitted) => {
  expect(await rendered(bench, permitted)).toMatch(/^DependencyRefused: .*not registered.*helm dependency update/s);
  expect(charts.asked).toEqual([]);
});

test.each([
  "http://localhost:1",
  "https://127.0.0.1",
  "https://[::1]/charts",
  "http://charts",
  "https://charts.corp.internal",
  "oci://127.0.0.1:5000/charts",
])("a private name is only fetched from where it is registered: %s", async (repository) => {
  expect(await rendered(strict, [["*"]], repository)).toMatch(
    /^DependencyRefused: .*a private address and not registered/s,
  );
});

test.each([
  "http://169.254.169.254/charts",
  "https://ana:secret@charts.example.com",
  "@elsewhere",
  "ftp://charts.example.com",
  "file:///etc",
])("what no chart may name is refused though the project permits all: %s", async (repository) => {
  const got = await rendered(strict, [["*"]], repository);
  expect(got).toMatch(/^(DependencyRefused|RepositoryUrlRefused|PathEscapesRepository)/);
  expect(got).not.toContain("secret");
});

test("a redirect to a refused address is not followed", async () => {
  charts.redirect = "http://169.254.169.254/index.yaml";
  expect(await rendered(bench, [["*"]], `${charts.url}/other`)).toMatch(/^RepositoryUrlRefused/);
});

const withPassword = (path: string): RepoAccess => ({
  url: `${charts.url}${path}`,
  type: "helm",
  username: "u",
  password: new Secret("p"),
});

test("a registered repository's password goes to what is below its address", async () => {
  expect(await rendered(bench, [["*", `!${charts.url}/secret`]], charts.url, [withPassword("")])).toEqual(both);
  expect(charts.asked[0]?.headers.authorization).toBe(`Basic ${btoa("u:p")}`);
});

test.each([
  ["which a project denies", "", "/secret"],
  ["which a project denies, in another spelling", "", "//%73ecret/"],
  ["which a server may read as a place above", "/team", "/team/..%2fsecret"],
  ["which a server may read as a place above, by backslashes", "/team", "/team/..%5csecret"],
  ["which a server may read as a place above, when it decodes twice", "/team", "/team/%252e%252e/secret"],
])("no password goes to a place below a registered repository %s", async (_, path, asked) => {
  const got = await rendered(bench, [["*", `!${charts.url}/secret`]], `${charts.url}${asked}`, [withPassword(path)]);
  expect(got).toMatch(/^DependencyRefused: /);
  expect(charts.asked).toEqual([]);
});

test("an operator can keep dependencies to registered repositories", async () => {
  process.env.OUTPOST_CHART_DEPENDENCIES = "registered";
  try {
    expect(await rendered(bench, [["*"]])).toMatch(
      /^DependencyRefused: .*not registered with this agent; register it/s,
    );
    expect(charts.asked).toEqual([]);
  } finally {
    delete process.env.OUTPOST_CHART_DEPENDENCIES;
  }
});
