import type { World } from "../../server/agent/appset/world/world.ts";
import { buildTools, canHave } from "../cluster/tools.ts";
import { type RunningForge, startForge } from "../servers/forge.ts";
import { type Gitea, startGitea } from "../servers/gitea.ts";
import { ask, TOKEN_REF as tokenRef, worldWith } from "./set-world.ts";

const PULL =
  '{{.number}} {{.title}} {{.branch}} {{.branch_slug}} {{.target_branch}} {{.head_short_sha}} {{.head_short_sha_7}} {{.labels | join "+"}} {{.author}} {{.head_sha}}';
const REPOSITORY = "{{.organization}}/{{.repository}} {{.branch}} {{.short_sha_7}} {{.labels}} {{.url}}";

describe.each(["github", "gitlab"] as const)("%s, by its documented protocol", (kind) => {
  let forge: RunningForge;
  let world: World;
  const shas: Record<string, string> = {};
  beforeAll(async () => {
    forge = await startForge(kind, { "deploy/app.yaml": "a: 1\n" });
    for (const branch of ["Feature/One_x", "fix", "other"])
      shas[branch] = await forge.repository.commit({ [`${branch}.txt`]: "x" }, "Change", { branch });
    shas.main = (await forge.repository.tip("refs/heads/main"))!;
    forge.pulls.push(
      { number: 1, title: "First", branch: "Feature/One_x", base: "main", state: "open", labels: ["preview", "web"] },
      { number: 2, title: "Second", branch: "fix", base: "main", state: "open" },
      { number: 3, title: "Third", branch: "other", base: "release", state: "open", labels: ["preview"] },
      { number: 4, title: "Old", branch: "other", base: "main", state: "closed" },
    );
    world = worldWith(forge.token);
  }, 60_000);
  afterAll(() => forge?.stop(), 30_000);

  const own = (more = {}) => ({
    [kind]:
      kind === "github"
        ? { owner: "team", repo: "release", api: forge.apiUrl, tokenRef, ...more }
        : { project: "team/release", api: forge.apiUrl, tokenRef, pullRequestState: "opened", ...more },
  });
  const provider = (more = {}) => ({
    [kind]:
      kind === "github"
        ? { organization: "team", api: forge.apiUrl, tokenRef, ...more }
        : { group: "team", api: forge.apiUrl, tokenRef, ...more },
    cloneProtocol: "https",
  });

  test("open pull requests give their parameters, over pages", async () => {
    const sha = shas["Feature/One_x"]!;
    const all = await ask({ pullRequest: own() }, PULL, world);
    expect(all).toHaveLength(3);
    expect(all[0]).toBe(
      `1 First Feature/One_x feature-one-x main ${sha.slice(0, 8)} ${sha.slice(0, 7)} preview+web octo ${sha}`,
    );
  });

  test.each<[object, object[] | undefined, string[]]>([
    [{ labels: ["preview"] }, undefined, ["1", "3"]],
    [{ labels: ["preview", "web"] }, undefined, ["1"]],
    [{}, [{ branchMatch: "^fix" }, { titleMatch: "hird$" }], ["2", "3"]],
    [{}, [{ branchMatch: "o", targetBranchMatch: "release" }], ["3"]],
  ])("with settings %j and filters %j they are %j", async (settings, filters, want) => {
    expect(await ask({ pullRequest: { ...own(settings), filters } }, "{{.number}}", world)).toEqual(want);
  });

  test("repositories and their branches give their parameters", async () => {
    const at = (branch: string) =>
      `team/release ${branch} ${shas[branch]!.slice(0, 7)} gitops,web ${forge.git.cloneUrl("team/release")}`;
    expect(await ask({ scmProvider: provider() }, REPOSITORY, world)).toEqual([at("main")]);
    const all = await ask({ scmProvider: provider({ allBranches: true }) }, REPOSITORY, world);
    expect(all).toEqual(["Feature/One_x", "fix", "main", "other"].map(at).sort());
  });

  test.each<[object[], string[]]>([
    [[{ repositoryMatch: "^rel" }], ["main"]],
    [[{ repositoryMatch: "^nothing" }], []],
    [[{ labelMatch: "^git" }], ["main"]],
    [[{ pathsExist: ["deploy/app.yaml"] }], ["main"]],
    [[{ pathsExist: ["deploy/none.yaml"] }], []],
    [[{ pathsDoNotExist: ["deploy/none.yaml"] }], ["main"]],
    [[{ pathsDoNotExist: ["deploy"] }, { branchMatch: "^main$" }], ["main"]],
  ])("of repositories those that fit %j", async (filters, want) => {
    expect(await ask({ scmProvider: { ...provider(), filters } }, "{{.branch}}", world)).toEqual(want);
  });

  test("a wrong token, a repository that is not there and an address that may not be asked are refused by name", async () => {
    expect(await ask({ pullRequest: own() }, "x", worldWith("wrong"))).toMatch(/answered 401/);
    const gone = kind === "github" ? { repo: "gone" } : { project: "team/gone" };
    expect(await ask({ pullRequest: own(gone) }, "x", world)).toMatch(
      /answered 404: it does not exist, or the token may not see it/,
    );
    expect(await ask({ pullRequest: { ...own(gone), continueOnRepoNotFoundError: true } }, "x", world)).toEqual([]);
    expect(await ask({ pullRequest: own() }, "x", worldWith(forge.token, ["https://git.example.com"]))).toMatch(
      /scm provider not allowed/,
    );
  });
});

