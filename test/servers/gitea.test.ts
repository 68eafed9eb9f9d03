import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildTools, canHave } from "../cluster/tools.ts";
import { type Gitea, startGitea } from "./gitea.ts";
import { run, until } from "./run.ts";

const possible = canHave("gitea") ? describe : describe.skip;

possible("Gitea (skipped without Go to build it)", () => {
  let gitea: Gitea;
  let dir: string;
  beforeAll(async () => {
    await buildTools(() => {}, ["gitea"]);
    dir = await mkdtemp(join(tmpdir(), "gitea-test-"));
    gitea = await startGitea();
  }, 20 * 60_000);
  afterAll(async () => {
    await gitea?.stop();
    if (dir) await rm(dir, { recursive: true, force: true });
  });

  test("a repository has its files, and is cloned and pushed to over HTTP", async () => {
    const { cloneUrl, head } = await gitea.createRepository("team/app", {
      files: { "a/b.txt": "one\n" },
      private: true,
    });
    const url = cloneUrl.replace("://", `://${gitea.user}:${gitea.token}@`);
    const env = { PATH: process.env.PATH, HOME: dir, GIT_TERMINAL_PROMPT: "0" };
    const git = (...args: string[]) => run("git", args, { cwd: join(dir, "clone"), env });
    await run("git", ["clone", "-q", url, join(dir, "clone")], { env });
    expect((await git("rev-parse", "HEAD")).stdout.trim()).toBe(head);
    expect(await readFile(join(dir, "clone/a/b.txt"), "utf8")).toBe("one\n");
    await git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "second");
    await git("push", "-q");
    expect(
      (await gitea.api("GET", "/repos/team/app/commits")).map((c: { commit: { message: string } }) =>
        c.commit.message.trim(),
      )[0],
    ).toBe("second");
    await expect(run("git", ["clone", "-q", cloneUrl, join(dir, "other")], { env })).rejects.toThrow(
      /could not read Username/,
    );
  });

  test("a pull request is opened, and merging it changes main", async () => {
    await gitea.createRepository("team/pulls", { files: { "values.yaml": "replicas: 1\n" } });
    await gitea.commit("team/pulls", { "values.yaml": "replicas: 2\n" }, { branch: "more" });
    expect(await gitea.file("team/pulls", "values.yaml")).toBe("replicas: 1\n");
    const pull = await gitea.api("POST", "/repos/team/pulls/pulls", { head: "more", base: "main", title: "More" });
    await until(
      "it can be merged",
      async () => (await gitea.api("GET", `/repos/team/pulls/pulls/${pull.number}`)).mergeable,
    );
    await gitea.api("POST", `/repos/team/pulls/pulls/${pull.number}/merge`, { Do: "squash" });
    expect(await gitea.file("team/pulls", "values.yaml")).toBe("replicas: 2\n");
    expect(await gitea.file("team/pulls", "none")).toBeUndefined();
  });

  test("a user may do what their token is for", async () => {
    await gitea.createRepository("team/public", { files: { f: "1" } });
    const { token } = await gitea.createUser("reader", ["read:repository"]);
    expect((await gitea.api("GET", "/repos/team/public", undefined, token)).full_name).toBe("team/public");
    await expect(gitea.api("POST", "/repos/team/public/issues", { title: "x" }, token)).rejects.toThrow(/: 403 /);
  });

  test("a push is told to a webhook on loopback", async () => {
    let told = "";
    const receiver = createServer((request, response) => {
      request.on("data", (chunk: Buffer) => {
        told += chunk.toString();
      });
      request.on("end", () => response.end());
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = receiver.address() as { port: number };
      await gitea.createRepository(`${gitea.user}/hooked`);
      const config = { url: `http://127.0.0.1:${port}/`, content_type: "json" };
      await gitea.api("POST", `/repos/${gitea.user}/hooked/hooks`, {
        type: "gitea",
        active: true,
        events: ["push"],
        config,
      });
      const commit = await gitea.commit(`${gitea.user}/hooked`, { f: "2" });
      await until("the webhook", () => told.includes(commit));
    } finally {
      receiver.close();
    }
  });
});
