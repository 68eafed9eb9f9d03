import { setTimeout as pause } from "node:timers/promises";
import { canonical } from "../../../base/json/canonical.ts";
import { withCondition } from "../../domain/conditions.ts";
import { type DiscoveredReport, digestOf, idsFor, type Listed, type Shown, shownOf } from "../../domain/discover.ts";
import type { Schemas } from "../../domain/nouns.ts";
import { differs } from "../../domain/observe.ts";
import { isSame, type Scope } from "../../domain/scope.ts";
import { tryFindDelivery } from "../../store/deliveries.ts";
import { insertObject, type Stored, tryFindByUid, updateObject } from "../../store/objects.ts";
import type { SessionRow } from "../../store/sessions.ts";
import { tryFindDelivered } from "../../store/shown.ts";
import * as sightings from "../../store/sightings.ts";
import { type Writer, writing } from "../../store/writer.ts";
import type { Services } from "../services.ts";
import { freeId, homeOf, moveTo, placeIn, removeShown, type Scopes, scopeOf, scopesOf } from "./place.ts";

// One transaction holds the account's lock. A new object takes some six statements, so this many keep it for some tens of milliseconds.
const BATCH = 10;
// On the embedded store each statement of a person's request waits for a whole transaction. Between two of these the others get half as long
// as the last one took: a put beside 500 reports took 3.1 s without it.
const SHARE = 0.5;
const MAX_PAUSE_MS = 100;
type Sighting = sightings.Sighting;

/**
 * Takes in what an agent found in its namespaces. Reports that say what is known only get their mark, outside of the account's line of writers.
 */
export async function takeDiscovered(s: Services, session: SessionRow, reports: readonly DiscoveredReport[]): Promise<void> {
  const { account, objectUid: agentUid } = session;
  // The last word on an object counts.
  const last = [...new Map(reports.map((report) => [sightings.textOf(report), report])).values()];
  const known = await sightings.sightingsOf(s.db, account, agentUid, last);
  const isKnown = (report: DiscoveredReport) => !report.deleted && known.get(sightings.textOf(report))?.digest === digestOf(report);
  await sightings.markSeen(s.db, account, agentUid, session.session, last.filter(isKnown).map(keyed));
  const news = last.filter((report) => !isKnown(report));
  const refused = new Set<DiscoveredReport>();
  for (let at = 0; at < news.length; at += BATCH) {
    const started = performance.now();
    await writing(s.db, account, async (w) => {
      const intake = await openIntake(s, w, session);
      if (!intake) return;
      const batch = news.slice(at, at + BATCH);
      const before = await sightings.sightingsOf(w, account, agentUid, batch);
      for (const report of batch)
        if ((await takeOne(intake, report, before.get(sightings.textOf(report)))) === "refused") refused.add(report);
      await sightings.addShown(w, agentUid, intake.added);
      if (refused.size > 0) await sayLimit(w, intake.agent.uid, s.limits.discovered);
    });
    if (at + BATCH < news.length) await pause(Math.min((performance.now() - started) * SHARE, MAX_PAUSE_MS));
  }
  await s.db.transaction((tx) => sightings.countRounds(tx, account, agentUid, session.session, counted(reports, refused)));
}

const keyed = ({ collection, namespace, name, round }: DiscoveredReport) => ({ collection, namespace, name, round });

function counted(reports: readonly DiscoveredReport[], refused: ReadonlySet<DiscoveredReport>): sightings.Counted[] {
  const counts = new Map<string, sightings.Counted>();
  for (const report of reports) {
    const { collection, namespace, round } = report;
    if (round === undefined) continue;
    const key = `${collection}/${namespace}/${round}`;
    const count = counts.get(key) ?? { collection, namespace, round, taken: 0, refused: 0 };
    counts.set(key, { ...count, taken: count.taken + 1, refused: count.refused + (refused.has(report) ? 1 : 0) });
  }
  return [...counts.values()].sort((a, b) => a.round - b.round);
}

/** What one transaction needs to know of the agent. */
interface Intake {
  s: Services;
  w: Writer;
  session: SessionRow;
  agent: Stored;
  home: string;
  scopes: Scopes;
  /** Objects shown before this transaction, and those that it adds. */
  shown: number;
  added: number;
}

async function openIntake(s: Services, w: Writer, session: SessionRow): Promise<Intake | undefined> {
  const agent = await tryFindByUid(w, session.account, session.objectUid);
  if (!agent) return undefined;
  const shown = await sightings.countShown(w, session.account, agent.uid);
  return { s, w, session, agent, home: homeOf(agent), scopes: await scopesOf(w, agent), shown, added: 0 };
}

async function takeOne(intake: Intake, report: DiscoveredReport, sighting: Sighting | undefined): Promise<"taken" | "refused"> {
  const { w, agent, session } = intake;
  const object = sighting && (await tryFindByUid(w, w.account, sighting.uid));
  if (await isManaged(intake, report)) {
    if (object) await forget(intake, object);
    return "taken";
  }
  if (report.deleted) {
    // A late word on an object that was made again since is passed over.
    if (object && sighting.liveUid === report.uid) await forget(intake, object);
    return "taken";
  }
  const scope = await scopeOf(intake, report);
  const shown = shownOf(report, agent, scope);
  if (!shown) {
    intake.s.log.warn(
      { agent: session.id, ...keyed(report) },
      "a discovered object is not shown: required fields are missing or not valid",
    );
    if (object) await forget(intake, object);
    return "taken";
  }
  if (shown.ignored.length)
    intake.s.log.warn({ agent: session.id, ...keyed(report), fields: shown.ignored }, "fields of a discovered object were left out");
  const same = object && sighting.liveUid === report.uid ? object : undefined;
  // Another object under the same name: clients must not take it for the one before.
  if (object && !same) await forget(intake, object);
  if (!same && intake.shown + intake.added >= intake.s.limits.discovered) return "refused";
  const saved = same ? await change(w, same, agent, report, scope, shown) : await add(intake, report, scope, shown, object);
  if (!same) intake.added++;
  const sight = {
    ...keyed(report),
    uid: saved.uid,
    liveUid: report.uid,
    digest: digestOf(report),
    argoProject: report.argoProject,
    tenant: report.tenant,
  };
  await sightings.saveSighting(w, agent.uid, sight, { session: session.session, round: report.round });
  return "taken";
}

