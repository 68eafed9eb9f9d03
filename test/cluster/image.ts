import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { cp, link, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../servers/run.ts";
import { cacheRoot, once } from "./cache.ts";
import { type Progress, step } from "./progress.ts";
import { makeBase } from "./rootfs.ts";
import type { Programs } from "./tools.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** A layer of an image: an uncompressed tar whose digest is known. */
export interface Layer {
  file: string;
  digest: string;
  size: number;
}

/** The `config` part of an OCI image configuration. */
export interface ImageConfig {
  Entrypoint?: string[];
  Cmd?: string[];
  Env?: string[];
  User?: string;
  WorkingDir?: string;
}

const images = () => join(cacheRoot(), "images");

/** Packs a folder so that the same files give the same bytes: sorted, without owners and times. */
export async function packLayer(root: string, to: string): Promise<Layer> {
  const fresh = `${to}.${process.pid}.new`;
  const same = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"];
  await run("tar", [...same, "-C", root, "-cf", fresh, "."], { deadlineMs: 300_000 });
  await rename(fresh, to);
  return { file: to, digest: await sha256(to), size: (await stat(to)).size };
}

/** The three JSON documents of an OCI image, each with its bytes and digest. Pure, and the same for the same layers. */
export function describeImage(reference: string, layers: Omit<Layer, "file">[], config: ImageConfig) {
  const document = (value: unknown) => {
    const bytes = Buffer.from(JSON.stringify(value));
    return { bytes, digest: createHash("sha256").update(bytes).digest("hex"), size: bytes.length };
  };
  const type = (name: string) => `application/vnd.oci.image.${name}`;
  const image = document({
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    os: "linux",
    config,
    rootfs: { type: "layers", diff_ids: layers.map(({ digest }) => `sha256:${digest}`) },
    history: layers.map(() => ({ created: "1970-01-01T00:00:00Z" })),
  });
  const manifest = document({
    schemaVersion: 2,
    mediaType: type("manifest.v1+json"),
    config: { mediaType: type("config.v1+json"), digest: `sha256:${image.digest}`, size: image.size },
    layers: layers.map(({ digest, size }) => ({ mediaType: type("layer.v1.tar"), digest: `sha256:${digest}`, size })),
  });
  const index = document({
    schemaVersion: 2,
    mediaType: type("index.v1+json"),
    manifests: [
      {
        mediaType: type("manifest.v1+json"),
        digest: `sha256:${manifest.digest}`,
        size: manifest.size,
        annotations: { "io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference.split(":").at(-1) },
      },
    ],
  });
  return { image, manifest, index };
}

/** Writes an image as an OCI layout in a tar, which `ctr images import` reads. */
export async function writeImage(reference: string, layers: Layer[], config: ImageConfig, to: string): Promise<string> {
  await mkdir(images(), { recursive: true });
  const work = await mkdtemp(join(images(), ".work-"));
  try {
    const blobs = join(work, "blobs", "sha256");
    await mkdir(blobs, { recursive: true });
    const { image, manifest, index } = describeImage(reference, layers, config);
    for (const { bytes, digest } of [image, manifest]) await writeFile(join(blobs, digest), bytes);
    for (const { file, digest } of layers) await link(file, join(blobs, digest)).catch(() => cp(file, join(blobs, digest)));
    await writeFile(join(work, "index.json"), index.bytes);
    await writeFile(join(work, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
    await run("tar", ["-C", work, "-cf", `${to}.${process.pid}.new`, "oci-layout", "index.json", "blobs"], { deadlineMs: 300_000 });
    await rename(`${to}.${process.pid}.new`, to);
    return to;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The layer all our images stand on: node, git, ssh, helm, kustomize, redis-server and a shell, from this machine's own files. */
export async function buildBaseLayer(programs: Programs, progress: Progress): Promise<Layer> {
  const base = await makeBase(programs);
  const dir = join(images(), `base-${base.key}`);
  await once(dir, () =>
    step(progress, "building the base image", async () => {
      const root = join(dir, "root");
      await rm(root, { recursive: true, force: true });
      await base.fill(root);
      const { digest, size } = await packLayer(root, join(dir, "layer.tar"));
      await writeFile(join(dir, "layer.json"), JSON.stringify({ digest, size }));
      await rm(root, { recursive: true, force: true });
    }),
  );
  return { file: join(dir, "layer.tar"), ...JSON.parse(await readFile(join(dir, "layer.json"), "utf8")) };
}

/** Files of the image → files or folders of this machine. */
export type Files = Record<string, string>;

const APP: ImageConfig = {
  Entrypoint: ["node", "/app/outpost.mjs"],
  Env: ["PATH=/usr/local/bin:/usr/bin:/bin", "NODE_ENV=production", "HOME=/tmp", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],
  User: "1000:1000",
  WorkingDir: "/app",
};

/** An image of the base layer and one more with these files; a rebuild of the application rewrites only the second. */
export async function buildOnBase(
  reference: string,
  files: Files,
  config: ImageConfig,
  programs: Programs,
  progress: Progress,
): Promise<string> {
  const base = await buildBaseLayer(programs, progress);
  await mkdir(images(), { recursive: true });
  const work = await mkdtemp(join(images(), ".layer-"));
  try {
    const root = join(work, "root");
    await mkdir(root);
    for (const [to, from] of Object.entries(files)) await cp(from, join(root, to), { recursive: true, dereference: true });
    // Whoever runs it is not root, and the build may have made the files private.
    await run("chmod", ["-R", "u=rwX,go=rX", "--", root]);
    const layer = await packLayer(root, join(work, "layer.tar"));
    const short = createHash("sha256")
      .update(JSON.stringify([reference, base.digest, layer.digest, config]))
      .digest("hex")
      .slice(0, 12);
    const to = join(images(), `${fileName(reference)}-${short}.tar`);
    if (existsSync(to)) return to;
    // Only the newest build of an image is worth its quarter of a gigabyte.
    for (const old of await readdir(images())) if (isBuildOf(reference, old)) await rm(join(images(), old), { force: true });
    return await step(progress, `image ${reference}`, () => writeImage(reference, [base, layer], config, to));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

export interface AppImage {
  version: string;
  /** What goes under /app: `{ "outpost.mjs": "dist/outpost.mjs" }`, or the folder with everything. */
  files: Files | string;
  programs: Programs;
  progress: Progress;
  /** Default `outpost.local/outpost`. */
  name?: string;
}

/** The product's image. Gives the tar and the reference pods use. */
export async function buildAppImage({ version, files, programs, progress, name = "outpost.local/outpost" }: AppImage) {
  const reference = `${name}:${version}`;
  const under =
    typeof files === "string" ? { app: files } : Object.fromEntries(Object.entries(files).map(([to, from]) => [join("app", to), from]));
  return { reference, tar: await buildOnBase(reference, under, APP, programs, progress) };
}

/** The page that examples deploy: `outpost.local/guestbook`, on port 8080. */
export async function buildGuestbookImage(programs: Programs, progress: Progress, version = "1") {
  const reference = `outpost.local/guestbook:${version}`;
  const config = { ...APP, Entrypoint: ["node", "/app/server.mjs"], Env: [...APP.Env!, `GREETING=Guestbook ${version}`] };
  return { reference, tar: await buildOnBase(reference, { app: join(here, "guestbook") }, config, programs, progress) };
}

/** The image of pods' first containers: one static program. */
export async function buildPauseImage(progress: Progress): Promise<string> {
  const source = join(here, "pause", "main.go");
  const dir = join(images(), `pause-${(await sha256(source)).slice(0, 12)}`);
  await once(dir, () =>
    step(progress, "building the pause image", async () => {
      const root = join(dir, "root");
      await mkdir(root, { recursive: true });
      const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off", GO111MODULE: "off" };
      await run("go", ["build", "-trimpath", "-ldflags", "-s -w", "-o", join(root, "pause"), source], {
        env,
        cwd: dir,
        deadlineMs: 300_000,
      });
      const layer = await packLayer(root, join(dir, "layer.tar"));
      await writeImage("outpost.local/pause:1", [layer], { Entrypoint: ["/pause"] }, join(dir, "image.tar"));
    }),
  );
  return join(dir, "image.tar");
}

const fileName = (reference: string) => reference.replaceAll(/[^a-z0-9.]+/gi, "-");

/** Whether a file of the cache is a build of this reference; its name ends with 12 digits. */
export const isBuildOf = (reference: string, file: string) =>
  file.startsWith(`${fileName(reference)}-`) && /^[0-9a-f]{12}\.tar$/.test(file.slice(fileName(reference).length + 1));

async function sha256(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest("hex");
}
