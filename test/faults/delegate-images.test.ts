import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jest } from "@jest/globals";
import type { Schemas } from "../../openapi/client.ts";
import { buildBusyboxImage } from "../cluster/image.ts";
import { canHave } from "../cluster/tools.ts";
import { canFindBuildah, findBuildah } from "../servers/buildah.ts";
import { type Registry, startRegistry } from "../servers/registry.ts";
import { until } from "../servers/run.ts";
import { type DelegateWorld, delegateWorld } from "./delegate-world.ts";
import { ok } from "./link-world.ts";

/** Images from a task to a registry: the real service, a delegate as a process with its sandbox, buildah and a registry. */
jest.setTimeout(120_000);
const possible = canHave("registry") && canFindBuildah() ? describe : describe.skip;
const password = "registry password-4h7q:2";

possible("images by tasks (skipped without Go, or Debian's packages)", () => {
  let w: DelegateWorld;
  let registry: Registry;
  let base: string;
  let dir: string;
  beforeAll(async () => {
    // Where tasks, which have users of their own, can run it.
    dir = mkdtempSync(join(tmpdir(), "images-"));
    chmodSync(dir, 0o755);
    const buildah = await findBuildah({ at: dir });
    registry = await startRegistry({ users: { robot: password } });
    await registry.pushLayout((await buildBusyboxImage(() => {})).layout, "base/busybox:1");
    base = `${registry.host}/base/busybox:1`;
    w = await delegateWorld();
    await w.start("builder", {
      env: {
        PATH: buildah.env.PATH,
        OUTPOST_SANDBOX: "auto",
        OUTPOST_SECRET_REGISTRY: password,
        OUTPOST_TASK_DISK_MIB: "256",
      },
    });
  }, 20 * 60_000);
  afterAll(async () => {
    await w?.stop();
    await registry?.stop();
    if (dir) rmSync(dir, { recursive: true, force: true });
  });

  const login = () => ({
    registry: registry.host,
    username: "robot",
    password: "${secret:env/REGISTRY}",
    plainHttp: true,
  });
  const create = async (kind: Schemas["TaskKind"], params: Record<string, unknown>, timeoutSeconds = 90) =>
    ok(await w.service.api.POST("/v1/tasks", { params: {}, body: { kind, params, timeoutSeconds } })).id;
  const run = async (...args: Parameters<typeof create>) => (await w.ended([await create(...args)], 100_000))[0]!;
  const logOf = async (task: string) => {
    const { items } = ok(await w.service.api.GET("/v1/tasks/{task}/logs", { params: { path: { task } } }));
    return items.map(({ text }) => text).join("\n");
  };
  const source = (lines: string[]) => ({ files: { Dockerfile: lines.join("\n"), "page.html": "<h1>it</h1>" } });

  test("an image is built, kept, pushed and copied, and every digest is the same", async () => {
    const tag = `${registry.host}/team/app:1`;
    const lines = [
      `FROM ${base}`,
      "COPY page.html /www/",
      "RUN id -u && chown 7:9 /www/page.html && chmod 4755 /bin/busybox",
      "CMD httpd",
    ];
    const built = await run("image.build", {
      source: source(lines),
      tags: [tag],
      archive: "app.tar",
      registries: [login()],
    });
    expect([built.state, built.message]).toEqual(["Succeeded", undefined]);
    const digest = built.outputs!.digest;
    expect((await registry.manifest("team/app", "1"))!.digest).toBe(digest);
    expect(built.artifacts).toEqual([expect.objectContaining({ name: "app.tar" })]);

    const artifact = { task: built.id, name: "app.tar" };
    const pushed = await run("image.push", { artifact, to: [`${registry.host}/team/kept:1`], registries: [login()] });
    expect([pushed.state, pushed.outputs?.digest, pushed.message]).toEqual(["Succeeded", digest, undefined]);
    const copied = await run("image.push", {
      from: tag,
      to: [`${registry.host}/copies/app:1`, `${registry.host}/copies/app:2`],
      registries: [login()],
    });
    expect([copied.state, copied.outputs?.digest, copied.message]).toEqual(["Succeeded", digest, undefined]);
    expect(await registry.tags("copies/app")).toEqual(["1", "2"]);

    for (const task of [built, pushed, copied]) {
      expect(JSON.stringify(task)).not.toContain(password);
      expect(await logOf(task.id)).not.toContain(password);
    }
  });

  test("while a build runs its login stands in no list of processes; a cancel ends all of it", async () => {
    const lines = [`FROM ${base}`, "RUN echo a step runs; sleep 4242 & sleep 4243"];
    const id = await create("image.build", {
      source: source(lines),
      tags: [`${registry.host}/team/slow:1`],
      registries: [login()],
    });
    await until("the step runs", () => commands().some((line) => /^sleep 4243/.test(line)), 60_000);
    expect(commands().filter((line) => line.includes(password))).toEqual([]);
    ok(await w.service.api.POST("/v1/tasks/{task}/cancel", { params: { path: { task: id } } }));
    const [task] = await w.ended([id], 30_000);
    expect(task!.state).toBe("Cancelled");
    await until("nothing of it is left", () => !commands().some((line) => /^sleep 424[23]|buildah/.test(line)), 10_000);
  });

  test("a build that fills the disk is ended", async () => {
    const lines = [`FROM ${base}`, "RUN dd if=/dev/zero of=/big bs=1M count=2000; sleep 60"];
    const task = await run("image.build", {
      source: source(lines),
      tags: [`${registry.host}/team/big:1`],
      registries: [login()],
    });
    expect([task.state, task.reason]).toEqual(["Failed", "DiskExceeded"]);
  });

  test("a broken step, a wrong password and an unknown image are told in the task", async () => {
    const broken = await run("image.build", {
      source: source([`FROM ${base}`, "RUN no-such-program"]),
      tags: [`${registry.host}/team/x:1`],
      registries: [login()],
    });
    expect([broken.state, broken.reason, broken.message]).toEqual([
      "Failed",
      "BuildFailed",
      expect.stringMatching(/RUN no-such-program.*not found/s),
    ]);
    const wrong = await run("registry.login", { login: { ...login(), password: "another password" } });
    expect([wrong.state, wrong.reason]).toEqual(["Failed", "LoginRefused"]);
    const unknown = await run("image.push", {
      from: `${registry.host}/none:1`,
      to: [`${registry.host}/x:1`],
      registries: [login()],
    });
    expect([unknown.state, unknown.reason]).toEqual(["Failed", "ImageNotFound"]);
  });
});

/** Command lines of all processes. */
const commands = () =>
  readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      return [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")];
    } catch {
      return [];
    }
  });
