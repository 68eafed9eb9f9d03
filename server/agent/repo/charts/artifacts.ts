import { digest as digestOf } from "../../../base/json/canonical.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { unpack } from "../files/unpack.ts";
import { BOUNDS, type Tree } from "../git/tree.ts";
import { highest } from "../revision.ts";
import { type Freshness, REPO, type RepoAccess } from "../types.ts";
import { identityOf, redactUrl } from "../url.ts";
import { type Artifact, RegistryClient } from "./registry.ts";

export const HELM_CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const LAYERS = new Set([
  "application/vnd.oci.image.layer.v1.tar",
  "application/vnd.oci.image.layer.v1.tar+gzip",
  HELM_CHART,
]);

export interface Unpacked {
  tree: Tree;
  /** The digest of the manifest: what the revision of an artifact is. */
  revision: string;
}

/** Artifacts of OCI registries that hold manifests or a chart in their only layer, kept by content. */
export class Artifacts {
  readonly #folder: string;
  readonly #known = new Map<string, Unpacked>();
  readonly #trees = new Map<string, Tree>();
  readonly #pulling = new Map<string, Promise<Outcome<Unpacked>>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** What a tag, a digest or a range of versions means now. */
  async find(repo: RepoAccess, revision: string, freshness: Freshness): Promise<Outcome<Unpacked>> {
    if (repo.refused) return stop(repo.refused.reason, repo.refused.message);
    if (!RegistryClient.fits(repo.url))
      return stop(
        REPO.urlRefused,
        `${redactUrl(repo.url).slice(0, 200)} is not an address of an artifact: oci://host/name`,
      );
    const wanted = !revision || revision === "HEAD" ? "latest" : revision;
    const id = digestOf([identityOf(repo), wanted]);
    const known = this.#known.get(id);
    if (known && freshness === "cached") return done(known);
    let pulling = this.#pulling.get(id);
    if (!pulling) {
      pulling = this.#pull(repo, wanted).finally(() => this.#pulling.delete(id));
      this.#pulling.set(id, pulling);
    }
    const pulled = await pulling;
    if (pulled.kind === "done") {
      if (this.#known.size > 1_000) this.#known.clear();
      this.#known.set(id, pulled.value);
    }
    return pulled;
  }

  async #pull(repo: RepoAccess, wanted: string): Promise<Outcome<Unpacked>> {
    const client = new RegistryClient(repo);
    try {
      const artifact = await resolveArtifact(client, wanted, redactUrl(repo.url));
      if (artifact.kind !== "done") return artifact;
      const { digest, layers } = artifact.value;
      // The right to read the manifest does not prove the right to read the layer.
      const id = digestOf([identityOf(repo), digest]);
      const before = this.#trees.get(id);
      if (before) return done({ tree: before, revision: digest });
      const [layer, ...more] = layers;
      if (!layer || more.length)
        return stop(
          REPO.unsupported,
          `${redactUrl(repo.url)} has ${layers.length} layers; an artifact of manifests has one`,
        );
      if (!LAYERS.has(layer.mediaType))
        return stop(
          REPO.unsupported,
          `${redactUrl(repo.url)} has a layer of type ${layer.mediaType.slice(0, 100)}, which holds no manifests`,
        );
      const blob = await client.blob(layer, BOUNDS.totalBytes);
      if (blob.kind !== "done") return blob;
      const kind = { gzip: layer.mediaType.endsWith("+gzip"), chart: layer.mediaType === HELM_CHART };
      const tree = await unpack(blob.value, this.#folder, kind);
      if (tree.kind !== "done") return { ...tree, message: `${redactUrl(repo.url)}: ${tree.message}` };
      if (this.#trees.size > 200) this.#trees.clear();
      this.#trees.set(id, tree.value);
      return done({ tree: tree.value, revision: digest });
    } finally {
      await client.close();
    }
  }
}

/** What a tag, a digest or a range of versions names. */
export async function resolveArtifact(client: RegistryClient, wanted: string, url: string): Promise<Outcome<Artifact>> {
  const plain = /^(sha256:[0-9a-f]{64}|[A-Za-z0-9_][A-Za-z0-9._-]{0,127})$/.test(wanted);
  const exact = plain ? await client.manifest(wanted) : done(undefined);
  if (exact.kind !== "done") return exact;
  if (exact.value) return done(exact.value);
  const tags = await client.tags();
  if (tags.kind !== "done") return tags;
  // Tags cannot have a plus sign: charts write an underscore for it.
  const tag = highest(
    wanted,
    tags.value.map((name) => name.replaceAll("_", "+")),
  )?.replaceAll("+", "_");
  const found = tag ? await client.manifest(tag) : done(undefined);
  if (found.kind !== "done") return found;
  return found.value ? done(found.value) : stop(REPO.revision, `${url} has no ${wanted.slice(0, 200)}`);
}
