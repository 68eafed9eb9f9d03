import { digest } from "../../../base/json/canonical.ts";
import { instanceOf } from "../../project/instance.ts";
import { tenantOf } from "../../project/tenant.ts";
import type { RenderRequest, RepoAccess } from "../../repo/types.ts";
import { identityOf } from "../../repo/url.ts";
import { type Application, sourcesOf } from "../application.ts";
import { looksUp } from "../cluster/lookup.ts";
import { demandsOf } from "../config/integrity.ts";
import type { Deps } from "../deps.ts";
import { update } from "../memory.ts";
import { sourceDigest } from "../phases/freshness.ts";
import { place, projectOf } from "../projects.ts";
import { requestFor } from "../render.ts";

/** What a look at a repository means for each application that reads it, by name. */
export interface Findings {
  /** Files that they read have changed: they are reconciled at once. */
  changed: string[];
  /** Only the revision has changed. */
  moved: string[];
  /** The poll failed: each application asks Git itself and reports the reason. */
  unknown: string[];
}

// The wire takes 4 MB at once.
const MAX_BYTES = 3_000_000;

/** One question to a remote for all applications that read it, however many they are. */
export async function survey(deps: Deps, url: string, names: Iterable<string>): Promise<Findings> {
  const findings: Findings = { changed: [], moved: [], unknown: [] };
  const access = sharedAccess(deps);
  const from = performance.now();
  // A repository with other credentials, such as those of one project, counts as another repository.
  const ways = new Map<RepoAccess, { app: Application; ask: RenderRequest }[]>();
  for (const name of names) {
    const app = deps.store.get(name);
    // One that is being deleted, or left alone, asks nothing; the others that nothing is known of ask themselves.
    if (!app || app.metadata.deletionTimestamp) continue;
    const ask = await question(deps, app, url, access);
    const repo = access.find(url, projectOf(app), tenantOf(app));
    if (!ask) forgotten(deps, name, findings);
    else if (!ways.get(repo)?.push({ app, ask })) ways.set(repo, [{ app, ask }]);
  }
  for (const [repo, asked] of ways) await surveyWay(deps, repo, asked, { from, findings });
  return findings;
}

async function surveyWay(
  deps: Deps,
  repo: RepoAccess,
  asked: { app: Application; ask: RenderRequest }[],
  to: { from: number; findings: Findings },
): Promise<void> {
  for (let at = 0; at < asked.length; ) {
    let bytes = 0;
    let end = at;
    while (end < asked.length && (end === at || bytes < MAX_BYTES)) bytes += sizeOf(asked[end++]!.ask);
    const part = asked.slice(at, end);
    const surveyed = await deps.repo.survey({ repo, asks: part.map(({ ask }) => ask) });
    for (const [i, { app }] of part.entries()) {
      const answer = surveyed.kind === "done" ? surveyed.value.answers[i] : undefined;
      learn(deps, app, answer ?? undefined, to);
    }
    at = end;
  }
}

const sizeOf = ({ sources, dependencyRepos }: RenderRequest): number =>
  JSON.stringify([sources, dependencyRepos]).length + 500;

/** What would be rendered for an application now; undefined when only a look of its own can tell. */
async function question(deps: Deps, app: Application, url: string, access: ReturnType<typeof sharedAccess>) {
  const memory = deps.memory.get(instanceOf(app, deps.namespace));
  const { wanted } = memory ?? {};
  if (!wanted || memory?.failure || wanted.sourceDigest !== sourceDigest(deps, app)) return undefined;
  // A chart that reads the cluster may be another one without a commit.
  if (looksUp(app)) return undefined;
  if (!wanted.normalised.targets.every((target) => !target.problem)) return undefined;
  const destination = await place(deps, app);
  if (destination.kind !== "done" || destination.value.id !== wanted.destination) return undefined;
  const sources = sourcesOf(app);
  // The other repositories are not polled now: their commits stay as they are.
  const revisions = sources.map(({ repoURL }, i) => (repoURL === url ? "" : (wanted.revisions[i] ?? "")));
  const question = { sources, freshness: "cached" as const, key: wanted.key, revisions, access };
  return requestFor({ deps, app, destination: destination.value }, question);
}

function learn(
  deps: Deps,
  app: Application,
  answer: { key: string; revisions: string[] } | undefined,
  { from, findings }: { from: number; findings: Findings },
): void {
  const name = instanceOf(app, deps.namespace);
  const memory = deps.memory.get(name);
  const { wanted } = memory ?? {};
  // The specification changed while the remote was asked: that look is the newer one.
  if (!memory || !wanted || wanted.sourceDigest !== sourceDigest(deps, deps.store.get(name) ?? app)) return;
  if (!answer) {
    forgotten(deps, name, findings);
    return;
  }
  update(memory, { askedAt: deps.now(), surveyedAt: from });
  const same = answer.revisions.every((revision, i) => revision === wanted.revisions[i]);
  if (answer.key !== wanted.key || (!same && demandsOf(deps, app) !== undefined)) {
    update(memory, { found: answer.revisions });
    findings.changed.push(name);
  } else if (!same) {
    wanted.revisions = answer.revisions;
    findings.moved.push(name);
  }
}

function forgotten(deps: Deps, name: string, findings: Findings): void {
  const memory = deps.memory.get(name);
  if (!memory) return;
  update(memory, { askedAt: 0 });
  findings.unknown.push(name);
}

/** Each repository access once, so that a request for a thousand applications carries one copy. */
function sharedAccess({ repositories }: Deps) {
  const found = new Map<string, RepoAccess>();
  // To find one takes several comparisons of addresses: for a thousand applications 40 ms.
  const ways = new Map<string, RepoAccess>();
  const charts = new Map<string, RepoAccess[]>();
  return {
    find: (url: string, project?: string, tenant?: string): RepoAccess => {
      const asked = JSON.stringify([url, project ?? "", tenant ?? ""]);
      let known = ways.get(asked);
      if (!known) {
        const access = repositories.find(url, project, tenant);
        // What lies beside it for its submodules is each project's and each tenant's own.
        const beside = access.ways ? [project ?? "", tenant ?? ""] : [];
        const key = digest([identityOf(access), access.project ?? "", access.refused ?? null, beside]);
        if (!found.has(key)) found.set(key, access);
        known = found.get(key)!;
        ways.set(asked, known);
      }
      return known;
    },
    charts: (project = "", tenant?: string): RepoAccess[] => {
      const asked = JSON.stringify([project, tenant ?? ""]);
      if (!charts.has(asked)) charts.set(asked, repositories.charts(project, tenant));
      return charts.get(asked)!;
    },
  };
}