(canHave("gitea") ? describe : describe.skip)("a real Gitea (skipped without Go to build it)", () => {
  let gitea: Gitea;
  let world: World;
  beforeAll(async () => {
    await buildTools(() => {}, ["gitea"]);
    gitea = await startGitea();
    await gitea.createRepository("team/app", { files: { "deploy/a.yaml": "a: 1\n" }, private: true });
    await gitea.createRepository("team/lib", { files: { "x.txt": "x" } });
    await gitea.commit("team/app", { "b.txt": "b" }, { branch: "feature/b" });
    await gitea.api("PUT", "/repos/team/app/topics", { topics: ["gitops"] });
    const { id } = await gitea.api("POST", "/repos/team/app/labels", { name: "preview", color: "#00aabb" });
    await gitea.api("POST", "/repos/team/app/pulls", { head: "feature/b", base: "main", title: "Add b", labels: [id] });
    world = worldWith(gitea.token);
  }, 20 * 60_000);
  afterAll(() => gitea?.stop(), 30_000);

  const api = () => ({ api: gitea.url, tokenRef });
  const pulls = (more = {}) => ({ pullRequest: { gitea: { owner: "team", repo: "app", ...api(), ...more } } });

  test("its pull requests, with labels", async () => {
    expect(
      await ask(
        pulls(),
        '{{.number}} {{.title}} {{.branch_slug}} {{.target_branch}} {{.labels | join "+"}} {{.author}}',
        world,
      ),
    ).toEqual(["1 Add b feature-b main preview robot"]);
    expect(await ask(pulls({ labels: ["preview"] }), "{{.head_sha | len}}", world)).toEqual(["40"]);
    expect(await ask(pulls({ labels: ["none"] }), "x", world)).toEqual([]);
    expect(await ask(pulls({ repo: "gone" }), "x", world)).toMatch(/answered 404/);
  });

  test("its repositories and branches, by what is in them", async () => {
    const provider = (more = {}, filters?: object[]) => ({
      scmProvider: { gitea: { owner: "team", ...api(), ...more }, cloneProtocol: "https", filters },
    });
    expect(await ask(provider(), "{{.repository}} {{.branch}} {{.labels}} {{.url}}", world)).toEqual([
      `app main preview ${gitea.url}/team/app`,
      `lib main  ${gitea.url}/team/lib`,
    ]);
    expect(await ask(provider({ allBranches: true }), "{{.repository}}@{{.branchNormalized}}", world)).toEqual([
      "app@feature-b",
      "app@main",
      "lib@main",
    ]);
    expect(
      await ask(
        provider({ allBranches: true }, [{ pathsExist: ["b.txt"] }, { labelMatch: "^preview$" }]),
        "{{.branch}}",
        world,
      ),
    ).toEqual(["feature/b"]);
    expect(
      await ask(provider({ allBranches: true }, [{ pathsExist: ["b.txt"] }, { labelMatch: "nothing" }]), "x", world),
    ).toEqual([]);
    expect(await ask(provider({}, [{ pathsDoNotExist: ["deploy"] }]), "{{.repository}}", world)).toEqual(["lib"]);
  });
});
