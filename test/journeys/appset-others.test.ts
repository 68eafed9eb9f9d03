import type { Free } from "../../server/agent/appset/types.ts";
import type { World } from "../../server/agent/appset/world/world.ts";
import { FORGE_USER, type RunningForge, startForge } from "../servers/forge.ts";
import { AZURE_ORGANIZATION } from "../servers/forge-azure.ts";
import { ask, TOKEN_REF as ref, worldWith } from "./set-world.ts";

const PULL =
  '{{.number}} {{.title}} {{.branch}} {{.branch_slug}} {{.target_branch}} {{.target_branch_slug}} {{.head_short_sha}} {{.head_short_sha_7}} {{.labels | join "+"}} {{.author}} {{.head_sha}} {{.values.at}}';
const REPOSITORY =
  "{{.organization}}/{{.repository}}#{{.repository_id}} {{.branch}} {{.branchNormalized}} {{.short_sha}} {{.short_sha_7}} {{.sha}} [{{.labels}}] {{.url}} {{.values.at}}";

interface Case {
  kind: "bitbucket" | "bitbucketServer" | "azureDevOps";
  /** The field of `pullRequest`, and its settings for a repository. */
  pulls(api: string, repository?: string, project?: string): Record<string, Free>;
  provider(api: string, more?: object): Record<string, Free>;
  /** Other ways to sign in. */
  ways: object[];
  organization: string;
  repository: string;
  id: string;
  ssh?: string;
  labels: boolean;
  refused: RegExp;
}
const CASES: Case[] = [
  {
    kind: "bitbucket",
    pulls: (api, repo = "release") => ({ bitbucket: { owner: "team", repo, api, bearerToken: { tokenRef: ref } } }),
    provider: (api, more) => ({ bitbucket: { owner: "team", user: FORGE_USER, appPasswordRef: ref, api, ...more } }),
    ways: [{ bearerToken: undefined, basicAuth: { username: FORGE_USER, passwordRef: ref } }],
    organization: "team",
    repository: "release",
    id: "{7-a}",
    ssh: "git@bitbucket.org:team/release.git",
    labels: false,
    refused: /answered 401/,
  },
  {
    kind: "bitbucketServer",
    pulls: (api, repo = "release") => ({
      bitbucketServer: { project: "team", repo, api, bearerToken: { tokenRef: ref } },
    }),
    provider: (api, more) => ({
      bitbucketServer: {
        project: "team",
        api: `${api}/rest/`,
        basicAuth: { username: FORGE_USER, passwordRef: ref },
        ...more,
      },
    }),
    ways: [{ bearerToken: undefined, basicAuth: { username: FORGE_USER, passwordRef: ref } }],
    organization: "team",
    repository: "Release App",
    id: "7",
    ssh: "ssh://git@bitbucket:7999/team/release.git",
    labels: false,
    refused: /answered 401/,
  },
  {
    kind: "azureDevOps",
    pulls: (api, repo = "release", project = "team") => ({
      azuredevops: {
        organization: AZURE_ORGANIZATION,
        project: repo === "gone" ? "gone" : project,
        repo,
        api,
        tokenRef: ref,
      },
    }),
    provider: (api, more) => ({
      azureDevOps: { organization: AZURE_ORGANIZATION, teamProject: "team", api, accessTokenRef: ref, ...more },
    }),
    ways: [],
    organization: AZURE_ORGANIZATION,
    repository: "release",
    id: "ba2967cc-02c2-414c-8d10-1b99197cbaa6",
    labels: true,
    refused: /answered 203: it rejects the token/,
  },
];

