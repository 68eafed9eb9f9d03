import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../servers/run.ts";
import { cacheRoot, once } from "./cache.ts";
import { basePackages, unpack } from "./debian.ts";
import { type ImageConfig, type Layer, packLayer, sha256, writeLayout } from "./oci.ts";
import { type Progress, step } from "./progress.ts";
import { FROM_DEBIAN, makeBase } from "./rootfs.ts";
import { type Programs, which } from "./tools.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** An image of the cache: what pods call it, and its OCI layout folder, which `ClusterNode.importImage` takes. */
export interface Image {
  reference: string;
  layout: string;
}

const images = () => join(cacheRoot(), "images");

/** The layer all our images stand on: node, git, ssh, helm, kustomize, jsonnet, redis-server and a shell, from this machine's own files. */
export async function buildBaseLayer(programs: Programs, progress: Progress): Promise<Layer> {
  const packages = FROM_DEBIAN.every((program) => which(program)) ? [] : [await unpack("base", basePackages, progress)];
  const base = await makeBase(programs, packages);
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
  Env: [
    "PATH=/usr/local/bin:/usr/bin:/bin",
    "NODE_ENV=production",
    "HOME=/tmp",
    "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
  ],
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
): Promise<Image> {
  const base = await buildBaseLayer(programs, progress);
  const work = await mkdtemp(join(images(), ".work-"));
  try {
    const root = join(work, "root");
    await mkdir(root);
    for (const [to, from] of Object.entries(files))
      await cp(from, join(root, to), { recursive: true, dereference: true });
    // The user who runs it is not root, and the build may have made the files private.
    await run("chmod", ["-R", "u=rwX,go=rX", "--", root]);
    const layer = await packLayer(root, join(work, "layer.tar"));
    const key = createHash("sha256")
      .update(JSON.stringify([base.digest, layer.digest, config]))
      .digest("hex")
      .slice(0, 12);
    const layout = join(images(), `${fileName(reference)}-${key}`);
    if (!existsSync(layout)) {
      await writeLayout(reference, [base, layer], config, join(work, "layout"));
      // Two runs may make the same image; the one that is later finds the folder taken.
      await rename(join(work, "layout"), layout).catch((error: Error) => {
        if (!existsSync(layout)) throw error;
      });
      await prune(reference, layout);
      progress(`image ${reference}: ${(layer.size / 2 ** 20).toFixed(1)} MiB on the base`);
    }
    return { reference, layout };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Older builds of an image are kept for a day, as another run may be about to import one. */
const KEEP_MS = 24 * 3600_000;

async function prune(reference: string, newest: string): Promise<void> {
  for (const name of await readdir(images())) {
    const folder = join(images(), name);
    if (!isBuildOf(reference, name) || folder === newest) continue;
    if (Date.now() - (await stat(folder)).mtimeMs > KEEP_MS) await rm(folder, { recursive: true, force: true });
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

/** The product's image. */
export async function buildAppImage({
  version,
  files,
  programs,
  progress,
  name = "outpost.local/outpost",
}: AppImage): Promise<Image> {
  const reference = `${name}:${version}`;
  const under =
    typeof files === "string"
      ? { app: files }
      : Object.fromEntries(Object.entries(files).map(([to, from]) => [join("app", to), from]));
  return buildOnBase(reference, under, APP, programs, progress);
}

/** The page that examples deploy: `outpost.local/guestbook`, on port 8080. */
export async function buildGuestbookImage(programs: Programs, progress: Progress, version = "1"): Promise<Image> {
  const reference = `outpost.local/guestbook:${version}`;
  const config = {
    ...APP,
    Entrypoint: ["node", "/app/server.mjs"],
    Env: [...APP.Env!, `GREETING=Guestbook ${version}`],
  };
  return buildOnBase(reference, { app: join(here, "guestbook") }, config, programs, progress);
}

/** The image of pods' first containers: one static program. */
export async function buildPauseImage(progress: Progress): Promise<Image> {
  const source = join(here, "pause", "main.go");
  const dir = join(images(), `pause-${(await sha256(source)).slice(0, 12)}`);
  const reference = "outpost.local/pause:1";
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
      await writeLayout(reference, [layer], { Entrypoint: ["/pause"] }, join(dir, "layout"));
    }),
  );
  return { reference, layout: join(dir, "layout") };
}

/** Debian's static busybox with its programs as links: the smallest image in which `RUN` has a shell. About 2 MB. */
export async function buildBusyboxImage(progress: Progress): Promise<Image> {
  const { dir: from } = await unpack("busybox", ["busybox-static"], progress);
  const reference = "outpost.local/busybox:1";
  const busybox = join(from, "bin/busybox");
  const dir = join(images(), `busybox-${(await sha256(busybox)).slice(0, 12)}`);
  await once(dir, async () => {
    const root = join(dir, "root");
    for (const folder of ["bin", "etc", "root", "tmp"]) await mkdir(join(root, folder), { recursive: true });
    await cp(busybox, join(root, "bin/busybox"));
    const { stdout } = await run(busybox, ["--list"]);
    for (const name of stdout.split("\n")) {
      if (name && name !== "busybox") await symlink("busybox", join(root, "bin", name)).catch(() => {});
    }
    await writeFile(join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n");
    await writeFile(join(root, "etc/group"), "root:x:0:\n");
    await run("chmod", ["-R", "u=rwX,go=rX", "--", root]);
    const layer = await packLayer(root, join(dir, "layer.tar"));
    const config = { Cmd: ["sh"], Env: ["PATH=/usr/local/bin:/usr/bin:/bin"] };
    await writeLayout(reference, [layer], config, join(dir, "layout"));
    await rm(root, { recursive: true, force: true });
  });
  return { reference, layout: join(dir, "layout") };
}

const fileName = (reference: string) => reference.replaceAll(/[^a-z0-9.]+/gi, "-");

/** Whether a folder of the cache is a build of this reference; its name ends with 12 digits. */
export const isBuildOf = (reference: string, folder: string) =>
  folder.startsWith(`${fileName(reference)}-`) && /^[0-9a-f]{12}$/.test(folder.slice(fileName(reference).length + 1));
