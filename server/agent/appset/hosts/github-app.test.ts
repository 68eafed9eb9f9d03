import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type GithubApp, startGithubApp } from "../../../../test/servers/github-app.ts";
import { done, stop } from "../../../base/outcome.ts";
import { generate } from "../generate.ts";
import type { ApplicationSetSpec, Free } from "../types.ts";
import { appOf } from "../world/cluster-world.ts";
import { access } from "../world/scm.ts";
import type { World } from "../world/world.ts";
import { SCM } from "./table.ts";

let app: GithubApp;
let front: Server;
let api: string;
/** Lists that only a token of the app's installation opens. */
const LISTS: Record<string, unknown> = {
  "/orgs/acme/repos": [
    {
      id: 1,
      name: "shop",
      owner: { login: "acme" },
      ssh_url: "s",
      clone_url: "https://g/shop",
      default_branch: "main",
      topics: ["web"],
    },
    {
      id: 2,
      name: "old",
      owner: { login: "acme" },
      ssh_url: "s",
      clone_url: "https://g/old",
      default_branch: "main",
      archived: true,
    },
  ],
  "/repos/acme/shop/branches/main": { name: "main", commit: { sha: "a".repeat(40) } },
  "/repos/acme/old/branches/main": { name: "main", commit: { sha: "b".repeat(40) } },
  "/repos/acme/shop/pulls": [
    { number: 7, title: "T", head: { ref: "f", sha: "c".repeat(40) }, base: { ref: "main" }, user: { login: "o" } },
  ],
};

beforeAll(async () => {
  app = await startGithubApp();
  app.installations.set("acme", { kind: "orgs", id: 55 });
  // One host for the app's own questions and those of its installation, as GitHub is.
  front = createServer((request, response) => {
    const path = (request.url ?? "").replace(/^\/api\/v3/, "").replace(/\?.*/, "");
    const say = (status: number, body: unknown) =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const token = (request.headers.authorization ?? "").replace(/^Bearer /, "");
    if (app.tokens.includes(token)) return path in LISTS ? say(200, LISTS[path]) : say(404, { message: "Not Found" });
    void fetch(`${app.url}${path}`, {
      method: request.method,
      headers: { authorization: request.headers.authorization ?? "" },
    }).then(async (answer) => say(answer.status, await answer.json()));
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  api = `http://127.0.0.1:${(front.address() as AddressInfo).port}/api/v3`;
});
afterAll(async () => {
  front.closeAllConnections();
  front.close();
  await app.stop();
});

const data = (fields: Record<string, string>) =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, Buffer.from(value).toString("base64")]));
const secret = (
  fields: Record<string, string> = {},
  labels: Record<string, string> = { "argocd.argoproj.io/secret-type": "repo-creds" },
) => ({
  apiVersion: "v1",
  kind: "Secret",
  type: "Opaque",
  metadata: { name: "app", labels },
  data: data({
    url: "https://g/acme",
    githubAppID: app.id,
    githubAppPrivateKey: app.privateKey,
    githubAppEnterpriseBaseUrl: api,
    ...fields,
  }),
});

const none = async () => stop("Nothing", "not here");
const EMPTY: World = {
  clusters: () => [],
  directories: none,
  files: none,
  secret: none,
  githubApp: none,
  configMap: none,
  objects: none,
};
async function ask(generator: Free, text: string, held = secret(), project?: string): Promise<string[] | string> {
  const githubApp = async (name: string, of?: string) =>
    name === "app" ? appOf(held, of) : stop("Nothing", `there is no ${name}`);
  const world: World = { ...EMPTY, githubApp };
  const spec: ApplicationSetSpec = {
    goTemplate: true,
    generators: [generator],
    template: { metadata: { name: "n", annotations: { text } }, spec: project ? { project } : {} },
  };
  const made = await generate("set", spec, world);
  return made.kind === "done" ? made.value.map(({ metadata }) => metadata.annotations!.text!) : made.message;
}
const provider = (more = {}) => ({
  scmProvider: { github: { organization: "acme", appSecretName: "app", ...more }, cloneProtocol: "https" },
});
const pulls = (more = {}) => ({
  pullRequest: { github: { owner: "acme", repo: "shop", appSecretName: "app", ...more } },
});

test("a GitHub App lists repositories and pull requests, with a token of its installation, at the address of its Secret", async () => {
  expect(await ask(provider(), "{{.repository}} {{.url}}")).toEqual(["shop https://g/shop", "old https://g/old"]);
  expect(await ask(provider({ excludeArchivedRepos: true }), "{{.repository}}")).toEqual(["shop"]);
  expect(await ask(pulls(), "{{.number}}")).toEqual(["7"]);
  expect(await ask(pulls({ api }), "{{.number}}", secret({ githubAppInstallationID: "55" }))).toEqual(["7"]);
  // One token for all that: it is good for an hour.
  expect(app.tokens.length).toBeLessThanOrEqual(2);
});

test("a set that names another address gets nothing of the app there", async () => {
  const before = app.requests.length;
  for (const generator of [provider({ api: "http://127.0.0.1:9" }), pulls({ api: "https://api.github.com" })])
    expect(await ask(generator, "x")).toMatch(/the GitHub App of Secret app is not shown to /);
  expect(app.requests.length).toBe(before);
});

test("what an app is good for goes to no server that the set alone trusts", async () => {
  const held: World = {
    ...EMPTY,
    githubApp: async () => appOf(secret(), undefined),
    configMap: async () => done({ ca: "PEM" }),
  };
  const trust = { insecure: true, caRef: { configMapName: "c", key: "ca" }, organization: "acme", api };
  const asked = async (more: object) => {
    const made = await access({ ...trust, ...more }, SCM.github!, { world: held });
    return made.kind === "done" ? { insecure: made.value.ask.insecure, ca: made.value.ask.ca } : made.message;
  };
  expect(await asked({ appSecretName: "app" })).toEqual({ insecure: false, ca: undefined });
  expect(await asked({})).toEqual({ insecure: true, ca: "PEM" });
});

test.each<[string, () => ReturnType<typeof secret>, RegExp]>([
  ["no app", () => secret({ githubAppID: "" }), /holds no GitHub App/],
  [
    "a cluster's credentials",
    () => secret({}, { "argocd.argoproj.io/secret-type": "cluster" }),
    /holds the credentials of a cluster/,
  ],
  ["another project's app", () => secret({ project: "other" }), /is kept for project other/],
  ["an app that is not installed there", () => secret({ githubAppInstallationID: "99" }), /has no installation 99/],
  ["a key that is none", () => secret({ githubAppPrivateKey: "canary" }), /githubAppPrivateKey/],
])("a Secret with %s is refused by name", async (_, held, why) => {
  const said = await ask(provider(), "x", held());
  expect(said).toMatch(why);
  expect(said).not.toContain("canary");
});

test("what is kept for a project is for its applications, and a Secret of its own needs no label but its own", async () => {
  expect(await ask(pulls(), "{{.number}}", secret({ project: "team" }), "team")).toEqual(["7"]);
  expect(await ask(pulls(), "{{.number}}", secret({}, { "argocd.argoproj.io/secret-type": "scm-creds" }))).toEqual([
    "7",
  ]);
});
