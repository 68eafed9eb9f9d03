import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { cp, link, mkdir, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../servers/run.ts";

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
        annotations: {
          "io.containerd.image.name": reference,
          "org.opencontainers.image.ref.name": reference.split(":").at(-1),
        },
      },
    ],
  });
  return { image, manifest, index };
}

/** Writes an image as an OCI layout folder; layers are linked, not copied, so a quarter of a gigabyte costs nothing. */
export async function writeLayout(reference: string, layers: Layer[], config: ImageConfig, to: string): Promise<void> {
  const blobs = join(to, "blobs", "sha256");
  await mkdir(blobs, { recursive: true });
  const { image, manifest, index } = describeImage(reference, layers, config);
  for (const { bytes, digest } of [image, manifest]) await writeFile(join(blobs, digest), bytes);
  for (const { file, digest } of layers)
    await link(file, join(blobs, digest)).catch(() => cp(file, join(blobs, digest)));
  await writeFile(join(to, "index.json"), index.bytes);
  await writeFile(join(to, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
}

export async function sha256(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest("hex");
}
