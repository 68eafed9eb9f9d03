import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { done, stop } from "../../../base/outcome.ts";
import { Secret } from "../../../base/secret.ts";
import { generate } from "../generate.ts";
import type { ApplicationSetSpec, Free } from "../types.ts";
import type { World } from "../world/world.ts";

type Said = [status: number, body: unknown, headers?: Record<string, string>];
let server: Server;
let api: string;
/** What the host says, by the beginning of a path; the longest one counts. */
let answers: Record<string, Said> = {};
const asked: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const url = decodeURIComponent(request.url!);
    asked.push(url);
    const path = Object.keys(answers)
      .filter((one) => url.startsWith(one))
      .sort((a, b) => b.length - a.length)[0];
    const [status, body, headers] = path === undefined ? ([404, { message: "Not Found" }] as Said) : answers[path]!;
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const none = async () => stop("Nothing", "not here");
const world: World = {
  clusters: () => [],
  directories: none,
  files: none,
  secret: async () => done(new Secret("token")),
  githubApp: none,
  configMap: none,
  objects: none,
};

/** The applications' names, or why there are none to tell. */
async function ask(
  generator: Free,
  said: Record<string, Said>,
  name = "{{.repository}}-{{.branchNormalized}}",
): Promise<string[] | string> {
  answers = said;
  asked.length = 0;
  const spec: ApplicationSetSpec = {
    goTemplate: true,
    generators: [generator],
    template: { metadata: { name }, spec: {} },
  };
  const made = await generate("set", spec, world);
  return made.kind === "done" ? made.value.map(({ metadata }) => metadata.name) : made.message;
}

const SHA = "a".repeat(40);
const clone = [{ name: "ssh", href: "ssh://h/shop" }];
const HOSTS: Record<
  string,
  { repositories: string; branches: string; list: unknown; settings: Free; branch: unknown }
> = {
  github: {
    settings: { organization: "acme" },
    repositories: "/api/v3/orgs/acme/repos",
    list: [{ id: 1, name: "shop", owner: { login: "acme" }, ssh_url: "s", clone_url: "c", default_branch: "main" }],
    branches: "/api/v3/repos/acme/shop/branches",
    branch: { name: "main", commit: { sha: SHA } },
  },
  gitlab: {
    settings: { group: "acme" },
    repositories: "/api/v4/groups/acme/projects",
    list: [{ id: 1, path: "shop", ssh_url_to_repo: "s", http_url_to_repo: "c", default_branch: "main" }],
    branches: "/api/v4/projects/1/repository/branches",
    branch: { name: "main", commit: { id: SHA } },
  },
  gitea: {
    settings: { owner: "acme" },
    repositories: "/api/v1/orgs/acme/repos",
    list: [{ id: 1, name: "shop", ssh_url: "s", html_url: "c", default_branch: "main" }],
    branches: "/api/v1/repos/acme/shop/branches",
    branch: { name: "main", commit: { id: SHA } },
  },
  bitbucket: {
    settings: { owner: "acme" },
    repositories: "/repositories/acme?",
    list: { values: [{ slug: "shop", uuid: "u", mainbranch: { name: "main" }, links: { clone } }] },
    branches: "/repositories/acme/shop/refs/branches",
    branch: { name: "main", target: { hash: SHA } },
  },
  bitbucketServer: {
    settings: { project: "acme" },
    repositories: "/rest/api/1.0/projects/acme/repos?",
    list: { values: [{ id: 1, name: "shop", slug: "shop", links: { clone } }], isLastPage: true },
    branches: "/rest/api/1.0/projects/acme/repos/shop/branches",
    branch: { displayId: "main", latestCommit: SHA },
  },
  azureDevOps: {
    settings: { organization: "o", teamProject: "acme" },
    repositories: "/o/acme/_apis/git/repositories?",
    list: { value: [{ id: "1", name: "shop", defaultBranch: "refs/heads/main", remoteUrl: "s" }] },
    branches: "/o/acme/_apis/git/repositories/shop/stats/branches",
    branch: { name: "main", commit: { commitId: SHA } },
  },
};
const FAULTS: [string, Said][] = [
  ["a 401", [401, {}]],
  ["a 403", [403, { message: "no" }]],
  ["a 429", [429, {}]],
  ["a 500", [500, {}]],
  ["a 503 of something before it", [503, "<html>"]],
  ["a 404 of something before it", [404, "default backend - 404"]],
  ["a page for people", [200, "<html>Sign in</html>"]],
  ["nothing", [200, ""]],
  ["204", [204, ""]],
  ["half a document", [200, '[{"id":1,']],
  ["an object of no list", [200, { message: "maintenance" }]],
  ["null", [200, "null"]],
  ["a list of nothing", [200, [null]]],
  ["another place", [302, [], { location: "/elsewhere" }]],
];

