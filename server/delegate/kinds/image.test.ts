import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { buildBusyboxImage } from "../../../test/cluster/image.ts";
import { canHave } from "../../../test/cluster/tools.ts";
import { type Buildah, canFindBuildah, findBuildah } from "../../../test/servers/buildah.ts";
import { type Registry, startRegistry } from "../../../test/servers/registry.ts";
import { freePort } from "../../../test/servers/run.ts";
import { findMarked } from "../process/tree.ts";
import { type KindBench, kindBench } from "../testing/kind.ts";
import { temporaryFolder, until } from "../testing/temporary.ts";
import { imageBuild } from "./image/image-build.ts";
import { imagePush } from "./image/image-push.ts";
import { registryLogin } from "./image/registry-login.ts";

const possible = canHave("registry") && canFindBuildah() ? describe : describe.skip;
jest.setTimeout(120_000);

possible("images, with buildah and a registry (skipped without Go, or Debian's packages)", () => {
  const dir = temporaryFolder();
  const password = "pass word-9f3k2:x";
  let registry: Registry;
  let secure: Registry;
  let buildah: Buildah;
  let bench: KindBench;
  let login: { registry: string; username: string; password: string; plainHttp: boolean };
  let base: string;

  beforeAll(async () => {
    buildah = await findBuildah();
    registry = await startRegistry({ users: { robot: password } });
    secure = await startRegistry({ users: { robot: password }, tls: true });
    await registry.pushLayout((await buildBusyboxImage(() => {})).layout, "base/busybox:1");
    base = `${registry.host}/base/busybox:1`;
    login = { registry: registry.host, username: "robot", password, plainHttp: true };
    // A buildah that notes its arguments and environment for the tests to look at.
    mkdirSync(join(dir, "bin"));
    const script = `#!/bin/sh\nprintf '%s\\n' "$*" >> '${join(dir, "args")}'\nexec '${buildah.path}' "$@"\n`;
    writeFileSync(join(dir, "bin/buildah"), script, { mode: 0o755 });
    bench = kindBench(dir, { PATH: `${join(dir, "bin")}:${buildah.env.PATH}` });
  }, 20 * 60_000);
  afterAll(async () => {
    await registry?.stop();
    await secure?.stop();
  });

  const files = (lines: string[], more: Record<string, string> = {}) => ({
    files: { Dockerfile: lines.join("\n"), ...more },
  });

  test("a build is pushed under each tag, and its digest is the registry's", async () => {
    const tags = [`${registry.host}/team/app:1`, `${registry.host}/team/app:latest`];
    const result = await bench.run(imageBuild, {
      source: files(
        [`FROM ${base}`, "ARG WHO", "COPY hello.txt /hello.txt", 'RUN echo "$WHO" > /who', "CMD cat /who"],
        {
          "hello.txt": "hello",
        },
      ),
      tags,
      buildArgs: { WHO: "value of the argument" },
      labels: { "org.example.made": "by a task" },
      registries: [login],
    });
    expect(result).toMatchObject({ outcome: "succeeded", outputs: { tags } });
    const manifest = await registry.manifest("team/app", "1");
    expect(result.outputs!.digest).toBe(manifest!.digest);
    expect((await registry.manifest("team/app", "latest"))!.digest).toBe(manifest!.digest);
    expect((await registry.imageConfig("team/app", "1")).config).toMatchObject({
      Labels: { "org.example.made": "by a task" },
    });
    const args = readFileSync(join(dir, "args"), "utf8");
    expect([
      args.includes(password),
      args.includes("value of the argument"),
      result.log.join("\n").includes(password),
    ]).toEqual([false, false, false]);
  });

  test("an archive is kept without a push, and pushed from there with the same digest to a registry with TLS", async () => {
    const tags = [`${secure.host}/team/kept:1`];
    const made = await bench.run(imageBuild, {
      source: files(["FROM scratch", "COPY Dockerfile /it"]),
      tags,
      push: false,
      archive: "image.tar",
    });
    expect(made).toMatchObject({ outcome: "succeeded", outputs: { digest: expect.stringMatching(/^sha256:/) } });
    const task = made.dir.split("/").at(-1)!.split(".")[0]!;
    const auth = {
      registry: secure.host,
      username: "robot",
      password,
      caCertificate: readFileSync(secure.ca!, "utf8"),
    };
    const pushed = await bench.run(imagePush, { artifact: { task, name: "image.tar" }, to: tags, registries: [auth] });
    expect(pushed).toMatchObject({ outcome: "succeeded", outputs: { digest: made.outputs!.digest, tags } });
    expect((await secure.manifest("team/kept", "1"))!.digest).toBe(made.outputs!.digest);
  });

  test("an image goes from one registry to another byte by byte", async () => {
    const auth = {
      registry: secure.host,
      username: "robot",
      password,
      caCertificate: readFileSync(secure.ca!, "utf8"),
    };
    const result = await bench.run(imagePush, {
      from: base,
      to: [`${secure.host}/copies/busybox:1`],
      registries: [login, auth],
    });
    const there = await registry.manifest("base/busybox", "1");
    expect(result).toMatchObject({ outcome: "succeeded", outputs: { digest: there!.digest } });
    expect((await secure.manifest("copies/busybox", "1"))!.digest).toBe(there!.digest);
  });

  test("a step that fails is named with what it said", async () => {
    const source = files([`FROM ${base}`, "RUN echo no such luck >&2; exit 3"]);
    const result = await bench.run(imageBuild, {
      source,
      tags: [`${registry.host}/team/broken:1`],
      registries: [login],
    });
    expect(result).toMatchObject({
      outcome: "failed",
      reason: "BuildFailed",
      message: expect.stringMatching(/at "RUN echo no such luck.*no such luck/s),
    });
    expect(await registry.tags("team/broken")).toEqual([]);
  });

  test.each<[string, string[], RegExp]>([
    ["a line that is none", ["FROM scratch", "COYP a b"], /COYP/i],
    ["a base that is not there", ["FROM HOST/base/none:1"], /none/],
  ])("%s ends the build and is named", async (_name, lines, want) => {
    const source = files(lines.map((line) => line.replace("HOST", registry.host)));
    const result = await bench.run(imageBuild, {
      source,
      tags: [`${registry.host}/team/wrong:1`],
      registries: [login],
    });
    expect(result).toMatchObject({ outcome: "failed", reason: "BuildFailed", message: expect.stringMatching(want) });
  });

  test("a file outside of the context is not reached by a link", async () => {
    const source = { files: { "d/Dockerfile": "FROM scratch", x: "y" } };
    const tags = [`${registry.host}/team/x:1`];
    expect(await bench.run(imageBuild, { source, context: "none", tags })).toMatchObject({ reason: "PathNotFound" });
    expect(await bench.run(imageBuild, { source, dockerfile: "none", tags })).toMatchObject({ reason: "PathNotFound" });
  });

  test("a build argument cannot turn the builder itself", async () => {
    const tags = [`${registry.host}/team/x:1`];
    const result = await bench.run(imageBuild, {
      source: files(["FROM scratch"]),
      tags,
      buildArgs: { CONTAINERS_STORAGE_CONF: "/etc" },
    });
    expect(result).toMatchObject({
      reason: "ParamsInvalid",
      message: expect.stringContaining("CONTAINERS_STORAGE_CONF"),
    });
  });

  test("what a step has started is gone when the task ends before its time", async () => {
    const source = files([`FROM ${base}`, "RUN echo it has begun; sleep 1000 & sleep 1001"]);
    const running = bench.run(
      imageBuild,
      { source, tags: [`${registry.host}/team/slow:1`], registries: [login] },
      { timeoutSeconds: 15 },
    );
    await until("its step runs", () => sleepers() === 2);
    const result = await running;
    expect(result.outcome).toBe("failed");
    expect(result.log).toContain("it has begun");
    await until(
      "nothing of it runs",
      () => findMarked(`OUTPOST_WORKSPACE=${result.dir}`).length === 0 && sleepers() === 0,
    );
  });

  test.each<[string, () => Partial<typeof login>, string, RegExp]>([
    ["a wrong password", () => ({ password: "wrong password" }), "LoginRefused", /rejects the login of robot/],
    ["no login", () => ({ username: undefined, password: undefined }) as never, "LoginRefused", /asks for a login/],
  ])("a push with %s says so", async (_name, change, reason, message) => {
    const { username, password, ...rest } = { ...login, ...change() };
    const auth = username === undefined ? rest : { ...rest, username, password };
    const result = await bench.run(imagePush, { from: base, to: [`${registry.host}/team/y:1`], registries: [auth] });
    expect(result).toMatchObject({ outcome: "failed", reason, message: expect.stringMatching(message) });
  });

  test("an image that is not there, and names that are none, are told", async () => {
    const to = [`${registry.host}/team/y:1`];
    const run = (from: string, target = to) => bench.run(imagePush, { from, to: target, registries: [login] });
    expect(await run(`${registry.host}/base/none:1`)).toMatchObject({
      reason: "ImageNotFound",
      message: expect.stringContaining("none"),
    });
    expect(await run(`${registry.host}/base/busybox@sha256:${"0".repeat(64)}`)).toMatchObject({
      reason: "ImageNotFound",
    });
    expect(await run(base, [`${registry.host}/Team/y:1`])).toMatchObject({ reason: "ImageNameInvalid" });
    expect(await run(base, [`${registry.host}/team/y@sha256:${"0".repeat(64)}`])).toMatchObject({
      reason: "ImageNameInvalid",
    });
    expect(await bench.run(imagePush, { to })).toMatchObject({ reason: "ParamsInvalid" });
  });

  test("a login is proved, and nothing of it stays", async () => {
    expect(await bench.run(registryLogin, { login })).toMatchObject({
      outcome: "succeeded",
      outputs: { registry: registry.host, username: "robot" },
    });
    const wrong = await bench.run(registryLogin, { login: { ...login, password: "wrong password" } });
    expect(wrong).toMatchObject({
      outcome: "failed",
      reason: "LoginRefused",
      message: expect.stringContaining("robot"),
    });
  });

  test("an open registry proves no login", async () => {
    const open = await startRegistry();
    try {
      expect(await bench.run(registryLogin, { login: { ...login, registry: open.host } })).toMatchObject({
        reason: "LoginNotAsked",
      });
    } finally {
      await open.stop();
    }
  });

  test("a certificate that is not trusted is told, and none is passed over", async () => {
    const result = await bench.run(registryLogin, { login: { registry: secure.host, username: "robot", password } });
    expect(result).toMatchObject({
      outcome: "failed",
      reason: "TlsFailed",
      message: expect.stringMatching(/certificate/),
    });
  });

  test("a registry that is not there is told", async () => {
    const auth = { ...login, registry: `127.0.0.1:${await freePort()}` };
    const result = await bench.run(registryLogin, { login: auth }, { timeoutSeconds: 8 });
    expect(result).toMatchObject({
      outcome: "failed",
      reason: "RegistryUnreachable",
      message: expect.stringMatching(/no connection/),
    });
  });
});

/** Processes of the test's own sleeps, wherever they were moved. */
const sleepers = () =>
  readdirSync("/proc").filter((pid) => {
    try {
      return /^(sleep\0|.*\0sleep\0)100[01]\0/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    } catch {
      return false;
    }
  }).length;
