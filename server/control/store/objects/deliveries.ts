import { DELIVERY_ORDER, type DeliveredCollection } from "../../domain/nouns.ts";
import type { Standing } from "../../domain/observe.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Row, Sql, Tx } from "../database/sql.ts";
import type { Writer } from "../database/writer.ts";
import { type Stored, toStored } from "./objects.ts";

/** An object on its way to an agent. */
export interface Delivery extends Standing, Scope {
  agentUid: string;
  uid: string;
  collection: DeliveredCollection;
  id: string;
  name: string;
  cascade: "foreground" | "background" | "orphan" | undefined;
  sentRevision: number;
  reportedSession: string | undefined;
  reportedRevision: number;
  sealed: Record<string, any> | undefined;
  action: Record<string, any> | undefined;
  /** Of a tombstone without an object: the uid of the one that took its place at another agent. */
  heir: string | undefined;
  /** Of an object that was taken over: where the live object is, and the uid that Kubernetes gave it. `name` is then its whole name. */
  live: { namespace: string; uid: string } | undefined;
}

function toDelivery(row: Row): Delivery {
  return {
    account: row.account,
    org: row.org,
    project: row.project,
    agentUid: row.agent_uid,
    uid: row.uid,
    collection: row.collection,
    id: row.id,
    name: row.name,
    op: row.op,
    cascade: row.cascade ?? undefined,
    revision: Number(row.revision),
    specRevision: Number(row.spec_revision),
    ackedRevision: Number(row.acked_revision),
    sentRevision: Number(row.sent_revision),
    reportedSession: row.reported_session ?? undefined,
    reportedRevision: Number(row.reported_revision),
    sealed: row.sealed ?? undefined,
    action: row.action ?? undefined,
    heir: row.heir ?? undefined,
    live: row.live_uid ? { namespace: row.namespace, uid: row.live_uid } : undefined,
  };
}

export const agentTopic = (agentUid: string) => `agent:${agentUid}`;

export interface NewDelivery extends Scope {
  agentUid: string;
  uid: string;
  collection: DeliveredCollection;
  id: string;
  name: string;
  /** New credentials; none keeps those that wait. */
  sealed: Record<string, any> | undefined;
  /** The credentials that wait are for a way to sign in that this spec no longer has. */
  drops?: boolean;
  /** It is taken over now: where the live object is. */
  live?: { namespace: string; uid: string };
}

/** The agent must hear of a new spec. */
export async function deliverSpec(w: Writer, d: NewDelivery): Promise<void> {
  await w.query(
    `insert into deliveries (account, agent_uid, uid, collection, org, project, id, name, op, revision, spec_revision, sealed, namespace, live_uid)
     values ($1, $2, $3, $4, $5, $6, $7, $8, 'put', 1, 1, $9::jsonb, $10, $11)
     on conflict (account, agent_uid, uid) do update
       set revision = deliveries.revision + 1, spec_revision = deliveries.revision + 1,
         sealed = coalesce(excluded.sealed, case when $12 then null else deliveries.sealed end)`,
    [
      d.account,
      d.agentUid,
      d.uid,
      d.collection,
      d.org,
      d.project,
      d.id,
      d.name,
      d.sealed ? JSON.stringify(d.sealed) : null,
      d.live?.namespace ?? null,
      d.live?.uid ?? null,
      d.drops === true,
    ],
  );
  w.notify(d.account, agentTopic(d.agentUid));
}

/** The agents of all objects that refer to this one must hear it: an address or a name in it has changed. */
export async function deliverToUsersOf(w: Writer, uid: string): Promise<void> {
  const rows = await w.query(
    `update deliveries set revision = revision + 1 where account = $1 and op = 'put' and uid in (select from_uid from object_references where account = $1 and to_uid = $2) returning agent_uid`,
    [w.account, uid],
  );
  for (const { agent_uid } of rows) w.notify(w.account, agentTopic(agent_uid));
}

