import { isDeepStrictEqual } from "node:util";
import { done, type Failure, type Outcome } from "../../base/outcome.ts";
import { KUBE } from "../../kube/errors.ts";
import { aggregateHealth, type Health, type HealthStatus } from "../../kube/health/health.ts";
import { describe, gvkOf, type KubeObject, keyOf, objectKey } from "../../kube/object.ts";
import type { Resource } from "../../kube/path.ts";
import { instanceOf } from "../project/instance.ts";
import { type Application, type ApplicationStatus, META, type ResourceStatus } from "./application.ts";
import { isSkippedByRbac, readOneByOne } from "./cluster/respect-rbac.ts";
import { comparing, covered, dryRun, type Verdicts } from "./compare/compare.ts";
import { isAppliedAlready } from "./compare/contained.ts";
import { ignoring, ruleProblems } from "./compare/ignore.ts";
import { hasLeftovers } from "./compare/last-applied.ts";
import type { Target } from "./compare/normalise.ts";
import { hasTextLeftovers } from "./compare/plain-texts.ts";
import { withoutUnknownFields } from "./compare/unknown-fields.ts";
import type { Memory } from "./deps.ts";
import type { Destination } from "./destination.ts";
import { csv, hookOf, waveOf } from "./order.ts";
import { belongs, unmanaged } from "./projects.ts";
import type { Report } from "./status/report.ts";
import { imagesOf, summaryOf } from "./status/summary.ts";
import { otherOwner } from "./sync/apply.ts";
import { asksConfirmation } from "./sync/confirm.ts";
import { broughtKinds, prunable, pruneAllowed } from "./tasks.ts";
import { appLabel, isStray, markOf } from "./tracking.ts";

export interface Observed {
  status: "Synced" | "OutOfSync" | "Unknown";
  health: HealthStatus;
  resources: ResourceStatus[];
  /** What a sync could change. */
  outOfSync: ResourceStatus[];
  prunable: KubeObject[];
  inventory: number;
  namespaceChanged: boolean;
  summary: NonNullable<ApplicationStatus["summary"]>;
}

/** Watches every kind an application wants or had; failures are the kinds that cannot be seen. `leftOut` gets those that nobody may watch. */
export async function watchKinds(
  destination: Destination,
  app: Application,
  targets: readonly Target[],
  leftOut = new Set<string>(),
  verdicts?: Verdicts,
): Promise<Map<string, Failure>> {
  const wanted = new Map<string, Resource>();
  const failures = new Map<string, Failure>();
  for (const { resource, problem, object } of targets) {
    if (resource) wanted.set(`${resource.group}/${resource.kind}`, resource);
    // Its scope is unknown, so even its name is: taking it for absent would prune it.
    else if (problem && problem.kind !== "stop") failures.set(kindId(object), problem);
  }
  // What was applied by an earlier revision must be seen to be pruned, and a hook to be let go of.
  const hooks = app.status?.operationState?.syncResult?.resources?.filter(({ hookType }) => hookType) ?? [];
  for (const { group = "", version, kind } of [...(app.status?.resources ?? []), ...hooks]) {
    if (wanted.has(`${group}/${kind}`)) continue;
    const found = await destination.client.discovery.find(group, version, kind);
    if (found.kind === "done") wanted.set(`${group}/${kind}`, found.value);
    else if (found.reason !== KUBE.kindNotFound) failures.set(`${group}/${kind}`, found);
  }
  await Promise.all(
    [...wanted].map(async ([id, resource]) => {
      let seen = await destination.live.observe(resource, appLabel(instanceOf(app, destination.own)));
      if (seen.kind !== "done" && (await isSkippedByRbac(destination, resource, seen))) {
        leftOut.add(id);
        seen = await readOneByOne(destination, app, resource, targets);
      } else if (seen.kind === "done") seen = await adopt(destination, app, resource, targets, verdicts);
      if (seen.kind !== "done") failures.set(id, seen);
    }),
  );
  return failures;
}

