import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { toolPath } from "../../../test/cluster/apiserver.ts";
import { canHave } from "../../../test/cluster/tools.ts";
import { type Registry, startRegistry } from "../../../test/servers/registry.ts";
import { Secret } from "../../base/secret.ts";
import { type Bench, chart, configMap, startBench } from "./testing.ts";
import type { RenderRequest, RepoAccess, Source } from "./types.ts";

const LAYER = "application/vnd.oci.image.layer.v1.tar+gzip";

(canHave("registry") ? describe : describe.skip)("OCI registries", () => {
  let bench: Bench;
  let registry: Registry;
  const work = mkdtempSync(join(tmpdir(), "repo-oci-"));
  const user: Partial<RepoAccess> = { username: "ana", password: new Secret("canary-pass") };

  beforeAll(async () => {
    bench = await startBench();
    registry = await startRegistry({ users: { ana: "canary-pass" } });
    const helm = (...args: string[]) =>
      execFileSync(toolPath("helm"), args, { cwd: work, stdio: "pipe", env: { ...process.env, HOME: work } });
    helm("registry", "login", "--plain-http", "-u", "ana", "-p", "canary-pass", registry.host);
    for (const version of ["1.0.0", "1.2.0", "2.0.0-rc.1"]) {
      for (const [file, content] of Object.entries(chart("web/", "web", "", version))) {
        mkdirSync(dirname(join(work, file)), { recursive: true });
        writeFileSync(join(work, file), content);
      }
      helm("package", "web");
      helm("push", "--plain-http", `web-${version}.tgz`, `oci://${registry.host}/charts`);
    }
    const plain = tarOf({ "a.yaml": configMap("a"), "sub/b.yaml": configMap("b") });
    for (const tag of ["1.0.0", "1.1.0"]) await push(`team/plain:${tag}`, [[LAYER, gzipSync(plain)]]);
  }, 300_000);
  afterAll(async () => {
    await registry?.stop();
    await bench?.stop();
    rmSync(work, { recursive: true, force: true });
  });

  /** Uploads an artifact with these layers. */
  async function push(name: string, layers: [string, Buffer][]): Promise<string> {
    const layout = mkdtempSync(join(work, "layout-"));
    mkdirSync(join(layout, "blobs/sha256"), { recursive: true });
    const put = (bytes: Buffer, mediaType: string) => {
      const hex = createHash("sha256").update(bytes).digest("hex");
      writeFileSync(join(layout, "blobs/sha256", hex), bytes);
      return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
    };
    const parts = layers.map(([mediaType, bytes]) => put(bytes, mediaType));
    const config = put(Buffer.from("{}"), "application/vnd.oci.empty.v1+json");
    const mediaType = "application/vnd.oci.image.manifest.v1+json";
    const manifest = put(
      Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, config, layers: parts })),
      mediaType,
    );
    writeFileSync(join(layout, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [manifest] }));
    return registry.pushLayout(layout, name);
  }
  const asked = (path: string, source: Partial<Source>, repo: Partial<RepoAccess> = user): RenderRequest => {
    const repoURL = `oci://${registry.host}/${path}`;
    return bench.request(
      "none",
      { repoURL, ...source },
      { repo: { url: repoURL, type: "oci", forceHttp: true, ...repo } },
    );
  };

  test.each<[string, string, Partial<Source>, string[] | RegExp]>([
    ["a chart in a range", "charts", { chart: "web", targetRevision: "1.x" }, ["app-web"]],
    [
      "a chart that is not there",
      "charts",
      { chart: "nope", targetRevision: "1.0.0" },
      /^(ChartNotFound|RepositoryNotFound|AuthenticationFailed)/,
    ],
    ["a chart as a plain artifact", "charts/web", { targetRevision: "1.0.0" }, ["app-web"]],
    ["manifests by tag", "team/plain", { targetRevision: "1.0.0" }, ["a"]],
    ["manifests of a folder", "team/plain", { targetRevision: "1.0.0", path: "sub" }, ["b"]],
    ["manifests of all folders", "team/plain", { targetRevision: "1.0.0", directory: { recurse: true } }, ["a", "b"]],
    ["manifests in a range", "team/plain", { targetRevision: "^1" }, ["a"]],
    ["a tag that is not there", "team/plain", { targetRevision: "9.9.9" }, /^RevisionNotFound/],
    ["a path that is not there", "team/plain", { targetRevision: "1.0.0", path: "nope" }, /^PathNotFound/],
    ["a path out of it", "team/plain", { targetRevision: "1.0.0", path: "../x" }, /^PathEscapesRepository/],
    [
      "an artifact that is not there",
      "team/nope",
      { targetRevision: "1.0.0" },
      /^(RevisionNotFound|RepositoryNotFound)/,
    ],
    ["a name with dots", "team/..%2fx", { targetRevision: "1.0.0" }, /^RepositoryUrlRefused/],
  ])("%s", async (_, path, source, want) => {
    const got = await bench.names(asked(path, source));
    if (want instanceof RegExp) expect(String(got)).toMatch(want);
    else expect(got).toEqual(want);
  });
  test("the revision is a digest, or a chart's version", async () => {
    const plain = await bench.service.render(asked("team/plain", { targetRevision: "^1" }));
    const { digest } = (await registry.manifest("team/plain", "1.1.0"))!;
    expect(plain).toMatchObject({ kind: "done", value: { revision: digest } });
    const again = await bench.service.render(asked("team/plain", { targetRevision: digest }));
    expect(again).toMatchObject({ kind: "done", value: { revision: digest } });
    const packed = await bench.service.render(asked("charts", { chart: "web", targetRevision: ">=1.0.0-0" }));
    expect(packed).toMatchObject({ kind: "done", value: { revision: "2.0.0-rc.1" } });
  });
  test("credentials that are wrong or missing", async () => {
    const wrong = await bench.names(
      asked("team/plain", { targetRevision: "1.0.0" }, { username: "ana", password: new Secret("canary-wrong") }),
    );
    expect(wrong).toMatch(/^AuthenticationFailed: .* does not accept/);
    expect(wrong).not.toContain("canary");
    expect(await bench.names(asked("team/plain", { targetRevision: "1.0.0" }, {}))).toMatch(
      /^AuthenticationFailed: .* asks for/,
    );
  });
  test("a dependency of a chart comes from a registry that is registered, with its credentials", async () => {
    const dependencies = `dependencies: [{name: web, version: "1.x", repository: "oci://${registry.host}/charts"}]\n`;
    const name = await bench.repository(chart("", "c", dependencies));
    expect(await bench.names(bench.request(name))).toMatch(/^DependencyRefused/);
    const registered: RepoAccess = { url: `oci://${registry.host}`, type: "oci", forceHttp: true, ...user };
    const got = await bench.names(bench.request(name, {}, { charts: [registered] }));
    expect([...got].sort()).toEqual(["app-c", "app-web"]);
  });
  test.each<[string, () => [string, Buffer][], RegExp]>([
    [
      "two layers",
      () => [
        [LAYER, gzipSync(tarOf({ a: "1" }))],
        [LAYER, gzipSync(tarOf({ b: "1" }))],
      ],
      /^SourceUnsupported.*2 layers/,
    ],
    ["another kind of layer", () => [["application/x-executable", Buffer.from("x")]], /^SourceUnsupported/],
    ["no gzip", () => [[LAYER, Buffer.from("not gzip")]], /^SourceRefused.*damaged/],
    ["a gzip bomb", () => [[LAYER, gzipSync(Buffer.alloc(130_000_000))]], /^SourceTooLarge/],
    ["a path above", () => [[LAYER, gzipSync(tarOf({ "../../x.yaml": "1" }))]], /^SourceRefused/],
    ["an absolute path", () => [[LAYER, gzipSync(tarOf({ "/etc/x": "1" }))]], /^SourceRefused/],
    [
      "a link",
      () => [[LAYER, gzipSync(tarOf({ "a.yaml": { type: "2", to: "/etc/passwd" } }))]],
      /^SourceRefused.*not a plain file/,
    ],
    [
      "a hard link",
      () => [[LAYER, gzipSync(tarOf({ "a.yaml": { type: "1", to: "/etc/passwd" } }))]],
      /^SourceRefused.*not a plain file/,
    ],
    [
      "a device",
      () => [[LAYER, gzipSync(tarOf({ "a.yaml": { type: "3", to: "" } }))]],
      /^SourceRefused.*not a plain file/,
    ],
    ["a folder of git", () => [[LAYER, gzipSync(tarOf({ ".git/config": "1" }))]], /^SourceRefused/],
    [
      "a file that is a folder",
      () => [[LAYER, gzipSync(Buffer.concat([tarOf({ a: "1" }).subarray(0, 1024), tarOf({ "a/b": "1" })]))]],
      /^SourceRefused/,
    ],
    ["a size that lies", () => [[LAYER, gzipSync(tarOf({ a: "1" }, 99_999_999))]], /^SourceRefused.*ends early/],
    [
      "21,000 files",
      () => [[LAYER, gzipSync(tarOf(Object.fromEntries(Array.from({ length: 21_000 }, (_, i) => [`f${i}`, ""]))))]],
      /^SourceTooLarge/,
    ],
    ["40 levels", () => [[LAYER, gzipSync(tarOf({ [`${"d/".repeat(40)}a`]: "" }))]], /^SourceTooLarge/],
  ])("a hostile artifact is refused: %s", async (title, layers, want) => {
    const name = `hostile/${createHash("sha256").update(title).digest("hex").slice(0, 12)}`;
    await push(`${name}:1.0.0`, layers());
    expect(await bench.names(asked(name, { targetRevision: "1.0.0" }))).toMatch(want);
  });
});

type TarFile = string | { type: string; to: string };

/** A tar archive, also of what no tool would pack. */
function tarOf(files: Record<string, TarFile>, size?: number): Buffer {
  const blocks: Buffer[] = [];
  for (const [name, file] of Object.entries(files)) {
    const content = Buffer.from(typeof file === "string" ? file : "");
    const header = Buffer.alloc(512);
    header.write(name.slice(0, 100), 0);
    header.write("0000644\0", 100);
    header.write("0000000\0", 108);
    header.write("0000000\0", 116);
    header.write(`${(size ?? content.length).toString(8).padStart(11, "0")}\0`, 124);
    header.write("00000000000\0", 136);
    header.write("        ", 148);
    header.write(typeof file === "string" ? "0" : file.type, 156);
    if (typeof file !== "string") header.write(file.to, 157);
    header.write("ustar\0", 257);
    header.write("00", 263);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    blocks.push(header, content, Buffer.alloc((512 - (content.length % 512)) % 512));
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}