async function forget(intake: Intake, object: Stored): Promise<void> {
  await removeShown(intake.w, object);
  intake.shown--;
}

/** Whether the service delivers the live object: it is told of in the reports of deliveries, and nothing here changes it. */
async function isManaged({ w, agent, home }: Intake, report: DiscoveredReport): Promise<boolean> {
  const at = await tryFindDelivered(w, w.account, agent.uid, report, home);
  if (at || report.mark === undefined) return at !== undefined;
  // A mark alone proves nothing, because it can be copied; with another name it is an object of its own.
  const delivery = await tryFindDelivery(w, w.account, report.mark);
  return delivery?.agentUid === agent.uid && delivery.live?.uid === report.uid;
}

async function add(
  { w, agent, home }: Intake,
  report: DiscoveredReport,
  scope: Scope,
  shown: Shown,
  before: Stored | undefined,
): Promise<Stored> {
  const kept = before && isSame(before, scope) ? [before.id] : [];
  const id = await freeId(w, scope, report, [...kept, ...idsFor(report, agent.uid, home)]);
  const { origin, found, spec } = shown;
  const status = { ...shown.status, ...(await times(w, report, 1)) };
  return insertObject(w, { ...placeIn(scope), collection: report.collection, id, spec, status, origin, found, agentUid: agent.uid });
}

/** Stores what has changed; a report that changes nothing writes nothing. */
async function change(w: Writer, before: Stored, agent: Stored, report: DiscoveredReport, scope: Scope, shown: Shown): Promise<Stored> {
  const moved = isSame(before, scope) ? before : await moveTo(w, before, agent, scope);
  const generation = canonical(moved.spec) === canonical(shown.spec) ? moved.generation : moved.generation + 1;
  const status = { ...shown.status, ...(await times(w, report, generation)) };
  const { origin, found, spec } = shown;
  const same = generation === moved.generation && moved.origin === origin && canonical(moved.found) === canonical(found);
  if (same && !differs(moved.status, status)) return moved;
  return updateObject(w, { ...moved, generation, origin, found, spec, status });
}

/** Status and spec came together, so the status speaks of this generation. */
async function times(w: Writer, { collection }: DiscoveredReport, generation: number): Promise<Record<string, unknown>> {
  if (collection !== "applications" && collection !== "applicationsets") return { observedGeneration: generation };
  const [row] = await w.query<{ now: Date }>("select outpost_now() now");
  return { observedGeneration: generation, reportedAt: row!.now.toISOString() };
}

/** Ends full rounds: what the agent did not report in them is gone. A round of which reports are missing removes nothing. */
export async function takeListed(s: Services, session: SessionRow, listed: readonly Listed[]): Promise<void> {
  const { account, objectUid: agentUid } = session;
  for (const { collection, namespace, round, count } of listed) {
    const of = { session: session.session, collection, namespace, round };
    const taken = await sightings.takenIn(s.db, account, agentUid, of);
    if (taken < count) {
      s.log.warn(
        { agent: session.id, collection, namespace, round, count, taken },
        "a full round is not complete; nothing is removed because of it",
      );
      continue;
    }
    for (let gone = BATCH; gone === BATCH; )
      gone = await writing(s.db, account, async (w) => {
        const unseen = await sightings.unseenIn(w, account, agentUid, of, BATCH);
        for (const uid of unseen) {
          const object = await tryFindByUid(w, account, uid);
          if (object) await removeShown(w, object);
          else await sightings.dropSighting(w, uid);
        }
        return unseen.length;
      });
  }
  if (await sightings.anyRefused(s.db, account, agentUid, session.session)) return;
  await writing(s.db, account, (w) => sayLimit(w, agentUid, undefined));
}

/** Says on the agent whether it has more objects than are shown; only when that is news. `most` is the bound that was reached, if any. */
async function sayLimit(w: Writer, agentUid: string, most: number | undefined): Promise<void> {
  const agent = await tryFindByUid(w, w.account, agentUid);
  const before: Schemas["Condition"][] = agent?.status.conditions ?? [];
  const said = before.find(({ type }) => type === "DiscoveredLimit")?.status === "True";
  if (!agent || said === (most !== undefined)) return;
  const condition =
    most === undefined
      ? { status: "False" as const, reason: "AllShown", message: "Every object that the agent found is shown." }
      : {
          status: "True" as const,
          reason: "TooManyObjects",
          message: `The agent's namespaces hold more than ${most} objects that the service did not make; the others are not shown. Give the agent fewer namespaces, or install another agent for some of them.`,
        };
  const [row] = await w.query<{ now: Date }>("select outpost_now() now");
  const conditions = withCondition(before, { type: "DiscoveredLimit", ...condition }, row!.now);
  await updateObject(w, { ...agent, status: { ...agent.status, conditions } });
}
