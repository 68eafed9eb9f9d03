import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { again, done, type Outcome, stop } from "../../base/outcome.ts";
import { RUN_REASONS, run } from "../../base/run.ts";
import { findTool } from "./tool.ts";
import { BOUNDS } from "./tree.ts";
import { type Freshness, REPO, type RepoAccess } from "./types.ts";
import { redactUrl } from "./url.ts";
import { parseYaml } from "./yaml.ts";

const DEADLINE_MS = 90_000;
const EXACT = /^v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;

export interface Chart {
  /** The unpacked chart; nobody may change it. */
  folder: string;
  version: string;
  /** Of all its files. */
  digest: string;
}

/** Charts of Helm repositories and OCI registries, fetched by helm itself and kept by content. */
export class Charts {
  readonly #folder: string;
  readonly #known = new Map<string, Chart>();
  readonly #pulling = new Map<string, Promise<Outcome<Chart>>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The chart in the highest version that the range allows; an exact version that is here is not asked for again. */
  async find(repo: RepoAccess, chart: string, version: string, freshness: Freshness): Promise<Outcome<Chart>> {
    if (!/^[A-Za-z0-9][A-Za-z0-9._/-]*$/.test(chart) || chart.includes(".."))
      return stop(REPO.refused, `chart name ${JSON.stringify(chart)} is refused`);
    if (!/^(https?|oci):\/\/[^\s\p{Cc}]+$/u.test(address(repo)))
      return stop(REPO.urlRefused, `chart repository ${redactUrl(repo.url)} must begin with https://, http:// or oci://`);
    if (version.length > 200 || /\p{Cc}/u.test(version)) return stop(REPO.revision, "the chart's version is no version");
    const id = JSON.stringify([address(repo), repo.username ?? "", repo.password?.reveal() ?? "", chart, version]);
    const known = this.#known.get(id);
    if (known && (freshness === "cached" || (freshness === "normal" && EXACT.test(version)))) return done(known);
    let pulling = this.#pulling.get(id);
    if (!pulling) {
      pulling = this.#pull(repo, chart, version).finally(() => this.#pulling.delete(id));
      this.#pulling.set(id, pulling);
    }
    const pulled = await pulling;
    if (pulled.kind === "done") {
      if (this.#known.size > 1_000) this.#known.clear();
      this.#known.set(id, pulled.value);
    }
    return pulled;
  }

  async #pull(repo: RepoAccess, chart: string, version: string): Promise<Outcome<Chart>> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const work = await mkdtemp(join(this.#folder, "pull-"));
    try {
      const oci = address(repo).startsWith("oci://");
      const tls = repo.insecure ? ["--insecure-skip-tls-verify"] : [];
      const signIn = repo.password ? ["--username", repo.username ?? "", "--password-stdin"] : [];
      const url = address(repo).replace(/\/+$/, "");
      // The password goes through a pipe into helm's files in a private folder: an argument would be seen by every listing of processes.
      if (!oci || repo.password) {
        const args = oci
          ? ["registry", "login", ...signIn, ...(repo.insecure ? ["--insecure"] : []), "--", new URL(url).host]
          : ["repo", "add", ...signIn, ...tls, "--", "r", url];
        const signedIn = await this.#helm(work, args, repo, chart, repo.password?.reveal());
        if (signedIn.kind !== "done") return signedIn;
      }
      const args = ["pull", "--untar", `--untardir=${join(work, "out")}`, ...(version ? [`--version=${version}`] : []), ...tls];
      const pulled = await this.#helm(work, [...args, "--", oci ? `${url}/${chart}` : `r/${chart}`], repo, chart);
      if (pulled.kind !== "done") return pulled;
      return await this.#keep(join(work, "out"), chart);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }

  async #keep(out: string, chart: string): Promise<Outcome<Chart>> {
    const [name] = await readdir(out);
    if (!name) return stop(REPO.chartNotFound, `chart ${chart} is empty`);
    const hashed = await hashFiles(join(out, name));
    if (hashed.kind !== "done") return hashed;
    const parsed = parseYaml(await readFile(join(out, name, "Chart.yaml"), "utf8"), "Chart.yaml");
    if (parsed.kind !== "done") return parsed;
    const folder = join(this.#folder, hashed.value);
    // Somebody may have had the same content before: then that stays.
    await rename(join(out, name), folder).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
    return done({ folder, digest: hashed.value, version: String((parsed.value as { version?: unknown }).version ?? "") });
  }

  async #helm(work: string, args: string[], repo: RepoAccess, chart: string, stdin?: string): Promise<Outcome<void>> {
    const ran = await run(findTool("helm"), {
      args,
      cwd: work,
      env: {
        HOME: work,
        HELM_CACHE_HOME: work,
        HELM_CONFIG_HOME: work,
        HELM_DATA_HOME: work,
        HELM_PLUGINS: "/nonexistent",
        GOMEMLIMIT: "256MiB",
        ...(repo.proxy ? { HTTPS_PROXY: repo.proxy, HTTP_PROXY: repo.proxy } : {}),
      },
      inherit: ["PATH", "SSL_CERT_FILE", ...(repo.proxy ? [] : ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"])],
      stdin,
      deadlineMs: DEADLINE_MS,
      maxBytes: 1_000_000,
    });
    if (ran.kind !== "done")
      return ran.reason === RUN_REASONS.missing ? stop(REPO.tool, "helm is not installed") : again(REPO.unreachable, ran.message);
    if (ran.value.code === 0) return done(undefined);
    const why = redactUrl(
      ran.value.stderr
        .replace(/^WARNING:.*\n/gm, "")
        .replaceAll(work, "")
        .trim()
        .slice(0, 500),
    );
    const url = redactUrl(address(repo));
    if (/\b40[13]\b|unauthorized|denied|authentication required/i.test(why)) {
      return stop(
        REPO.authentication,
        repo.password ? `${url} does not accept the credentials given for it` : `${url} asks for credentials and none are given for it`,
      );
    }
    if (/not found in|no chart (version|name) found|matching version|improper constraint|could not locate a version/i.test(why))
      return stop(REPO.chartNotFound, `${url} has no such version of chart ${chart}: ${why}`);
    if (/\b404\b|not found/i.test(why)) return stop(REPO.notFound, `there is no chart repository at ${url}: ${why}`);
    return again(REPO.unreachable, `${url} cannot be used: ${why}`);
  }
}

/** Argo CD writes OCI registries without a scheme and marks the repository instead. */
const address = (repo: RepoAccess): string => (repo.type === "oci" && !repo.url.includes("://") ? `oci://${repo.url}` : repo.url);

/** One digest of all names and contents; links and more than a source may hold are refused. */
async function hashFiles(root: string): Promise<Outcome<string>> {
  const hash = createHash("sha256");
  let [files, bytes] = [0, 0];
  for (const entry of (await readdir(root, { recursive: true, withFileTypes: true })).sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1))) {
    if (entry.isDirectory()) continue;
    const path = pathOf(entry);
    if (!entry.isFile()) return stop(REPO.refused, `the chart holds ${path.slice(root.length + 1)}, which is no plain file`);
    bytes += (await stat(path)).size;
    if (++files > BOUNDS.files || bytes > BOUNDS.totalBytes) return stop(REPO.tooLarge, "the chart is larger than what is accepted");
    hash.update(`${path.slice(root.length)}\0`).update(
      createHash("sha256")
        .update(await readFile(path))
        .digest(),
    );
  }
  return done(hash.digest("hex"));
}

const pathOf = (entry: { parentPath: string; name: string }): string => join(entry.parentPath, entry.name);
