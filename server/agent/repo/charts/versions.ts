import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import semver from "semver";
import { readJson } from "../../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { run } from "../../../base/process/run.ts";
import { authorizationOf } from "../auth/authorization.ts";
import { ask, refusal } from "../auth/http-request.ts";
import { findTool } from "../files/tool.ts";
import { type ChartList, REPO, type RepoAccess } from "../types.ts";
import { redactUrl } from "../url.ts";
import { RegistryClient } from "./registry.ts";

// The largest public index has 20 MB.
const MAX_INDEX_BYTES = 48_000_000;
const MAX_CHARTS = 5_000;
const MAX_VERSIONS = 1_000;

/** Charts of a Helm repository, or the versions at an address of a registry. */
export async function chartVersions(repo: RepoAccess): Promise<Outcome<ChartList>> {
  if (repo.refused) return stop(repo.refused.reason, repo.refused.message);
  if (repo.url.startsWith("oci://") || repo.type === "oci") return artifactVersions(repo);
  const index = await helmIndex(repo);
  return index.kind === "done" ? listed(index.value) : index;
}

/** The index of a Helm repository, bounded, and at least looking like one. */
export async function helmIndex(repo: RepoAccess): Promise<Outcome<Buffer>> {
  const url = repo.url.replace(/(?<!\/)\/+$/, "");
  const shown = redactUrl(url);
  if (!/^https?:\/\/[^\s\p{Cc}]+$/u.test(url))
    return stop(REPO.urlRefused, `chart repository ${shown} must begin with https:// or http://`);
  const authorization = await authorizationOf(repo);
  if (authorization.kind !== "done") return authorization;
  const got = await ask(`${url}/index.yaml`, repo, {
    authorization: authorization.value,
    maxBytes: MAX_INDEX_BYTES,
    shown,
  });
  if (got.kind !== "done") return got;
  const refused = refusal(got.value, shown, authorization.value !== undefined);
  if (refused) return refused;
  const { body } = got.value;
  const index =
    /^\s*(\{|"?(apiVersion|entries|generated)"?\s*:|#|---)/.test(body.subarray(0, 1_000).toString("utf8")) &&
    body.includes("entries");
  return index
    ? done(body)
    : stop(REPO.notRepository, `${shown} is not a chart repository: its index.yaml has no entries`);
}

async function artifactVersions(repo: RepoAccess): Promise<Outcome<ChartList>> {
  const url = (repo.url.includes("://") ? repo.url : `oci://${repo.url}`).replace(/(?<!\/)\/+$/, "");
  if (!RegistryClient.fits(url))
    return stop(REPO.urlRefused, `${redactUrl(url).slice(0, 200)} is not an address of a chart: oci://host/name`);
  const tags = await withRegistry({ ...repo, url }, (client) => client.tags());
  if (tags.kind !== "done") return tags;
  const versions = newestFirst(tags.value.map((tag) => tag.replaceAll("_", "+")));
  return done({ items: [{ name: url.slice(url.lastIndexOf("/") + 1), versions: versions.slice(0, MAX_VERSIONS) }] });
}

/** One client, gone when `question` is answered. */
export async function withRegistry<T>(
  repo: RepoAccess,
  question: (client: RegistryClient) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  const client = new RegistryClient(repo);
  try {
    return await question(client);
  } finally {
    await client.close();
  }
}

/** Helm reads its own format: a private folder in which the repository is already known, and no network. */
async function listed(index: Buffer): Promise<Outcome<ChartList>> {
  const folder = await mkdtemp(join(tmpdir(), "outpost-index-"));
  try {
    await writeFile(join(folder, "r-index.yaml"), index, { mode: 0o600 });
    await writeFile(
      join(folder, "repositories.yaml"),
      "apiVersion: v1\nrepositories: [{name: r, url: 'http://127.0.0.1:1'}]\n",
    );
    const ran = await run(findTool("helm"), {
      args: ["search", "repo", "r/", "--versions", "--devel", "--output=json"],
      cwd: folder,
      env: {
        HOME: folder,
        HELM_REPOSITORY_CACHE: folder,
        HELM_REPOSITORY_CONFIG: join(folder, "repositories.yaml"),
        HELM_PLUGINS: "/nonexistent",
        GOMEMLIMIT: "256MiB",
      },
      deadlineMs: 30_000,
      maxBytes: 64_000_000,
    });
    if (ran.kind !== "done") return ran.reason === "ToolMissing" ? stop(REPO.tool, "helm is not installed") : ran;
    const found: unknown = ran.value.code === 0 ? readJson(ran.value.stdout.toString("utf8") || "[]") : undefined;
    if (!Array.isArray(found))
      return stop(
        REPO.notRepository,
        `the index is damaged: ${ran.value.stderr.replaceAll(folder, "").trim().slice(0, 300)}`,
      );
    return done({ items: grouped(found) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function grouped(found: { name?: unknown; version?: unknown }[]): ChartList["items"] {
  const charts = new Map<string, string[]>();
  for (const { name, version } of found) {
    const chart = String(name ?? "").replace(/^r\//, "");
    if (!chart || typeof version !== "string") continue;
    const versions = charts.get(chart) ?? [];
    versions.push(version);
    charts.set(chart, versions);
  }
  return [...charts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, MAX_CHARTS)
    .map(([name, versions]) => ({ name, versions: newestFirst(versions).slice(0, MAX_VERSIONS) }));
}

/** Tags that are not versions come last, by name. */
export function newestFirst(versions: readonly string[]): string[] {
  const parsed = versions.map((name) => ({
    name,
    version: name.length <= 256 ? semver.parse(name.replace(/^v/, "")) : null,
  }));
  return parsed
    .sort((a, b) => {
      if (a.version && b.version) return semver.rcompare(a.version, b.version);
      if (a.version || b.version) return a.version ? -1 : 1;
      return a.name < b.name ? -1 : 1;
    })
    .map(({ name }) => name);
}