/** Puts what is asked for beside the object; the newest of each kind counts, and null takes one back. */
export async function deliverAction(w: Writer, uid: string, action: Record<string, unknown>): Promise<void> {
  const rows = await w.query(
    "update deliveries set revision = revision + 1, action = jsonb_strip_nulls(coalesce(action, '{}'::jsonb) || $3::jsonb) where account = $1 and uid = $2 returning agent_uid",
    [w.account, uid, JSON.stringify(action)],
  );
  for (const { agent_uid } of rows) w.notify(w.account, agentTopic(agent_uid));
}

/** Turns the delivery into a tombstone. False when the agent cannot know of the object, because it was never sent. */
export async function deliverTombstone(w: Writer, uid: string, cascade: string | undefined): Promise<boolean> {
  const rows = await w.query(
    `update deliveries set op = 'delete', cascade = $3, revision = revision + 1, spec_revision = revision + 1, sealed = null, action = null
     where account = $1 and uid = $2 and (sent_revision > 0 or acked_revision > 0) returning agent_uid`,
    [w.account, uid, cascade ?? null],
  );
  for (const { agent_uid } of rows) w.notify(w.account, agentTopic(agent_uid));
  return rows.length > 0;
}

export async function tryFindDelivery(sql: Sql, account: string, uid: string): Promise<Delivery | undefined> {
  const rows = await sql.query("select * from deliveries where account = $1 and uid = $2", [account, uid]);
  return rows[0] && toDelivery(rows[0]);
}

/** Which of these objects an agent is given. */
export async function heldAmong(
  sql: Sql,
  account: string,
  agentUid: string,
  uids: readonly string[],
): Promise<Set<string>> {
  const rows = await sql.query(
    "select uid from deliveries where account = $1 and agent_uid = $2 and uid = any($3::text[])",
    [account, agentUid, uids],
  );
  return new Set(rows.map(({ uid }) => uid));
}

/** The app projects that an agent holds, or will, under some names. */
export async function projectsAt(
  sql: Sql,
  account: string,
  agentUid: string,
  names: readonly string[],
): Promise<{ name: string; object: Stored }[]> {
  const rows = await sql.query(
    `select o.*, d.name worker_name from deliveries d join objects o on o.account = d.account and o.uid = d.uid
     where d.account = $1 and d.agent_uid = $2 and d.collection = 'appprojects' and d.op = 'put' and d.name = any($3::text[])`,
    [account, agentUid, names],
  );
  return rows.map((row) => ({ name: row.worker_name, object: toStored(row) }));
}

/** What applications of a scope are called at an agent; those that it was never given are left out. */
export async function namesOfApplications(
  sql: Sql,
  agentUid: string,
  scope: Scope,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await sql.query(
    `select id, name from deliveries where account = $1 and agent_uid = $2 and collection = 'applications' and org = $3 and project = $4 and id = any($5::text[])`,
    [scope.account, agentUid, scope.org, scope.project, ids],
  );
  return new Map(rows.map((row) => [row.id, row.name]));
}

/** A delivery with its object and what its references stand for, as the agent is told it. */
export interface Due extends Delivery {
  spec: Record<string, any>;
}

// An answer may be lost: deliveries of this session that are not acknowledged by then are sent again.
const RESEND_SECONDS = 10;

const inOrder = (of: string) => `array_position(array[${DELIVERY_ORDER.map((one) => `'${one}'`)}], ${of}collection)`;

/** An application of a moved object's new agent waits while the one before holds it still: two controllers would undo each other's work. */
const HELD = `deliveries.op = 'put' and deliveries.collection in ('applications', 'applicationsets') and exists (
  select 1 from deliveries t join objects a on a.account = t.account and a.uid = t.agent_uid
  where t.account = deliveries.account and t.heir = deliveries.uid and t.agent_uid <> deliveries.agent_uid and a.status->>'connected' = 'true')`;

