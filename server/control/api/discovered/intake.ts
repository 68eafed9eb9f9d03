import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { canonical } from "../../../base/json/canonical.ts";
import { withCondition } from "../../domain/conditions.ts";
import { type DiscoveredReport, digestOf, idsFor, type Listed, type Shown, shownOf } from "../../domain/discover.ts";
import type { Schemas } from "../../domain/nouns.ts";
import { differs } from "../../domain/observe.ts";
import { isSame, type Scope } from "../../domain/scope.ts";
import { type Writer, writing } from "../../store/database/writer.ts";
import type { SessionRow } from "../../store/identity/sessions.ts";
import { tryFindDelivery } from "../../store/objects/deliveries.ts";
import {
  idText,
  insertObjects,
  objectsByUid,
  type Stored,
  takenIds,
  tryFindByUid,
  updateObject,
} from "../../store/objects/objects.ts";
import { deliveredAmong } from "../../store/objects/shown.ts";
import * as sightings from "../../store/objects/sightings.ts";
import { recordDeployments } from "../../store/services/record.ts";
import type { Services } from "../services.ts";
import { homeOf, moveTo, placeIn, removeShown, type Scopes, scopesOf } from "./place.ts";

// One transaction holds the account's lock. It takes some twelve statements however many objects are new, so this many keep it for some tens
// of milliseconds.
const BATCH = 25;
// On the embedded store each statement of a person's request waits for a whole transaction. Between two of these the others get half as long
// as the last one took: a put beside 500 reports took 3.1 s without it.
const SHARE = 0.5;
const MAX_PAUSE_MS = 100;
type Sighting = sightings.Sighting;

/**
 * Takes in what an agent found in its namespaces. Unchanged reports only get their mark, without the account's write lock.
 */
