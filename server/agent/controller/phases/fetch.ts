import { done, type Outcome } from "../../../base/outcome.ts";
import type { Freshness } from "../../repo/types.ts";
import { sourcesOf } from "../application.ts";
import { findOrphans } from "../cluster/orphans.ts";
import { finalizersFor } from "../delete/deletion-hooks.ts";
import { update, type Wanted } from "../memory.ts";
import { render, toTargets } from "../render.ts";
import { releaseAll } from "../sync/hooks.ts";
import { end, type Fetched, go, type Placed, type Step } from "./context.ts";
import { freshnessOf, sourceDigest, stands, untilRefresh } from "./freshness.ts";
import { tellUnknown } from "./unknown.ts";

// While Git cannot be asked, the last answer stands this long.
const GRACE_MS = 180_000;
const SHOWN_ORPHANS = 10;

/** Fetches the desired state from Git. Conditions report anything unusual. */
export async function fetchWanted(look: Placed): Promise<Step<Fetched>> {
  const { deps, app, name, memory, report, destination } = look;
  const freshness = freshnessOf(look);
  if (freshness === "hard" || memory.hardAt === undefined) update(memory, { hardAt: deps.now() });
  const addresses = sourcesOf(app).map(({ repoURL }) => repoURL);
  report.begin("Fetching", `fetching ${addresses.join(", ")}`);
  const wanted = await ask(look, freshness);
  if (wanted.kind !== "done") {
    const next = await tellUnknown(look, "ComparisonError", wanted, true);
    await releaseAll(deps.destinations.open, destination, name, deps.store.get(name)?.status?.operationState);
    return end(next ?? untilRefresh(look));
  }
  const fetched = { ...look, wanted: wanted.value, freshness };
  if (!(await keepFinalizers(fetched))) return end({ afterMs: 500 });
  warnOfTargets(fetched);
  await lookForOrphans(fetched);
  return go(fetched);
}

/** Git's objects: from memory if that is fresh enough, else from the repo server. */
async function ask(look: Placed, wished: Freshness): Promise<Outcome<Wanted>> {
  const { deps, app, memory, destination, report } = look;
  const asked = sourceDigest(deps, app);
  const wanted = holds(look, asked) ? memory.wanted : undefined;
  // A kind that was missing may have come meanwhile; that only a new look at the cluster can tell.
  const complete = wanted?.normalised.targets.every((target) => !target.problem) ?? false;
  const { found, refreshAt = Number.POSITIVE_INFINITY } = memory;
  update(memory, { found: undefined, refreshAt: undefined });
  // A look at the repository that began after the request has answered it.
  const freshness = wished === "normal" && memory.surveyedAt >= refreshAt ? "cached" : wished;
  if (found || !stands(look, asked)) {
    if (freshness === "cached" && wanted && complete && !found) return done(wanted);
    const known = { key: complete ? wanted?.key : undefined, revisions: freshness === "cached" ? found : undefined };
    // An application that waited for a worker asked when it was seen: one question to Git answers all that came before it.
    const sinceMs = memory.askingAt < memory.newsAt ? performance.now() - memory.newsAt : 0;
    update(memory, { askingAt: performance.now() });
    const rendered = await render(look, { ...known, sources: sourcesOf(app), freshness, sinceMs });
    update(memory, { askedAt: deps.now() });
    if (rendered.kind === "done") {
      const { key, revisions, sourceTypes, objects } = rendered.value;
      // They may change while Git is asked, and then the next look asks for the objects once more.
      const settings = objects ? deps.settings.revision : wanted!.settings;
      const normalised = objects ? await toTargets(app, destination, objects) : wanted!.normalised;
      const answer = {
        sourceDigest: asked,
        key,
        revisions,
        sourceTypes,
        destination: destination.id,
        settings,
        normalised,
      };
      update(memory, { wanted: answer, failure: undefined });
      return done(answer);
    }
    const before = memory.failure?.sourceDigest === asked ? memory.failure : undefined;
    const [since, times] = [before?.since ?? deps.now(), (before?.times ?? 0) + 1];
    update(memory, { failure: { failure: rendered, sourceDigest: asked, since, times } });
  }
  // While a repository is away, the last render stays valid; a deleted branch ends that.
  const { failure, since } = memory.failure!;
  if (failure.kind === "stop" || !wanted || deps.now() - since > GRACE_MS) return failure;
  report.condition("ComparisonError", failure.reason, `${failure.message} (the last known revision stays in force)`);
  return done(wanted);
}

function holds({ deps, memory: { wanted }, destination }: Placed, asked: string): boolean {
  return (
    wanted?.sourceDigest === asked &&
    wanted.destination === destination.id &&
    wanted.settings === deps.settings.revision
  );
}

/** Deletion hooks come with their finalizers, and go with them. False when the Application could not be written. */
async function keepFinalizers({ deps, app, name, wanted }: Fetched): Promise<boolean> {
  const finalizers = finalizersFor(app, wanted.normalised.targets);
  if (!finalizers) return true;
  const patch = { metadata: { finalizers, resourceVersion: app.metadata.resourceVersion } };
  return (await deps.store.patch(name, patch, true)).kind === "done";
}

function warnOfTargets({ report, wanted: { normalised } }: Fetched): void {
  for (const { name, times } of normalised.repeated) {
    const message = `Resource ${name} appeared ${times} times among application resources.`;
    report.condition("RepeatedResourceWarning", "RepeatedResource", message);
  }
  for (const what of normalised.excluded ?? [])
    report.condition("ExcludedResourceWarning", "Excluded", `Resource ${what} is excluded in the settings`);
}

/** Objects of the namespace that belong to no application, where the project wants to know. */
async function lookForOrphans({ deps, app, memory, report, destination, freshness }: Fetched): Promise<void> {
  const project = deps.projects.of(app);
  const watched = project.kind === "done" && project.value.orphanedResources ? project.value : undefined;
  if (!watched) return update(memory, { orphans: undefined });
  const due = memory.orphansAt + (deps.settings.intervals.everyMs || Number.POSITIVE_INFINITY);
  if (freshness !== "cached" || !memory.orphans || deps.now() >= due) {
    const orphans = await findOrphans(destination, watched, app, (other) => deps.store.get(other) !== undefined);
    update(memory, { orphans, orphansAt: deps.now() });
  }
  const { orphans = [] } = memory;
  if (orphans.length === 0 || watched.orphanedResources?.warn === false) return;
  const named = `${orphans.slice(0, SHOWN_ORPHANS).join(", ")}${orphans.length > SHOWN_ORPHANS ? ", …" : ""}`;
  report.condition(
    "OrphanedResourceWarning",
    "OrphanedResources",
    `Application has ${orphans.length} orphaned resources: ${named}`,
  );
}
