import { isDeepStrictEqual } from "node:util";
import { digest } from "../../../base/json/canonical.ts";
import type { Failure } from "../../../base/outcome.ts";
import { aggregateHealth } from "../../../kube/health/health.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { instanceOf } from "../../project/instance.ts";
import type { ResourceStatus } from "../application.ts";
import { straysOf } from "../cluster/strays.ts";
import { isBlind, kindId, watchKinds } from "../cluster/watch-kinds.ts";
import { Verdicts } from "../compare/compare.ts";
import { ruleProblems } from "../compare/ignore.ts";
import { update } from "../memory.ts";
import { hookOf } from "../order.ts";
import { belongs } from "../projects.ts";
import type { Observed } from "../status/observed.ts";
import { summaryOf } from "../status/summary.ts";
import { workloadsOf } from "../status/workloads.ts";
import { broughtKinds, prunable } from "../tasks.ts";
import { appLabel } from "../tracking.ts";
import { compareTargets, lookUpUnlabelled } from "./compare.ts";
import type { Fetched, Placed, Seen } from "./context.ts";
import { type Entry, entryOfExtra, entryOfHook, entryOfTarget } from "./entries.ts";

// A server that answers, even with an error, is available.
const SILENT_MS = 5_000;

/** Observes the live state. */
export async function observeLive(look: Fetched): Promise<Seen> {
  const { deps, app, memory, report, destination, freshness } = look;
  const { normalised, revisions } = look.wanted;
  const short = shortOf(revisions);
  report.begin("Comparing", `comparing ${normalised.targets.length} objects of ${short}`);
  if (freshness !== "cached") memory.unlabelled.clear();
  const ignoring = digest([app.spec.ignoreDifferences ?? [], deps.settings.revision]);
  if (memory.ignoring !== ignoring) update(memory, { ignoring, verdicts: new Verdicts() });
  const { unseen, leftOut } = await watchKinds({
    app,
    destination,
    targets: normalised.targets,
    verdicts: memory.verdicts,
  });
  update(memory, { leftOut });
  return { ...look, unseen, seen: await observe(look, unseen) };
}

/** Observes the live state again after a step of a sync, without the verdicts of the adoption. */
export async function observeAgain(look: Fetched): Promise<Observed> {
  const { app, memory, destination, wanted } = look;
  memory.unlabelled.clear();
  const { unseen } = await watchKinds({ app, destination, targets: wanted.normalised.targets });
  return observe(look, unseen);
}

/** The revisions as people read them. */
export const shortOf = (revisions: readonly string[]): string =>
  revisions.map((revision) => revision.slice(0, 7)).join(", ");

/** Compares Git's objects with the live ones. No request for an object if neither side changed. */
async function observe(look: Fetched, unseen: ReadonlyMap<string, Failure>): Promise<Observed> {
  const { app, memory, destination } = look;
  const { live, settings } = destination;
  const { targets } = look.wanted.normalised;
  const label = appLabel(instanceOf(app, destination.own));
  warnOfUnseen(look, unseen);
  warnOfRules(look);

  const compared = targets.filter((target) => !target.hook);
  await lookUpUnlabelled(look, compared, unseen);
  const same = await compareTargets(look, compared, unseen);
  await settings.judge.prepare([live.ofApp(label).values(), memory.unlabelled.values()]);

  const ours = belongs(app, destination);
  const extra = prunable(live.ofApp(label), targets, ours);
  const hooks = [...live.ofApp(label).values()].filter((object) => hookOf(object) && ours(object));
  const brought = broughtKinds(targets);
  const entries = [
    ...compared.map((target, i) => entryOfTarget(look, { target, same: same[i]!, unseen, brought })),
    ...extra.map((object) => entryOfExtra(look, object, unseen)),
    ...hooks.map((hook) => entryOfHook(look, hook)),
  ];
  const strays = straysOf(app, destination, targets);
  if (strays) look.report.condition("OrphanedResourceWarning", "MarkedOtherwise", strays);
  return { ...verdictOf(look, entries, unseen), ...inventoryOf(look, entries, extra, unseen) };
}

/** The words of status: sync, health, and what a sync could change. */
function verdictOf(look: Placed, entries: readonly Entry[], unseen: ReadonlyMap<string, Failure>) {
  const outOfSync = entries.filter(({ syncable }) => syncable).map(({ row }) => row);
  const namespaceChanged = isNamespaceChanged(look);
  const different = entries.some(({ row, extraneous }) => row.status === "OutOfSync" && !extraneous);
  const known = unseen.size ? ("Unknown" as const) : ("Synced" as const);
  const status = namespaceChanged || outOfSync.length > 0 || different ? ("OutOfSync" as const) : known;
  return { status, outOfSync, namespaceChanged, health: aggregateHealth(entries.flatMap(({ part }) => part ?? [])) };
}

/** The lists of status: each object, what may be pruned, images. */
function inventoryOf(
  { app, destination }: Placed,
  entries: readonly Entry[],
  extra: readonly KubeObject[],
  unseen: ReadonlyMap<string, Failure>,
) {
  const label = appLabel(instanceOf(app, destination.own));
  const images = new Set(entries.flatMap((entry) => entry.images));
  const present = entries.flatMap((entry) => entry.present ?? []);
  const workloads = workloadsOf(present);
  return {
    resources: entries.map(({ row }) => row).sort(byName),
    prunable: extra.filter((object) => !unseen.has(kindId(object))),
    inventory: [...destination.live.ofApp(label).values()].filter((object) => !hookOf(object)).length,
    summary: {
      ...summaryOf(app, [...present, ...extra], [...images].sort()),
      ...(workloads.length ? { workloads } : {}),
    },
  };
}

/** Whether the namespace's metadata of the last sync differs from what is wanted now. Changes by others do not count. */
function isNamespaceChanged({ app, report }: Placed): boolean {
  const { managedNamespaceMetadata: managed } = app.spec.syncPolicy ?? {};
  const last = report.status.operationState?.syncResult;
  return Boolean(managed && last) && !isDeepStrictEqual(managed, last!.managedNamespaceMetadata);
}

function warnOfUnseen({ report, destination, wanted }: Fetched, unseen: ReadonlyMap<string, Failure>): void {
  const { name, client } = destination;
  const away = isBlind(wanted.normalised.targets, unseen);
  if (away && Date.now() - client.contactAt > SILENT_MS) {
    const last = client.contactAt
      ? `last contact at ${new Date(client.contactAt).toISOString().replace(/\.\d+/, "")}`
      : "no contact so far";
    report.condition("ComparisonError", away.reason, `cluster ${name} cannot be seen, ${last}: ${away.message}`);
    return;
  }
  for (const [id, failure] of unseen)
    report.condition("ComparisonError", failure.reason, `${id} cannot be watched: ${failure.message}`);
}

function warnOfRules({ app, report, destination: { settings } }: Placed): void {
  for (const message of ruleProblems(app, settings.rules))
    report.condition("ComparisonError", "IgnoreRuleInvalid", message);
  for (const message of settings.problems) report.condition("ComparisonError", "SettingsInvalid", message);
}

function byName(a: ResourceStatus, b: ResourceStatus): number {
  const [x, y] = [a, b].map((r) => `${r.group ?? ""}/${r.kind}/${r.namespace ?? ""}/${r.name}`) as [string, string];
  if (x === y) return 0;
  return x < y ? -1 : 1;
}
