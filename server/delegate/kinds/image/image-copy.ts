import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { readJson } from "../../../base/json/nesting.ts";
import { MEDIA } from "../../../base/oci/client.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { TaskContext } from "../../kind.ts";
import { createTaskFile, openTaskFile, readTaskFile, type TaskFile } from "../../task/task-files.ts";
import type { ImageName } from "./image-ref.ts";
import { type ManifestBytes, RepositoryClient } from "./registry-client.ts";
import type { RegistryLogin } from "./registry-logins.ts";

/** Where an image comes from: a registry, or an OCI layout folder. */
export interface ImageSource {
  root: ManifestBytes & { digest: string };
  manifest(digest: string): Promise<Outcome<ManifestBytes>>;
  /** The blob's file, open, and where it is to be removed after use. */
  blob(digest: string): Promise<Outcome<{ file: TaskFile; remove?: string }>>;
}

interface Descriptor {
  digest: string;
  mediaType: string;
  size: number;
  urls?: unknown;
}

// More platforms or layers than real images have; a registry must not keep a delegate busy for ever.
const MAX_PARTS = 500;
const MAX_MANIFEST = 4 * 1024 * 1024;

export const sha256Of = (bytes: Uint8Array): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** Copies an image, all its platforms, bytes by bytes: its digest stays. Gives the digest. */
export async function pushImage(
  source: ImageSource,
  to: ImageName,
  logins: readonly RegistryLogin[],
  context: TaskContext,
): Promise<Outcome<string>> {
  if (to.digest !== undefined) return stop("ImageNameInvalid", "an image is pushed to a tag, not to a digest");
  const client = new RepositoryClient(to, logins, context);
  const pushed = await pushManifest(source, source.root, to.tag, client, context);
  return pushed.kind === "done" ? done(source.root.digest) : pushed;
}

async function pushManifest(
  source: ImageSource,
  manifest: ManifestBytes,
  name: string,
  to: RepositoryClient,
  context: TaskContext,
  depth = 0,
): Promise<Outcome<void>> {
  const parts = partsOf(manifest);
  if (parts.kind !== "done") return parts;
  for (const part of parts.value) {
    if (part.urls) continue;
    const sent = isIndex(manifest)
      ? await pushChild(source, part, to, context, depth)
      : await pushBlob(source, part, to, context);
    if (sent.kind !== "done") return sent;
  }
  return to.putManifest(name, manifest);
}

async function pushChild(
  source: ImageSource,
  part: Descriptor,
  to: RepositoryClient,
  context: TaskContext,
  depth: number,
): Promise<Outcome<void>> {
  if (depth > 2) return stop("ImageInvalid", "its indexes lie within each other");
  const child = await source.manifest(part.digest);
  return child.kind === "done" ? pushManifest(source, child.value, part.digest, to, context, depth + 1) : child;
}

async function pushBlob(
  source: ImageSource,
  { digest, size }: Descriptor,
  to: RepositoryClient,
  context: TaskContext,
): Promise<Outcome<void>> {
  const there = await to.hasBlob(digest);
  if (there.kind !== "done" || there.value) return there.kind === "done" ? done(undefined) : there;
  const blob = await source.blob(digest);
  if (blob.kind !== "done") return blob;
  try {
    const found = blob.value.file.size;
    if (found !== size) return stop("ImageInvalid", `${digest} has ${found} bytes, its manifest says ${size}`);
    // A registry of an attacker would take other bytes as well.
    if (`sha256:${await blob.value.file.digest("sha256")}` !== digest)
      return stop("DigestMismatch", `${digest} has other bytes than its name says`);
    await context.progress(`pushing ${digest.slice(7, 19)}, ${(size / 2 ** 20).toFixed(1)} MiB`);
    return await to.putBlob(digest, { size, open: blob.value.file.stream });
  } finally {
    await blob.value.file.close();
    if (blob.value.remove) await rm(blob.value.remove, { force: true });
  }
}

const isIndex = ({ mediaType }: ManifestBytes) => MEDIA.index.includes(mediaType);