describe.each(CASES)("$kind, by its documented protocol", ({ kind, ...host }) => {
  let forge: RunningForge;
  let world: World;
  const shas: Record<string, string> = {};
  beforeAll(async () => {
    forge = await startForge(kind, { "deploy/app.yaml": "a: 1\n", "deploy/a b/x.yaml": "b: 1\n" });
    for (const branch of ["Feature/One_x", "fix", "other"])
      shas[branch] = await forge.repository.commit({ [`${branch}.txt`]: "x" }, "Change", { branch });
    shas.main = (await forge.repository.tip("refs/heads/main"))!;
    forge.pulls.push(
      { number: 1, title: "First", branch: "Feature/One_x", base: "main", state: "open", labels: ["preview", "web"] },
      { number: 2, title: "Second", branch: "fix", base: "main", state: "open" },
      { number: 3, title: "Third", branch: "other", base: "release/Next", state: "open", labels: ["preview"] },
      { number: 4, title: "Old", branch: "other", base: "main", state: "closed" },
    );
    world = worldWith(forge.token);
  }, 60_000);
  afterAll(() => forge?.stop(), 30_000);

  const own = (more = {}, repository?: string) =>
    Object.fromEntries(
      Object.entries(host.pulls(forge.apiUrl, repository)).map(([name, settings]) => [name, { ...settings, ...more }]),
    );
  const provider = (more = {}, rest = {}) => ({
    scmProvider: {
      ...host.provider(forge.apiUrl, more),
      cloneProtocol: "https",
      values: { at: "{{.branch}}!" },
      ...rest,
    },
  });

  test("open pull requests give their parameters, over pages", async () => {
    const sha = shas["Feature/One_x"]!;
    const all = await ask({ pullRequest: { ...own(), values: { at: "v{{.number}}" } } }, PULL, world);
    expect(all).toHaveLength(3);
    const labels = host.labels ? "preview+web" : "";
    expect(all[0]).toBe(
      `1 First Feature/One_x feature-one-x main main ${sha.slice(0, 8)} ${sha.slice(0, 7)} ${labels} octo ${sha} v1`,
    );
    expect(all[2]).toMatch(/^3 Third other other release\/Next release-next /);
  });

  test.each<[object[], string[]]>([
    [
      [{ branchMatch: "^fix" }, { titleMatch: "hird$" }],
      ["2", "3"],
    ],
    [[{ branchMatch: "o", targetBranchMatch: "^release" }], ["3"]],
    [[{ titleMatch: "^Old" }], []],
  ])("with filters %j they are %j", async (filters, want) => {
    expect(await ask({ pullRequest: { ...own(), filters } }, "{{.number}}", world)).toEqual(want);
  });

  test("repositories and their branches give their parameters, and those without commits none", async () => {
    const at = (branch: string, url = forge.git.cloneUrl("team/release")) => {
      const sha = shas[branch]!;
      const normalized = branch.toLowerCase().replace(/[^a-z0-9-]+/g, "-");
      return `${host.organization}/${host.repository}#${host.id} ${branch} ${normalized} ${sha.slice(0, 8)} ${sha.slice(0, 7)} ${sha} [] ${url} ${branch}!`;
    };
    expect(await ask(provider(), REPOSITORY, world)).toEqual([at("main")]);
    const all = await ask(provider({ allBranches: true }), REPOSITORY, world);
    expect(all).toEqual(["Feature/One_x", "fix", "main", "other"].map((branch) => at(branch)).sort());
    expect(await ask(provider({}, { cloneProtocol: undefined }), REPOSITORY, world)).toEqual([at("main", host.ssh)]);
    expect(await ask(provider({}, { cloneProtocol: "carrier-pigeon" }), "x", world)).toMatch(
      /unknown clone protocol for .*carrier-pigeon/,
    );
  });

  test.each<[object[], string[]]>([
    [[{ repositoryMatch: "(?i)^rel" }], ["Feature/One_x", "fix", "main", "other"]],
    [[{ repositoryMatch: "^nothing" }], []],
    [[{ labelMatch: "x" }], []],
    [[{ branchMatch: "^(fix|main)$" }], ["fix", "main"]],
    [[{ pathsExist: ["deploy/app.yaml", "deploy/a b/"] }], ["main"]],
    [[{ pathsExist: ["fix.txt"] }], ["fix"]],
    [[{ pathsExist: ["deploy/none.yaml"] }], []],
    [[{ pathsDoNotExist: ["fix.txt", "other.txt"] }], ["Feature/One_x", "main"]],
    // Those of repositories and those of branches are two questions.
    [[{ repositoryMatch: "(?i)^rel" }, { branchMatch: "^fix$" }], ["fix"]],
    [[{ repositoryMatch: "^nothing" }, { branchMatch: "^fix$" }], []],
    [[{ repositoryMatch: "^nothing", branchMatch: "^fix$" }, { branchMatch: "^main$" }], ["main"]],
  ])("of repositories those that fit %j", async (filters, want) => {
    expect(await ask(provider({ allBranches: true }, { filters }), "{{.branch}}", world)).toEqual(want);
  });

  test("every way to sign in is let in, and none where it must be", async () => {
    for (const way of host.ways) expect(await ask({ pullRequest: own(way) }, "{{.number}}", world)).toHaveLength(3);
    const nobody = { bearerToken: undefined, basicAuth: undefined, tokenRef: undefined };
    expect(await ask({ pullRequest: own(nobody) }, "x", world)).toMatch(host.refused);
  });

  test("a wrong token, a repository that is not there and an address that may not be asked are refused by name, and no token is told", async () => {
    for (const generator of [{ pullRequest: own() }, provider()]) {
      const said = await ask(generator, "x", worldWith("canary-token"));
      expect(said).toMatch(host.refused);
      expect(said).not.toContain("canary");
    }
    expect(await ask({ pullRequest: own({}, "gone") }, "x", world)).toMatch(
      /answered 404.*: it does not exist, or the token may not see it/,
    );
    expect(await ask({ pullRequest: { ...own({}, "gone"), continueOnRepoNotFoundError: true } }, "x", world)).toEqual(
      [],
    );
    for (const generator of [{ pullRequest: own() }, provider()])
      expect(await ask(generator, "x", worldWith(forge.token, ["https://git.example.com"]))).toMatch(
        /scm provider not allowed/,
      );
  });

  if (host.labels)
    test("pull requests are those with all labels, over more pages than one, of this repository alone", async () => {
      expect(await ask({ pullRequest: own({ labels: ["preview"] }) }, "{{.number}}", world)).toEqual(["1", "3"]);
      expect(await ask({ pullRequest: own({ labels: ["preview", "web"] }) }, "{{.number}}", world)).toEqual(["1"]);
      for (let number = 100; number < 330; number++)
        forge.pulls.push({ number, title: "x", branch: "fix", base: "main", state: "open" });
      expect(await ask({ pullRequest: own() }, "{{.number}}", world)).toHaveLength(233);
    });
});