describe.each(Object.entries(HOSTS))("%s", (kind, { settings, repositories, list, branches, branch }) => {
  const generator = (more = {}, rest = {}) => ({ scmProvider: { [kind]: { ...settings, api, ...more }, ...rest } });
  const good: Record<string, Said> = {
    [repositories]: [200, list],
    [branches]: [200, branch],
    "/api/v1/repos/acme/shop/labels": [200, []],
  };

  test("what it says well is taken, a number as a number", async () => {
    expect(await ask(generator(), good)).toEqual(["shop-main"]);
    const id = { bitbucket: "string u", azureDevOps: "string 1" }[kind] ?? "int 1";
    expect(await ask(generator(), good, '{{ printf "%T" .repository_id }} {{ .repository_id }}')).toEqual([id]);
  });

  test.each(FAULTS)("%s for a list of repositories is a failure, and no empty list", async (_, said) => {
    expect(await ask(generator(), { ...good, [repositories]: said })).toEqual(expect.any(String));
  });

  // An empty repository of Bitbucket Server says 204.
  test.each(FAULTS.filter(([name]) => kind !== "bitbucketServer" || name !== "204"))(
    "%s for its branches is a failure, and none of them is gone",
    async (_, said) => {
      const all = { ...good, [branches]: said };
      if (kind !== "bitbucketServer") expect(await ask(generator(), all)).toEqual(expect.any(String));
      else all[`${branches}/default`] = [200, branch];
      expect(await ask(generator({ allBranches: true }), all)).toEqual(expect.any(String));
    },
  );

  test("an expression that is none, and a protocol that it has not, are failures whatever is there", async () => {
    const filters = [{ repositoryMatch: "^nothing$", branchMatch: "(" }];
    expect(await ask(generator({}, { filters }), good)).toMatch(/error parsing regexp/);
    expect(asked).toEqual([]);
    expect(await ask(generator({}, { cloneProtocol: "constructor" }), good)).toMatch(/unknown clone protocol/);
  });
});

test("a repository without an address for the protocol is named, and no application without one is made", async () => {
  const { settings, repositories, list, branches, branch } = HOSTS.bitbucketServer!;
  const generator = { scmProvider: { bitbucketServer: { ...settings, api }, cloneProtocol: "https" } };
  expect(await ask(generator, { [repositories]: [200, list], [branches]: [200, branch] })).toBe(
    "shop has no address for https",
  );
});

test.each(["gitea", "bitbucket"])(
  "a default branch that %s lists and does not find leaves its application",
  async (kind) => {
    const { settings, repositories, list } = HOSTS[kind]!;
    const said: Record<string, Said> = { [repositories]: [200, list], "/api/v1/repos/acme/shop/labels": [200, []] };
    expect(await ask({ scmProvider: { [kind]: { ...settings, api } } }, said)).toMatch(/answered 404/);
  },
);

test("pages of Bitbucket Server that end before the last one are no list", async () => {
  const { settings, repositories, list, branches, branch } = HOSTS.bitbucketServer!;
  const half = { ...(list as Free), isLastPage: false, nextPageStart: null };
  expect(
    await ask(
      { scmProvider: { bitbucketServer: { ...settings, api } } },
      { [repositories]: [200, half], [branches]: [200, branch] },
    ),
  ).toMatch(/did not answer with a list/);
});

test("labels of Gitea are those of its issues, over as many pages as it counts", async () => {
  const { settings, repositories, list, branches, branch } = HOSTS.gitea!;
  const labels = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => ({ name: `l${from + i}` }));
  const counted = { "x-total-count": "51" };
  const said: Record<string, Said> = {
    [repositories]: [200, list],
    [branches]: [200, branch],
    "/api/v1/repos/acme/shop/labels": [200, labels(0, 50), counted],
    "/api/v1/repos/acme/shop/labels?limit=50&page=2": [200, labels(50, 51), counted],
  };
  const generator = { scmProvider: { gitea: { ...settings, api }, filters: [{ labelMatch: "^l50$" }] } };
  expect(await ask(generator, said, "{{.repository}}")).toEqual(["shop"]);
});

test("a host that is down behind a proxy is not a repository that is gone, also where such ones are left out", async () => {
  const github = { owner: "acme", repo: "shop", api };
  const generator = { pullRequest: { github, continueOnRepoNotFoundError: true } };
  const path = "/api/v3/repos/acme/shop/pulls";
  expect(await ask(generator, { [path]: [404, "404 page not found"] }, "x")).toMatch(/answered 404, but not in JSON/);
  expect(await ask(generator, { [path]: [404, { message: "Not Found" }] }, "x")).toEqual([]);
});

test("GitLab is asked for archived projects in no other way than for the rest, and for the top folder as for any", async () => {
  const { settings, repositories, list, branches, branch } = HOSTS.gitlab!;
  const gitlab = { ...settings, api, includeArchivedRepos: true, includeSharedProjects: false, topic: "web" };
  const generator = { scmProvider: { gitlab, filters: [{ pathsExist: ["/"] }] } };
  expect(await ask(generator, { [repositories]: [200, list], [branches]: [200, branch] }, "{{.repository}}")).toEqual([
    "shop",
  ]);
  expect(asked[0]).toBe(`${repositories}?per_page=100&include_subgroups=false&with_shared=false&topic=web`);
});