/**
 * Takes over the application's objects of a kind that another engine applied; known at once, before the watch shows their new label. Only the
 * answer to the label has all managed fields, so what can be decided by them is decided here.
 */
async function adopt(
  destination: Destination,
  app: Application,
  resource: Resource,
  targets: readonly Target[],
  verdicts?: Verdicts,
): Promise<Outcome<void>> {
  const { tracking, rules } = destination.settings;
  const byKey = new Map(targets.map((target) => [target.key, target]));
  const instance = instanceOf(app, destination.own);
  const rows = app.status?.resources ?? [];
  const taken = await destination.adoption.take({
    owner: markOf(instance, tracking),
    label: appLabel(instance),
    resource,
    wanted: new Set(byKey.keys()),
    listed: new Set(rows.map(({ group = "", kind, namespace = "", name }) => objectKey(group, kind, namespace, name))),
    permits: (object) => !destination.refuse?.(object, resource) && !unmanaged(destination, object, resource),
  });
  if (taken.kind !== "done") return taken;
  for (const object of taken.value) {
    destination.live.put(object);
    const target = byKey.get(keyOf(object));
    if (target && isAppliedAlready(target.object, object, ignoring(app, rules, object))) verdicts?.set(target, object, true);
  }
  return done(undefined);
}

/** Compares what is wanted with what is there. No request for an object of which neither side changed. */
export async function observe(
  app: Application,
  targets: readonly Target[],
  destination: Destination,
  memory: Memory,
  unseen: ReadonlyMap<string, Failure>,
  report: Report,
): Promise<Observed> {
  const { live } = destination;
  const label = appLabel(instanceOf(app, destination.own));
  const brought = broughtKinds(targets);
  const options = app.spec.syncPolicy?.syncOptions ?? [];
  const resources: ResourceStatus[] = [];
  const outOfSync: ResourceStatus[] = [];
  const parts: { health?: Health; missing: boolean }[] = [];
  const images = new Set<string>();
  const present: KubeObject[] = [];
  const away = isBlind(targets, unseen);
  // What answers, even with a refusal, is not away.
  if (away && Date.now() - destination.client.contactAt > SILENT_MS)
    report.condition("ComparisonError", away.reason, awayMessage(destination, away));
  else
    for (const [id, failure] of unseen) report.condition("ComparisonError", failure.reason, `${id} cannot be watched: ${failure.message}`);

  for (const message of ruleProblems(app, destination.settings.rules)) report.condition("ComparisonError", "IgnoreRuleInvalid", message);
  for (const message of destination.settings.problems) report.condition("ComparisonError", "SettingsInvalid", message);

  const compared = targets.filter((target) => !target.hook);
  await lookUpUnlabelled(app, compared, destination, memory, unseen);
  const same = await Promise.all(compared.map((target) => isSame(app, target, live.get(target.key, label), destination, memory, unseen)));
  const { judge } = destination.settings;
  await judge.prepare([live.ofApp(label).values(), memory.unlabelled.values()]);
  for (const [i, target] of compared.entries()) {
    const { object, key, wave } = target;
    const id = kindId(object);
    const refused = destination.refuse?.(object, target.resource);
    const current = refused ? undefined : live.get(key, label);
    const row = rowOf(object, wave);
    if (asksConfirmation(current ?? object, options)) row.requiresDeletionConfirmation = true;
    const owner = current || refused ? undefined : foreignOwner(destination, target, app);
    const ignored = object.metadata.annotations?.[META.ignoreHealth] === "true";
    if (unseen.has(id)) row.status = "Unknown";
    else if (refused) {
      // A sync will be refused for it, and say so.
      row.status = "Unknown";
      outOfSync.push(row);
      report.condition("ExcludedResourceWarning", "NotPermitted", `${describe(object)}: ${refused}`);
    } else if (owner) {
      row.status = "OutOfSync";
      report.condition(
        "SharedResourceWarning",
        "SharedResource",
        `${describe(object)} is part of applications ${instanceOf(app, destination.own)} and ${owner}`,
      );
    } else {
      row.status = same[i] ? "Synced" : "OutOfSync";
      if (row.status === "OutOfSync") outOfSync.push(row);
    }
    if (target.problem && !brought.has(id))
      report.condition("ComparisonError", target.problem.reason, `${describe(object)}: ${target.problem.message}`);
    const here = refused ? undefined : (current ?? memory.unlabelled.get(key));
    const health = here ? judge.of(here) : undefined;
    if (here && health) row.health = health;
    else if (!here && !unseen.has(id)) row.health = { status: "Missing" };
    if (!ignored && !unseen.has(id)) parts.push({ health, missing: !here });
    for (const image of imagesOf(current ?? object)) images.add(image);
    if (current) present.push(current);
    resources.push(row);
  }

  const extra = prunable(live.ofApp(label), targets, belongs(app, destination));
  const strays = straysOf(app, destination, targets);
  if (strays) report.condition("OrphanedResourceWarning", "MarkedOtherwise", strays);
  let extraneous = 0;
  for (const object of extra) {
    // What is not seen is not known to be there, or to be unwanted.
    if (unseen.has(kindId(object))) {
      resources.push({ ...rowOf(object, 0), status: "Unknown" });
      continue;
    }
    const row: ResourceStatus = { ...rowOf(object, 0), status: "OutOfSync", requiresPruning: true };
    if (asksConfirmation(object, options)) row.requiresDeletionConfirmation = true;
    const health = judge.of(object);
    if (health) row.health = health;
    resources.push(row);
    parts.push({ health, missing: false });
    const ignored = csv(object.metadata.annotations?.[META.compareOptions]).includes("IgnoreExtraneous");
    if (ignored) extraneous++;
    // What is already being deleted needs nothing more.
    if (object.metadata.deletionTimestamp) continue;
    if (!ignored && pruneAllowed(object, options)) outOfSync.push(row);
  }
  for (const hook of live.ofApp(label).values()) {
    if (!hookOf(hook) || !belongs(app, destination)(hook)) continue;
    for (const image of imagesOf(hook)) images.add(image);
    resources.push({ ...rowOf(hook, waveOf(hook)), hook: true, requiresPruning: true });
  }
  resources.sort(byName);
  // As the last sync has left them: what somebody else does to the namespace is his.
  const { managedNamespaceMetadata: managed } = app.spec.syncPolicy ?? {};
  const last = report.status.operationState?.syncResult;
  const namespaceChanged = Boolean(managed && last) && !isDeepStrictEqual(managed, last!.managedNamespaceMetadata);
  const anyOut = namespaceChanged || outOfSync.length > 0 || resources.filter((r) => r.status === "OutOfSync").length > extraneous;
  return {
    status: anyOut ? "OutOfSync" : unseen.size ? "Unknown" : "Synced",
    health: aggregateHealth(parts),
    resources,
    outOfSync,
    prunable: extra.filter((object) => !unseen.has(kindId(object))),
    namespaceChanged,
    inventory: [...live.ofApp(label).values()].filter((object) => !hookOf(object)).length,
    summary: summaryOf(app, [...present, ...extra], [...images].sort()),
  };
}