export async function takeDiscovered(
  s: Services,
  session: SessionRow,
  reports: readonly DiscoveredReport[],
): Promise<void> {
  const { account, objectUid: agentUid } = session;
  // The last report about an object counts.
  const last = [...new Map(reports.map((report) => [sightings.textOf(report), report])).values()];
  const known = await sightings.sightingsOf(s.db, account, agentUid, last);
  const isKnown = (report: DiscoveredReport) =>
    !report.deleted && known.get(sightings.textOf(report))?.digest === digestOf(report);
  await sightings.markSeen(s.db, account, agentUid, session.session, last.filter(isKnown).map(keyed));
  const news = last.filter((report) => !isKnown(report));
  const refused = new Set<DiscoveredReport>();
  for (let at = 0; at < news.length; at += BATCH) {
    const started = performance.now();
    await writing(s.db, account, async (w) => {
      const batch = news.slice(at, at + BATCH);
      const intake = await openIntake(s, w, session, batch);
      if (!intake) return;
      for (const report of batch) if ((await takeOne(intake, report)) === "refused") refused.add(report);
      await addAll(intake);
      if (refused.size > 0) await sayLimit(w, intake.agent.uid, s.limits.discovered);
    });
    if (at + BATCH < news.length) await pause(Math.min((performance.now() - started) * SHARE, MAX_PAUSE_MS));
  }
  await s.db.transaction((tx) =>
    sightings.countRounds(tx, account, agentUid, session.session, counted(reports, refused)),
  );
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

/** What one transaction needs to know, read for all of its reports at once. */
interface Intake {
  s: Services;
  w: Writer;
  session: SessionRow;
  agent: Stored;
  home: string;
  scopes: Scopes;
  now: Date;
  /** The stored sightings of the reports' live objects, by `textOf`. */
  sightings: Map<string, Sighting>;
  /** The objects that show them, by uid. */
  objects: Map<string, Stored>;
  /** Live objects that the service delivers, by `textOf`. */
  delivered: Set<string>;
  /** How many objects of the agent are shown, with those that this transaction adds. */
  shown: number;
  /** How many of them each tenant had before; counted only when they are many. */
  tenants?: Map<string, number>;
  /** To be added at the end, in a few statements for all. */
  added: Addition[];
  seen: sightings.NewSighting[];
}

interface Addition {
  report: DiscoveredReport;
  scope: Scope;
  shown: Shown;
  /** The object that was shown under the same name before. */
  before: Stored | undefined;
}

async function openIntake(
  s: Services,
  w: Writer,
  session: SessionRow,
  batch: readonly DiscoveredReport[],
): Promise<Intake | undefined> {
  const { account } = session;
  const agent = await tryFindByUid(w, account, session.objectUid);
  if (!agent) return undefined;
  const home = homeOf(agent);
  const known = await sightings.sightingsOf(w, account, agent.uid, batch);
  return {
    s,
    w,
    session,
    agent,
    home,
    scopes: await scopesOf(w, agent),
    now: await timeOf(w),
    sightings: known,
    objects: await objectsByUid(
      w,
      account,
      [...known.values()].map(({ uid }) => uid),
    ),
    delivered: await deliveredAmong(w, account, agent.uid, batch, home),
    shown: await sightings.countShown(w, account, agent.uid),
    added: [],
    seen: [],
  };
}

async function timeOf(w: Writer): Promise<Date> {
  const [row] = await w.query<{ now: Date }>("select outpost_now() now");
  return row!.now;
}

async function takeOne(intake: Intake, report: DiscoveredReport): Promise<"taken" | "refused"> {
  const { agent, session } = intake;
  const sighting = intake.sightings.get(sightings.textOf(report));
  const object = sighting && intake.objects.get(sighting.uid);
  if (await isManaged(intake, report)) {
    if (object) await forget(intake, object);
    return "taken";
  }
  if (report.deleted) {
    // A late report about an object that was created again since is ignored.
    if (object && sighting.liveUid === report.uid) await forget(intake, object);
    return "taken";
  }
  const scope = await intake.scopes.of(report);
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
    intake.s.log.warn(
      { agent: session.id, ...keyed(report), fields: shown.ignored },
      "fields of a discovered object were left out",
    );
  if (object && sighting.liveUid === report.uid) {
    await change(intake, object, report, scope, shown);
    intake.seen.push(sightingOf(report, object.uid));
    return "taken";
  }
  // Another object under the same name: clients must not take it for the one before.
  if (object) await forget(intake, object);
  if (intake.shown >= intake.s.limits.discovered || (await isCrowded(intake, scope))) return "refused";
  intake.shown++;
  intake.added.push({ report, scope, shown, before: object });
  return "taken";
}

/** Whether one tenant of the agent has three of four places: what its sets make must not hide what the others have. */
async function isCrowded(intake: Intake, scope: Scope): Promise<boolean> {
  const { w, agent, s, added } = intake;
  const tenantOf = (one: Scope) => (agent.org ? one.project : one.org);
  const tenant = tenantOf(scope);
  const most = Math.floor(s.limits.discovered * 0.75);
  if (!tenant || intake.shown < most) return false;
  intake.tenants ??= await sightings.countsOfTenants(w, agent);
  const more = added.filter((one) => tenantOf(one.scope) === tenant).length;
  return (intake.tenants.get(tenant) ?? 0) + more >= most;
}

const sightingOf = (report: DiscoveredReport, uid: string): sightings.NewSighting => ({
  ...keyed(report),
  uid,
  liveUid: report.uid,
  digest: digestOf(report),
  argoProject: report.argoProject,
  tenant: report.tenant,
});

async function forget(intake: Intake, object: Stored): Promise<void> {
  await removeShown(intake.w, object);
  intake.shown--;
}

/** Whether the service delivers the live object: then the reports of deliveries cover it, and nothing here changes it. */
async function isManaged({ w, agent, delivered }: Intake, report: DiscoveredReport): Promise<boolean> {
  if (delivered.has(sightings.textOf(report))) return true;
  if (report.mark === undefined) return false;
  // A mark alone proves nothing, because it can be copied; with another name it is an object of its own.
  const delivery = await tryFindDelivery(w, w.account, report.mark);
  return delivery?.agentUid === agent.uid && delivery.live?.uid === report.uid;
}

/** Adds new objects, after all changes that free ids or take them by a move. */
async function addAll(intake: Intake): Promise<void> {
  const { w, agent, home } = intake;
  const places = intake.added.map(({ report, scope, before }) => {
    const kept = before && isSame(before, scope) ? [before.id] : [];
    const ids = [...kept, ...idsFor(report, agent.uid, home)];
    return ids.map((id) => ({ ...placeIn(scope), collection: report.collection, id }));
  });
  const taken = await takenIds(w, places.flat());
  const objects = intake.added.map(({ report, shown: { origin, found, spec, status } }, i) => {
    // Only a person who gives all of these ids to other objects gets a random one.
    const place = places[i]!.find((one) => !taken.has(idText(one))) ?? { ...places[i]![0]!, id: randomUUID() };
    taken.add(idText(place));
    return { ...place, spec, status: { ...status, ...times(intake, report, 1) }, origin, found, agentUid: agent.uid };
  });
  const stored = await insertObjects(w, objects);
  for (const one of stored) await recordDeployments(w, {}, one);
  intake.added.forEach(({ report }, i) => {
    intake.seen.push(sightingOf(report, stored[i]!.uid));
  });
  await sightings.saveSightings(w, agent.uid, intake.session.session, intake.seen);
  await sightings.addShown(w, agent.uid, stored.length);
}

/** Stores changes; an unchanged report writes nothing. */
async function change(
  intake: Intake,
  before: Stored,
  report: DiscoveredReport,
  scope: Scope,
  shown: Shown,
): Promise<void> {
  const { w, agent } = intake;
  const moved = isSame(before, scope) ? before : await moveTo(w, before, agent, scope);
  const generation = canonical(moved.spec) === canonical(shown.spec) ? moved.generation : moved.generation + 1;
  const status = { ...shown.status, ...times(intake, report, generation) };
  const { origin, found, spec } = shown;
  const same =
    generation === moved.generation && moved.origin === origin && canonical(moved.found) === canonical(found);
  if (same && !differs(moved.status, status)) return;
  const saved = await updateObject(w, { ...moved, generation, origin, found, spec, status });
  await recordDeployments(w, before.status, saved);
}

/** Status and spec came together, so the status speaks of this generation. */
function times({ now }: Intake, { collection }: DiscoveredReport, generation: number): Record<string, unknown> {
  const reported = collection === "applications" || collection === "applicationsets";
  return { observedGeneration: generation, ...(reported ? { reportedAt: now.toISOString() } : {}) };
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
    await sightings.forgetRefused(s.db, account, agentUid, of);
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
          message: `The agent's namespaces hold more than ${most} objects that the service did not make; the others are not shown. Of these, one organization or project below the agent's scope has at most three quarters. Give the agent fewer namespaces, or install another agent for some of them.`,
        };
  const conditions = withCondition(before, { type: "DiscoveredLimit", ...condition }, await timeOf(w));
  await updateObject(w, { ...agent, status: { ...agent.status, conditions } });
}
