import { jest } from "@jest/globals";
import { canHave } from "../../../../test/cluster/tools.ts";
import { startForge } from "../../../../test/servers/forge.ts";
import { startGitea } from "../../../../test/servers/gitea.ts";
import { type KindBench, kindBench } from "../../testing/kind.ts";
import { temporaryFolder, until } from "../../testing/temporary.ts";
import { gitopsMergePR } from "../gitops/gitops-merge-pr.ts";
import { gitopsRevertPR } from "../gitops/gitops-revert-pr.ts";
import { gitopsUpdateReleaseRepo } from "../gitops/gitops-update-release-repo.ts";
import type { GitProvider } from "./git-host.ts";

jest.setTimeout(120_000);

const values = "# of production\nimage:\n  tag: v1 # by the pipeline\nreplicas: 2\n";

/** One host with a release repository. */
interface Host {
  provider: GitProvider;
  file(path: string, ref?: string): Promise<string | undefined>;
  /** Says that something stands in the way of merging; undefined where a test cannot make that so. */
  block?(number: number): void;
  stop(): Promise<void>;
}

const forge = (type: "github" | "gitlab", blocked: string) => async (): Promise<Host> => {
  const f = await startForge(type, { "prod/values.yaml": values, "README.md": "release\n" });
  return {
    provider: { type, repository: f.name, token: f.token, apiUrl: f.apiUrl },
    file: (path, ref = "main") => f.repository.git("show", `${ref}:${path}`).catch(() => undefined),
    block: (number) => {
      f.pulls.find((pull) => pull.number === number)!.blocked = blocked;
    },
    stop: f.stop,
  };
};

async function gitea(): Promise<Host> {
  const g = await startGitea();
  await g.createRepository("team/release", { files: { "prod/values.yaml": values, "README.md": "release\n" } });
  return {
    provider: { type: "gitea", repository: "team/release", token: g.token, apiUrl: `${g.url}/api/v1` },
    // Its `raw` falls back to the default branch where there is no such ref.
    file: async (path, ref = "main") => {
      const at = `/repos/team/release/contents/${path}?ref=${encodeURIComponent(ref)}`;
      const found = await g.api("GET", at).catch(() => undefined);
      return found && Buffer.from(found.content, "base64").toString();
    },
    stop: g.stop,
  };
}

const hosts: [string, () => Promise<Host>, boolean][] = [
  ["GitHub's protocol", forge("github", "dirty"), true],
  ["GitLab's protocol", forge("gitlab", "conflict"), true],
  ["a real Gitea (skipped without Go)", gitea, canHave("gitea")],
];

