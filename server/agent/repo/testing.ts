import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toolPath } from "../../../test/cluster/apiserver.ts";
import { type Change, type GitServer, startGit } from "../../../test/servers/git.ts";
import { MemoryCache } from "../cache/memory.ts";
import { RepoService, type RepoServiceOptions } from "./service.ts";
import type { RenderRequest, RepoAccess, Source, SourceAccess } from "./types.ts";

type More = Partial<RenderRequest> & { repo?: RepoAccess };

/** A repo server with real tools and a real Git server, for tests of this room. */
export interface Bench {
  git: GitServer;
  service: RepoService;
  /** A new repository with these files; answers its name. */
  repository(files: Record<string, Change>): Promise<string>;
  source(name: string, source?: Partial<Source>): SourceAccess;
  request(name: string, source?: Partial<Source>, more?: More): RenderRequest;
  /** Names of the objects, or `Reason: message`. */
  names(request: RenderRequest): Promise<string[] | string>;
  stop(): Promise<void>;
}

export async function startBench(options: Partial<RepoServiceOptions> = {}): Promise<Bench> {
  process.env.OUTPOST_HELM = toolPath("helm");
  process.env.OUTPOST_KUSTOMIZE = toolPath("kustomize");
  process.env.OUTPOST_JSONNET = toolPath("jsonnet");
  const folder = mkdtempSync(join(tmpdir(), "repo-bench-"));
  const git = await startGit();
  const service = new RepoService({ folder, cache: new MemoryCache(), ...options });
  await service.start();
  let count = 0;
  const bench: Bench = {
    git,
    service,
    repository: async (files) => {
      const name = `r${count++}`;
      await git.createRepository(name, { files });
      return name;
    },
    source: (name, source = {}) => {
      const given = { repoURL: git.cloneUrl(name), path: ".", ...source };
      return { source: given, repo: { url: given.repoURL } };
    },
    request: (name, source = {}, { repo, ...more } = {}) => {
      const one = bench.source(name, source);
      return {
        app: { name: "app", namespace: "agent", project: "default" },
        namespace: "dest",
        sources: [{ ...one, repo: repo ?? one.repo }],
        freshness: "normal",
        ...more,
      };
    },
    names: async (asked) => {
      const got = await service.render(asked);
      return got.kind === "done" ? got.value.objects!.map((o) => o.metadata.name) : `${got.reason}: ${got.message}`;
    },
    stop: async () => {
      service.close();
      await git.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return bench;
}

export const configMap = (name: string, data: Record<string, string> = {}): string =>
  `${JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data })}\n`;

/** Files of a chart with one ConfigMap that shows `.Values.v`. */
export const chart = (folder: string, name = "c", extra = "", version = "0.1.0"): Record<string, string> => ({
  [`${folder}Chart.yaml`]: `apiVersion: v2\nname: ${name}\nversion: ${version}\n${extra}`,
  [`${folder}templates/cm.yaml`]: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}-${name}"}\ndata: {v: "{{ .Values.v }}", w: "{{ .Values.w }}", namespace: "{{ .Release.Namespace }}", version: "{{ .Chart.Version }}"}\n`,
  [`${folder}values.yaml`]: "v: chart\nw: chart\n",
});