const SILENT_MS = 5_000;

/** Why nothing of an application can be seen; undefined while some of it can. */
export function isBlind(targets: readonly Target[], unseen: ReadonlyMap<string, Failure>): Failure | undefined {
  const [first] = unseen.values();
  return first && targets.length > 0 && targets.every(({ object }) => unseen.has(kindId(object))) ? first : undefined;
}

function awayMessage({ name, client }: Destination, { message }: Failure): string {
  const last = client.contactAt ? `last contact at ${new Date(client.contactAt).toISOString().replace(/\.\d+/, "")}` : "no contact so far";
  return `cluster ${name} cannot be seen, ${last}: ${message}`;
}

async function isSame(
  app: Application,
  target: Target,
  current: KubeObject | undefined,
  { client, settings }: Destination,
  { verdicts }: Memory,
  unseen: ReadonlyMap<string, Failure>,
): Promise<boolean> {
  if (!current || !target.resource || unseen.has(kindId(target.object))) return false;
  const known = verdicts.get(target, current);
  if (known !== undefined) return known;
  let same = covered(target.object, current);
  // The engine before us may have applied what Git has no longer; server-side apply takes only what its own manager has.
  const ignored = ignoring(app, settings.rules, target.object);
  if (hasTextLeftovers(current, target.object, ignored) || hasLeftovers(current, target.object, ignored)) {
    verdicts.set(target, current, false);
    return false;
  }
  if (!same) {
    const options = app.spec.syncPolicy?.syncOptions ?? [];
    const tried = await withoutUnknownFields(target, options, () =>
      dryRun(client, target, current, comparing(app, settings, target.object)),
    );
    // What cannot be tried cannot be the same: an immutable field, a refusing webhook. The sync will say why.
    if (tried.kind === "again") return false;
    same = tried.kind === "done" && tried.value;
  }
  verdicts.set(target, current, same);
  return same;
}

