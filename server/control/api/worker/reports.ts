import { setTimeout as pause } from "node:timers/promises";
import { isDelivered, nouns } from "../../domain/nouns.ts";
import { differs, observe, type Report } from "../../domain/observe.ts";
import { type Writer, writing } from "../../store/database/writer.ts";
import type { SessionRow } from "../../store/identity/sessions.ts";
import { heldAmong, saveReported, tryFindDelivery } from "../../store/objects/deliveries.ts";
import { endTombstone } from "../../store/objects/moves.ts";
import { touchReport, tryFindByUid, updateObject } from "../../store/objects/objects.ts";
import { recordDeployments } from "../../store/services/record.ts";
import { removeNow, removeReleased } from "../nouns/delete.ts";
import type { Services } from "../services.ts";

// One transaction holds the account's lock; this many reports keep it for some tens of milliseconds.
const BATCH = 50;

// On the embedded store a transaction holds up every other statement: between two of them the others get half as long as the last one took.
const SHARE = 0.5;
const MAX_PAUSE_MS = 100;

/**
 * Takes in what an agent reports: of each object the last word. A report of something that is not this agent's, or gone, is passed over, and
 * costs no transaction: an agent may send thousands of them.
 */
export async function takeReports(s: Services, session: SessionRow, reports: readonly Report[]): Promise<void> {
  const last = new Map(reports.map((report) => [report.uid, report]));
  const own = await heldAmong(s.db, session.account, session.objectUid, [...last.keys()]);
  const news = [...last.values()].filter(({ uid }) => own.has(uid));
  for (let at = 0; at < news.length; at += BATCH) {
    const started = performance.now();
    await writing(s.db, session.account, async (w) => {
      for (const report of news.slice(at, at + BATCH)) await takeReport(s, w, session, report);
    });
    if (at + BATCH < news.length) await pause(Math.min((performance.now() - started) * SHARE, MAX_PAUSE_MS));
  }
}

async function takeReport(s: Services, w: Writer, session: SessionRow, report: Report): Promise<void> {
  if (report.generation !== undefined && !Number.isSafeInteger(report.generation)) return;
  const delivery = await tryFindDelivery(w, w.account, report.uid);
  if (!delivery || delivery.agentUid !== session.objectUid || !isDelivered(delivery.collection)) return;
  // A tombstone of an object that moved away: there is nothing to tell of it but its end.
  if (delivery.heir !== undefined) {
    if (report.outcome === "deleted" && report.generation === delivery.revision)
      await removeReleased(w, await endTombstone(w, delivery.uid));
    return;
  }
  const object = await tryFindByUid(w, w.account, report.uid);
  if (!object) return;
  // Sent twice because its answer got lost, or overtaken by a newer one.
  const revision = Number.isSafeInteger(report.revision) ? report.revision! : 0;
  if (revision > 0 && delivery.reportedSession === session.session && revision <= delivery.reportedRevision) return;
  const [{ now } = { now: new Date() }] = await w.query<{ now: Date }>("select outpost_now() now");
  const seen = observe(nouns[delivery.collection], object.generation, object.status, delivery, report, now);
  if (seen.ignored.length)
    s.log.warn(
      { agent: session.id, uid: report.uid, fields: seen.ignored },
      "fields of a report do not fit the contract and were left out",
    );
  if (seen.gone) {
    await removeNow(w, object);
    return;
  }
  await saveReported(w, delivery, {
    ackedRevision: seen.ackedRevision,
    credentialsArrived: seen.credentialsArrived,
    session: session.session,
    reportedRevision: revision || delivery.reportedRevision,
  });
  if (differs(object.status, seen.status)) {
    const saved = await updateObject(w, { ...object, status: seen.status });
    await recordDeployments(w, object.status, saved);
  } else if (seen.status.reportedAt && seen.status.reportedAt !== object.status.reportedAt)
    await touchReport(w, object, seen.status.reportedAt);
}