function partsOf(manifest: ManifestBytes): Outcome<Descriptor[]> {
  const unknown = () =>
    stop(
      "ImageInvalid",
      `its manifest is of the type ${manifest.mediaType.slice(0, 100) || "unknown"}, which cannot be copied`,
    );
  if (!isIndex(manifest) && !MEDIA.image.includes(manifest.mediaType)) return unknown();
  let parts: unknown;
  try {
    const { config, layers, manifests } = readJson(manifest.bytes.toString("utf8")) as {
      config?: unknown;
      layers: unknown[];
      manifests?: unknown;
    };
    parts = isIndex(manifest) ? manifests : [config, ...layers];
  } catch {
    return stop("ImageInvalid", "its manifest is not JSON, or has no layers");
  }
  const fits = (part: Partial<Descriptor> | null) =>
    /^sha256:[0-9a-f]{64}$/.test(String(part?.digest)) && Number.isSafeInteger(part?.size);
  if (!Array.isArray(parts) || parts.length > MAX_PARTS || !parts.every(fits))
    return stop("ImageInvalid", "its manifest names parts without a sha256 digest or size");
  return done(parts as Descriptor[]);
}

/** An image of a registry. */
export async function fromRegistry(
  image: ImageName,
  logins: readonly RegistryLogin[],
  context: TaskContext,
): Promise<Outcome<ImageSource>> {
  const client = new RepositoryClient(image, logins, context);
  const get = async (reference: string): Promise<Outcome<ManifestBytes>> => {
    const got = await client.manifest(reference);
    if (got.kind !== "done") return got;
    const name = `${image.registry}/${image.repository}`;
    if (!got.value)
      return stop("ImageNotFound", `${name} has no ${reference}: check the name and that the login may see it`);
    if (reference.startsWith("sha256:") && sha256Of(got.value.bytes) !== reference)
      return stop("DigestMismatch", `${name} gave other bytes than ${reference}`);
    return done(got.value);
  };
  const root = await get(image.digest ?? image.tag);
  if (root.kind !== "done") return root;
  return done({
    root: { ...root.value, digest: sha256Of(root.value.bytes) },
    manifest: get,
    blob: async (digest) => {
      const { dir, tmp } = context.workspace;
      const name = digest.replace(":", "-");
      const saved = await client.saveBlob(digest, async () =>
        (await createTaskFile(dir, join(tmp, name))).createWriteStream(),
      );
      if (saved.kind !== "done") return saved;
      const file = await openTaskFile(dir, tmp, name);
      return file.kind === "done" ? done({ file: file.value, remove: join(tmp, name) }) : file;
    },
  });
}

/** The one image of an OCI layout folder of a workspace. Steps of a build may have left anything there. */
export async function fromLayout(workspace: string, layout: string): Promise<Outcome<ImageSource>> {
  const place = (digest: string) => `blobs/sha256/${digest.slice("sha256:".length)}`;
  const text = await readTaskFile(workspace, join(layout, "index.json"), MAX_MANIFEST);
  const index = parsed(text);
  const [only, more] = (index?.manifests ?? []) as Descriptor[];
  if (!only || more || !/^sha256:[0-9a-f]{64}$/.test(only.digest))
    return stop(
      "ImageInvalid",
      "it is not an OCI archive with one image; keep one with `archive` of image.build, or `skopeo copy … oci-archive:FILE`",
    );
  const types = new Map<string, string>();
  const read = async (digest: string, mediaType: string): Promise<Outcome<ManifestBytes>> => {
    const content = await readTaskFile(workspace, join(layout, place(digest)), MAX_MANIFEST);
    const bytes = content === undefined ? undefined : Buffer.from(content);
    if (!bytes || sha256Of(bytes) !== digest)
      return stop("ImageInvalid", `the archive does not hold ${digest} as it should`);
    for (const part of (readJson(bytes.toString("utf8")) as { manifests?: Descriptor[] }).manifests ?? [])
      types.set(part.digest, part.mediaType);
    return done({ bytes, mediaType });
  };
  const root = await read(only.digest, only.mediaType);
  if (root.kind !== "done") return root;
  return done({
    root: { ...root.value, digest: only.digest },
    manifest: (digest) => read(digest, types.get(digest) ?? ""),
    blob: async (digest) => {
      const file = await openTaskFile(workspace, layout, place(digest));
      return file.kind === "done"
        ? done({ file: file.value })
        : stop("ImageInvalid", `the archive does not hold ${digest}: ${file.message}`);
    },
  });
}

function parsed(text: string | undefined): { manifests?: unknown } | undefined {
  try {
    return text === undefined ? undefined : (readJson(text) as { manifests?: unknown });
  } catch {
    return undefined;
  }
}
