import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryCache } from "../cache/memory.ts";
import { META } from "../controller/application.ts";
import { trackingId } from "../controller/tracking.ts";
import { RepoService } from "../repo/service.ts";
import type { Source } from "../repo/types.ts";

interface Question {
  appName: string;
  namespace?: string;
  project?: string;
  source?: Source;
  sources?: Source[];
  /** Local folders in place of the repositories of these addresses. */
  repositories?: Record<string, string>;
  kubeVersion?: string;
  apiVersions?: string[];
}

let service: Promise<{ door: RepoService; folder: string }> | undefined;

async function start() {
  const folder = await mkdtemp(join(tmpdir(), "outpost-eval-"));
  const door = new RepoService({ folder, cache: new MemoryCache(), allowLocal: true });
  await door.start();
  return { door, folder };
}

/** What the repo server makes of a source, with the mark of the application on each object. */
export async function evalRender(question: Question): Promise<{ manifests: unknown[] } | { error: string }> {
  const { appName, namespace = "", project = "default", repositories = {}, kubeVersion, apiVersions } = question;
  service ??= start();
  const { door } = await service;
  const single = question.source ? [question.source] : [];
  const given = question.sources?.length ? question.sources : single;
  const rendered = await door.render({
    app: { name: appName, namespace: "argocd", project },
    namespace,
    sources: given.map((source) => ({ source, repo: { url: repositories[source.repoURL] ?? source.repoURL } })),
    freshness: "normal",
    kubeVersion,
    apiVersions,
  });
  if (rendered.kind !== "done") return { error: `${rendered.reason}: ${rendered.message}` };
  const manifests = rendered.value.objects!.map((object) => {
    const annotations = { ...object.metadata.annotations, [META.trackingId]: trackingId(appName, object, namespace) };
    return { ...object, metadata: { ...object.metadata, annotations } };
  });
  return { manifests };
}

/** Takes away what the questions left behind. */
export async function closeRender(): Promise<void> {
  const started = await service;
  service = undefined;
  if (!started) return;
  started.door.close();
  await rm(started.folder, { recursive: true, force: true });
}
