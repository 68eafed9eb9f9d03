import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildBusyboxImage } from "../cluster/image.ts";
import { buildTools, canHave } from "../cluster/tools.ts";
import { type Buildah, canFindBuildah, findBuildah, subordinateIds, userNamespaces } from "./buildah.ts";
import { type Registry, startRegistry } from "./registry.ts";
import { run } from "./run.ts";

const possible = canHave("registry") && canFindBuildah() ? describe : describe.skip;
const asRoot = process.getuid?.() === 0;

possible("buildah and a registry (skipped without Go, or Debian's packages)", () => {
  let dir: string;
  let registry: Registry;
  beforeAll(async () => {
    await buildTools(() => {}, ["registry"]);
    await findBuildah();
    dir = await mkdtemp(join(tmpdir(), "buildah-"));
    registry = await startRegistry({ users: { robot: "password" } });
    await registry.pushLayout((await buildBusyboxImage(() => {})).layout, "base/busybox:1");
    await chmod(dir, 0o755);
    await writeFile(join(dir, "auth.json"), registry.dockerConfig("robot"), { mode: 0o644 });
  }, 20 * 60_000);
  afterAll(async () => {
    await registry?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  const context = async (name: string, lines: string[]) => {
    const folder = join(dir, name);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "Containerfile"), lines.join("\n"));
    return folder;
  };
  const commands = (buildah: Buildah, storage: string, folder: string, name: string) => {
    const common = ["--signature-policy", buildah.policy, "--tls-verify=false", "--authfile", join(dir, "auth.json")];
    const at = ["--root", join(storage, "root"), "--runroot", join(storage, "run")];
    return [
      [...at, "build", ...common, "-t", `${registry.host}/${name}`, folder],
      [...at, "push", ...common, "--digestfile", join(storage, "digest"), `${registry.host}/${name}`],
    ];
  };

  test("builds from nothing and pushes", async () => {
    const buildah = await findBuildah();
    const folder = await context("scratch", ["FROM scratch", "COPY Containerfile /it", "LABEL a=b"]);
    const storage = join(dir, "one");
    for (const args of commands(buildah, storage, folder, "team/scratch:1"))
      await run(buildah.path, args, { env: buildah.env });
    expect((await registry.manifest("team/scratch", "1"))?.digest).toBe(
      await readFile(join(storage, "digest"), "utf8"),
    );
    expect((await registry.imageConfig("team/scratch", "1")).config).toMatchObject({ Labels: { a: "b" } });
  });

  test("builds on an image of the registry, with RUN", async () => {
    const buildah = await findBuildah();
    const folder = await context("run", [
      `FROM ${registry.host}/base/busybox:1`,
      "RUN echo made > /made",
      "CMD cat /made",
    ]);
    for (const args of commands(buildah, join(dir, "two"), folder, "team/run:1"))
      await run(buildah.path, args, { env: buildah.env });
    expect((await registry.manifest("team/run", "1"))!.body.layers).toHaveLength(2);
  });

  test("a policy in HOME will do, too", async () => {
    const buildah = await findBuildah();
    const home = join(dir, "home");
    await buildah.prepareHome(home);
    const folder = await context("home", [`FROM ${registry.host}/base/busybox:1`]);
    const args = ["--root", join(home, "root"), "--runroot", join(home, "run"), "build", "--tls-verify=false", folder];
    await run(buildah.path, args, { env: { ...buildah.env, HOME: home, REGISTRY_AUTH_FILE: join(dir, "auth.json") } });
  });

  const rootless = asRoot && userNamespaces() ? test : test.skip;
  rootless("another user with subordinate ids builds and runs", async () => {
    const at = join(dir, "copy");
    const buildah = await findBuildah({ at });
    const storage = join(dir, "storage");
    await run("install", ["-d", "-o", "65534", "-g", "65534", storage]);
    await writeFile(join(dir, "ids"), subordinateIds(65534));
    const folder = await context("user", [
      `FROM ${registry.host}/base/busybox:1`,
      "RUN id -u && chown 7 /tmp && echo made > /made",
    ]);
    // The rows are bound over the machine's files for this child alone.
    const script = 'mount --bind "$1" /etc/subuid && mount --bind "$1" /etc/subgid && shift && exec "$@"';
    const user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", buildah.path];
    for (const args of commands(buildah, storage, folder, "team/user:1"))
      await run("unshare", ["--mount", "--", "sh", "-c", script, "sh", join(dir, "ids"), ...user, ...args], {
        env: { ...buildah.env, HOME: storage },
        cwd: folder,
      });
    expect(await registry.tags("team/user")).toEqual(["1"]);
  });
});