/** The agent before keeps a cluster or project that has moved until the last application that uses it there has gone too. */
const NEEDED = `deliveries.heir is not null and deliveries.collection not in ('applications', 'applicationsets') and exists (
  select 1 from deliveries u where u.account = deliveries.account and u.agent_uid = deliveries.agent_uid and u.uid <> deliveries.uid
    and (u.op = 'put' and exists (select 1 from object_references r where r.account = u.account and r.from_uid = u.uid and r.to_uid = deliveries.heir)
      or u.heir is not null and u.collection in ('applications', 'applicationsets')))`;

/**
 * What an agent does not have yet, in the order in which it is used. An object that is sent and
 * waits for its acknowledgement is not sent again at once, or a poll would never wait.
 */
export async function takeDue(
  tx: Tx,
  account: string,
  agentUid: string,
  session: string,
  limit: number,
): Promise<Due[]> {
  const rows = await tx.query(
    `with due as (
       select uid from deliveries where account = $1 and agent_uid = $2 and acked_revision <> revision
         and (sent_session is distinct from $3 or sent_revision <> revision or sent_at < outpost_now() - make_interval(secs => ${RESEND_SECONDS}))
         and not (${HELD}) and not (${NEEDED})
       order by ${inOrder("")}, org, project, id limit $4 for update skip locked),
     sent as (
       update deliveries d set sent_session = $3, sent_revision = d.revision, sent_at = outpost_now() from due where d.account = $1 and d.uid = due.uid returning d.*)
     select sent.*, coalesce(o.spec, '{}'::jsonb) spec from sent left join objects o on o.account = $1 and o.uid = sent.uid
     order by ${inOrder("sent.")}, sent.org, sent.project, sent.id`,
    [account, agentUid, session, limit],
  );
  return rows.map((row) => ({ ...toDelivery(row), spec: row.spec }));
}

/**
 * Takes the agent's word for what it holds. What it lacks is sent again; what it holds and should not is left alone. When it holds
 * something newer than we know (the store was restored from a backup), we count on from there, or it would refuse us as outdated.
 */
export async function setKnown(
  tx: Tx,
  account: string,
  agentUid: string,
  known: readonly { uid: string; generation: number }[],
): Promise<void> {
  await tx.query(
    `update deliveries d set
       acked_revision = coalesce(k.generation, 0), sent_session = null,
       revision = case when k.generation > d.revision then k.generation + 1 else d.revision end,
       spec_revision = case when k.generation > d.revision then k.generation + 1 else d.spec_revision end
     from deliveries s left join (select uid, max(generation) generation from unnest($3::text[], $4::bigint[]) u(uid, generation) group by uid) k on k.uid = s.uid
     where d.account = $1 and d.agent_uid = $2 and s.account = d.account and s.agent_uid = d.agent_uid and s.uid = d.uid`,
    [account, agentUid, known.map((k) => k.uid), known.map((k) => k.generation)],
  );
}

/** Stores what a report has changed. Credentials that arrived are forgotten here. */
export async function saveReported(
  w: Writer,
  d: Delivery,
  change: { ackedRevision: number; credentialsArrived: boolean; session: string; reportedRevision: number },
): Promise<void> {
  await w.query(
    `update deliveries set acked_revision = $3::bigint, sealed = case when $4 then null else sealed end, reported_session = $5, reported_revision = $6,
       sent_session = case when $3::bigint = 0 then null else sent_session end
     where account = $1 and uid = $2`,
    [d.account, d.uid, change.ackedRevision, change.credentialsArrived, change.session, change.reportedRevision],
  );
}

/** Forgets credentials that are sealed to a key which the agent no longer has. */
export async function dropSealed(w: Writer, agentUid: string): Promise<string[]> {
  const rows = await w.query(
    "update deliveries set sealed = null where account = $1 and agent_uid = $2 and sealed is not null returning uid",
    [w.account, agentUid],
  );
  return rows.map((r) => r.uid);
}
