import { isMetadata, refusedFrom, safeAddresses } from "../../../base/cloud/address.ts";
import { digest } from "../../../base/json/canonical.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { parseYaml } from "../../../kube/yaml.ts";
import { authorizationOf } from "../auth/authorization.ts";
import { ask, refusal } from "../auth/http-request.ts";
import { unpack } from "../files/unpack.ts";
import type { Tree } from "../git/tree.ts";
import { type Freshness, REPO, type RepoAccess } from "../types.ts";
import { identityOf, redactUrl } from "../url.ts";
import { HELM_CHART, resolveArtifact } from "./artifacts.ts";
import { findInIndex } from "./chart-index.ts";
import { RegistryClient } from "./registry.ts";
import { helmIndex } from "./versions.ts";

const DEADLINE_MS = 90_000;
// The largest public charts have 2 MB, packed.
const MAX_ARCHIVE_BYTES = 20_000_000;
const MAX_CHART_YAML = 1_000_000;
const EXACT = /^v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;

export interface Chart {
  /** The files of the unpacked chart. */
  tree: Tree;
  version: string;
}

/** Charts of Helm repositories and OCI registries, fetched by us, so that every step is judged, and kept by content. */
export class Charts {
  readonly #folder: string;
  readonly #known = new Map<string, Chart>();
  readonly #pulling = new Map<string, Promise<Outcome<Chart>>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The chart in the highest version that the range allows; an exact version that is here is not asked for again. */
  async find(
    repo: RepoAccess,
    chart: string,
    version: string,
    freshness: Freshness,
    passCredentials = false,
  ): Promise<Outcome<Chart>> {
    if (repo.refused) return stop(repo.refused.reason, repo.refused.message);
    if (!/^[A-Za-z0-9][A-Za-z0-9._/-]*$/.test(chart) || chart.includes(".."))
      return stop(REPO.refused, `chart name ${JSON.stringify(chart)} is refused`);
    if (!/^(https?|oci):\/\/[^\s\p{Cc}]+$/u.test(address(repo)))
      return stop(
        REPO.urlRefused,
        `chart repository ${redactUrl(repo.url)} must begin with https://, http:// or oci://`,
      );
    const at = address(repo).replace(/^oci:/, "https:");
    if (!URL.canParse(at) || isMetadata(new URL(at).hostname))
      return stop(REPO.urlRefused, `chart repository ${redactUrl(repo.url)} is at a refused address`);
    if (version.length > 200 || /\p{Cc}/u.test(version))
      return stop(REPO.revision, "the chart's version is not a version");
    const id = digest([
      identityOf({ ...repo, url: address(repo) }),
      chart,
      version,
      passCredentials,
      repo.borrowed === true,
    ]);
    const known = this.#known.get(id);
    if (known && (freshness === "cached" || (freshness === "normal" && EXACT.test(version)))) return done(known);
    let pulling = this.#pulling.get(id);
    if (!pulling) {
      pulling = this.#pull(repo, chart, version, passCredentials).finally(() => this.#pulling.delete(id));
      this.#pulling.set(id, pulling);
    }
    const pulled = await pulling;
    if (pulled.kind === "done") {
      if (this.#known.size > 1_000) this.#known.clear();
      this.#known.set(id, pulled.value);
    }
    return pulled;
  }

  async #pull(repo: RepoAccess, chart: string, version: string, passCredentials: boolean): Promise<Outcome<Chart>> {
    const url = address(repo).replace(/(?<!\/)\/+$/, "");
    const at = { ...repo, url };
    const got = url.startsWith("oci://")
      ? await fromRegistry({ ...at, url: `${url}/${chart}` }, version)
      : await this.#fromIndex(at, chart, version, passCredentials);
    if (got.kind !== "done") return { ...got, message: `chart ${chart}: ${got.message}` };
    const tree = await unpack(got.value, this.#folder, { gzip: true, chart: true });
    if (tree.kind !== "done") return { ...tree, message: `chart ${chart}: ${tree.message}` };
    const read = await fileOf(tree.value, "Chart.yaml");
    if (read.kind !== "done") return stop(REPO.chartNotFound, `chart ${chart} has no Chart.yaml`);
    const parsed = parseYaml(read.value.toString("utf8"), "Chart.yaml");
    if (parsed.kind !== "done") return parsed;
    return done({ tree: tree.value, version: String((parsed.value as { version?: unknown } | null)?.version ?? "") });
  }

  /** The archive of a version that the repository's index has; the index may say that it is anywhere. */
  async #fromIndex(
    repo: RepoAccess,
    chart: string,
    version: string,
    passCredentials: boolean,
  ): Promise<Outcome<Buffer>> {
    const index = await helmIndex(repo);
    if (index.kind !== "done") return index;
    const found = findInIndex(index.value, chart, version);
    if (found.kind !== "done") return found;
    const own = new URL(`${repo.url}/`);
    const url = URL.canParse(found.value.url, own.href) ? new URL(found.value.url, own) : undefined;
    if (!url) return stop(REPO.urlRefused, `the index of ${redactUrl(repo.url)} has no address for it`);
    const { proxy, noProxy } = repo;
    if (url.protocol === "oci:") {
      const tag = /^(.*):([^:/]+)$/.exec(url.href.replace(/[?#].*$/, ""));
      return fromRegistry({ url: tag?.[1] ?? url.href, proxy, noProxy }, tag?.[2] ?? found.value.version);
    }
    // A password is for its own host, unless the application says that the index may be trusted with it.
    const same = url.origin === own.origin;
    const refused = refusedFrom(own.hostname);
    if (refused(url.hostname) || (!same && (await safeAddresses(url.hostname, refused))?.length === 0))
      return stop(REPO.urlRefused, `the index of ${redactUrl(repo.url)} leads to a refused address`);
    const signIn =
      same || (passCredentials && !repo.borrowed && (url.protocol === "https:" || own.protocol === "http:"));
    const authorization = signIn ? await authorizationOf(repo) : done(undefined);
    if (authorization.kind !== "done") return authorization;
    const shown = redactUrl(url.href);
    const access = same ? repo : { url: url.href, proxy, noProxy, ...(repo.insecure ? { insecure: true } : {}) };
    const ask_ = { authorization: authorization.value, maxBytes: MAX_ARCHIVE_BYTES, shown, deadlineMs: DEADLINE_MS };
    const got = await ask(url.href, access, ask_);
    if (got.kind !== "done") return got;
    return refusal(got.value, shown, authorization.value !== undefined) ?? done(got.value.body);
  }
}

/** The archive that a registry keeps as a chart's layer. */
async function fromRegistry(repo: RepoAccess, version: string): Promise<Outcome<Buffer>> {
  if (!RegistryClient.fits(repo.url))
    return stop(REPO.urlRefused, `${redactUrl(repo.url).slice(0, 200)} is not an address of a chart`);
  const client = new RegistryClient(repo);
  try {
    // A tag has an underscore where a version has a plus sign.
    const artifact = await resolveArtifact(client, (version || "*").replaceAll("+", "_"), redactUrl(repo.url));
    if (artifact.kind !== "done")
      return artifact.reason === REPO.revision ? { ...artifact, reason: REPO.chartNotFound } : artifact;
    const layer = artifact.value.layers.find(({ mediaType }) => mediaType === HELM_CHART);
    if (!layer) return stop(REPO.unsupported, `${redactUrl(repo.url)} holds no chart`);
    return await client.blob(layer, MAX_ARCHIVE_BYTES);
  } finally {
    await client.close();
  }
}

async function fileOf(tree: Tree, path: string): Promise<Outcome<Buffer>> {
  const found = await tree.find(path);
  return found.kind === "done" ? tree.blob(found.value.sha, path, MAX_CHART_YAML) : found;
}

/** Argo CD writes OCI registries without a scheme and marks the repository instead. */
const address = (repo: RepoAccess): string =>
  repo.type === "oci" && !repo.url.includes("://") ? `oci://${repo.url}` : repo.url;