describe.each(hosts)("%s", (_name, start, possible) => {
  const it = possible ? test : test.skip;
  const dir = temporaryFolder();
  let host: Host;
  let bench: KindBench;
  beforeAll(async () => {
    if (possible) host = await start();
    bench = kindBench(dir);
  }, 20 * 60_000);
  afterAll(() => host?.stop());

  const update = (tag: string, more: object = {}, id?: string) =>
    bench.run(
      gitopsUpdateReleaseRepo,
      {
        provider: host.provider,
        baseBranch: "main",
        files: [{ path: "prod/values.yaml", set: { "image.tag": tag } }],
        ...more,
      },
      id ? { id } : {},
    );

  it("a release goes its way: changed on a branch, proposed, merged, and undone by a proposal of its own", async () => {
    const made = await update("v2", { title: "Release v2", body: "by a test" });
    expect(made).toMatchObject({
      outcome: "succeeded",
      outputs: { pullRequest: expect.any(Number), changed: ["prod/values.yaml"] },
    });
    const { branch, pullRequest: number } = made.outputs as { branch: string; pullRequest: number };
    expect((await host.file("prod/values.yaml", branch))?.trim()).toBe(values.replace("v1", "v2").trim());
    expect((await host.file("prod/values.yaml"))?.trim()).toBe(values.trim());

    const merged = await bench.run(gitopsMergePR, { provider: host.provider, number, deleteBranch: true });
    expect(merged).toMatchObject({
      outcome: "succeeded",
      outputs: { commit: expect.stringMatching(/^[0-9a-f]{40}$/), branch },
    });
    expect(await host.file("prod/values.yaml")).toMatch("tag: v2 # by the pipeline");
    expect(merged.log.join("\n")).not.toMatch(/not deleted/);
    await until("the branch is gone", async () => (await host.file("prod/values.yaml", branch)) === undefined);
    expect((await bench.run(gitopsMergePR, { provider: host.provider, number })).outcome).toBe("succeeded");

    const undo = await bench.run(gitopsRevertPR, { provider: host.provider, number });
    expect(undo).toMatchObject({
      outcome: "succeeded",
      outputs: { pullRequest: expect.any(Number), url: expect.stringMatching(/^http/) },
    });
    const second = (undo.outputs as { pullRequest: number }).pullRequest;
    expect(
      (await bench.run(gitopsMergePR, { provider: host.provider, number: second, strategy: "squash" })).outcome,
    ).toBe("succeeded");
    expect(await host.file("prod/values.yaml")).toMatch("tag: v1 # by the pipeline");
    for (const { log } of [made, merged, undo]) expect(log.join("\n")).not.toMatch(host.provider.token);
  });

  it("a second attempt finds what the first one made", async () => {
    const id = "t-0123456789abcdef0123";
    const first = await update("v3", {}, id);
    const second = await update("v3", {}, id);
    expect(second.outputs).toMatchObject({ commit: (first.outputs as { commit: string }).commit, changed: [] });
    expect((second.outputs as { pullRequest: number }).pullRequest).toBe(
      (first.outputs as { pullRequest: number }).pullRequest,
    );
  });

  it("without a change there is no commit, and a new file is made", async () => {
    const same = await update("v1", { files: [{ path: "prod/values.yaml", set: { replicas: 2 } }] });
    expect(same).toMatchObject({ outcome: "succeeded", outputs: { changed: [] } });
    expect(same.outputs).not.toHaveProperty("pullRequest");
    const added = await update("", { pullRequest: false, files: [{ path: "stage/values.yaml", content: "a: 1\n" }] });
    expect(added).toMatchObject({ outcome: "succeeded", outputs: { branch: "main", changed: ["stage/values.yaml"] } });
    expect((await host.file("stage/values.yaml"))?.trim()).toBe("a: 1");
  });

  it("what goes wrong says what to do", async () => {
    const wrong = { ...host.provider, token: "another-token-000" };
    expect(await update("v9", { provider: wrong })).toMatchObject({ outcome: "failed", reason: "GitHostDenied" });
    expect(await update("v9", { baseBranch: "none" })).toMatchObject({ outcome: "failed", reason: "BranchNotFound" });
    expect(await update("v9", { files: [{ path: "none.yaml", set: { a: 1 } }] })).toMatchObject({
      reason: "FileNotFound",
    });
    expect(await update("v9", { files: [{ path: "README.md", set: { a: 1 } }] })).toMatchObject({
      reason: "FileInvalid",
    });
    expect(await bench.run(gitopsMergePR, { provider: host.provider, number: 999 })).toMatchObject({
      reason: "GitHostNotFound",
    });
    expect(await bench.run(gitopsRevertPR, { provider: host.provider })).toMatchObject({ reason: "ParamsInvalid" });
    const missing = { provider: host.provider, commit: "0".repeat(40), baseBranch: "main" };
    expect(await bench.run(gitopsRevertPR, missing)).toMatchObject({ reason: "RevisionNotFound" });
    const open = (await update("v8")).outputs as { pullRequest: number };
    expect(await bench.run(gitopsRevertPR, { provider: host.provider, number: open.pullRequest })).toMatchObject({
      reason: "NotMerged",
    });
    expect(await update("v7", { waitForMergeSeconds: 1 })).toMatchObject({ outcome: "failed", reason: "NotMerged" });
    if (!host.block) return;
    host.block(open.pullRequest);
    const blocked = await bench.run(gitopsMergePR, { provider: host.provider, number: open.pullRequest });
    expect(blocked).toMatchObject({
      outcome: "failed",
      reason: "NotMergeable",
      message: expect.stringMatching(/conflicts/),
    });
  });
});