/**
 * Objects that exist without our label are not in the watch. An application that syncs by itself will write them anyway; for one that
 * waits for its user, missing and present are different news, so they are looked up once for each revision.
 */
async function lookUpUnlabelled(
  app: Application,
  targets: readonly Target[],
  destination: Destination,
  memory: Memory,
  unseen: ReadonlyMap<string, Failure>,
) {
  const { automated } = app.spec.syncPolicy ?? {};
  if (automated && automated.enabled !== false) return;
  const label = appLabel(instanceOf(app, destination.own));
  const open = targets.filter(
    (t) => t.resource && !memory.unlabelled.has(t.key) && !destination.live.get(t.key, label) && !unseen.has(kindId(t.object)),
  );
  await Promise.all(
    open.map(async ({ key, resource, object }) => {
      // Who may not read it is not told that it is there.
      const got = await destination.writer.get(resource!, object.metadata.namespace, object.metadata.name);
      if (got.kind === "done" || got.kind === "stop") memory.unlabelled.set(key, got.kind === "done" ? got.value : undefined);
    }),
  );
}

const SHOWN = 10;

/** What is said of objects that were made for an application and are not known as its own any more; undefined when there are none. */
export function straysOf(app: Application, destination: Destination, targets: readonly Target[]): string | undefined {
  const { tracking } = destination.settings;
  const instance = instanceOf(app, destination.own);
  const strays = prunable(destination.live.ofApp(appLabel(instance)), targets, (object) => isStray(object, instance, tracking));
  if (strays.length === 0) return undefined;
  const named = strays.slice(0, SHOWN).map(describe).join(", ");
  return `marked by other tracking settings of argocd-cm, or for another installation, and so neither pruned nor deleted: ${named}${strays.length > SHOWN ? ` and ${strays.length - SHOWN} more` : ""}`;
}

function foreignOwner(destination: Destination, target: Target, app: Application): string | undefined {
  const here = destination.live.find(target.key);
  return here || destination.claims.has(target.key) ? otherOwner(destination, target, app) : undefined;
}

function rowOf(object: KubeObject, wave: number): ResourceStatus {
  const { group, version, kind } = gvkOf(object);
  const row: ResourceStatus = { version, kind, name: object.metadata.name };
  if (group) row.group = group;
  if (object.metadata.namespace) row.namespace = object.metadata.namespace;
  if (wave) row.syncWave = wave;
  return row;
}

export const kindId = (object: KubeObject): string => `${gvkOf(object).group}/${object.kind}`;

function byName(a: ResourceStatus, b: ResourceStatus): number {
  const [x, y] = [a, b].map((r) => `${r.group ?? ""}/${r.kind}/${r.namespace ?? ""}/${r.name}`) as [string, string];
  return x < y ? -1 : x > y ? 1 : 0;
}
