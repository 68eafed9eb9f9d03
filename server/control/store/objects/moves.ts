import { randomUUID } from "node:crypto";
import type { Sql } from "../database/sql.ts";
import type { Writer } from "../database/writer.ts";
import { agentTopic } from "./deliveries.ts";

/**
 * Marks an object whose delete was asked for while others refer to it: the next creation under its id takes its place, and it goes when
 * nothing refers to it any more.
 */
export async function releaseObject(w: Writer, uid: string): Promise<void> {
  await w.query("update objects set released = true where account = $1 and uid = $2", [w.account, uid]);
}

export async function isReleased(sql: Sql, account: string, uid: string): Promise<boolean> {
  const [row] = await sql.query("select released from objects where account = $1 and uid = $2", [account, uid]);
  return row?.released === true;
}

/** Released objects that one refers to, and the organisation and project that it is in: without it, they may be free to go. */
export async function releasedFor(
  sql: Sql,
  o: { account: string; uid: string; org: string; project: string },
): Promise<string[]> {
  const rows = await sql.query(
    `select o.uid from object_references r join objects o on o.account = r.account and o.uid = r.to_uid and o.released
       where r.account = $1 and r.from_uid = $2
     union select uid from objects where account = $1 and collection = 'organizations' and org = '' and project = '' and id = $3 and released
     union select uid from objects where account = $1 and collection = 'projects' and org = $3 and project = '' and id = $4 and released`,
    [o.account, o.uid, o.org, o.project],
  );
  return rows.map((row) => row.uid);
}

/** Everything that is released. */
export async function allReleased(sql: Sql, account: string): Promise<string[]> {
  return (await sql.query("select uid from objects where account = $1 and released", [account])).map((row) => row.uid);
}

/** Gives an object a new uid. References follow; deliveries with the old one are left to the caller. */
export async function renewUid(w: Writer, uid: string): Promise<string> {
  const next = randomUUID();
  await w.query("update objects set uid = $3, released = false where account = $1 and uid = $2", [
    w.account,
    uid,
    next,
  ]);
  await w.query("update object_references set to_uid = $3 where account = $1 and to_uid = $2", [w.account, uid, next]);
  await w.query("delete from object_references where account = $1 and from_uid = $2", [w.account, uid]);
  return next;
}

/** The creation of a replaced object is now; so its age counts from now. */
export async function restartAge(w: Writer, uid: string): Promise<void> {
  await w.query("update objects set created_at = outpost_now() where account = $1 and uid = $2", [w.account, uid]);
}

/** The same agent gets the object under its new uid. Credentials and actions for the object before are forgotten. */
export async function renewDelivery(w: Writer, uid: string, next: string): Promise<void> {
  await w.query("update deliveries set uid = $3, sealed = null, action = null where account = $1 and uid = $2", [
    w.account,
    uid,
    next,
  ]);
  await w.query("update deliveries set heir = $3 where account = $1 and heir = $2", [w.account, uid, next]);
}

/**
 * The agent before gives up an object that has moved to another one. It deletes nothing in a cluster: the other agent may have taken over
 * the very same objects already. Forgotten at once when it was never sent.
 */
export async function giveUp(w: Writer, uid: string, heir: string): Promise<void> {
  await w.query("update deliveries set heir = $3 where account = $1 and heir = $2", [w.account, uid, heir]);
  await w.query("delete from deliveries where account = $1 and uid = $2 and sent_revision = 0 and acked_revision = 0", [
    w.account,
    uid,
  ]);
  const rows = await w.query(
    `update deliveries set op = 'delete', cascade = 'orphan', heir = $3, revision = revision + 1, spec_revision = revision + 1, sealed = null, action = null
     where account = $1 and uid = $2 returning agent_uid`,
    [w.account, uid, heir],
  );
  for (const { agent_uid } of rows) w.notify(w.account, agentTopic(agent_uid));
}

/** The agent before has given the object up: the one that waited for it may have it. Gives the uids of the agents before. */
export async function endTombstone(w: Writer, uid: string): Promise<string[]> {
  const rows = await w.query("delete from deliveries where account = $1 and uid = $2 returning agent_uid, heir", [
    w.account,
    uid,
  ]);
  for (const { agent_uid, heir } of rows) {
    // Clusters and projects of the agent before wait for the last application there.
    w.notify(w.account, agentTopic(agent_uid));
    const waiting = await w.query("select agent_uid from deliveries where account = $1 and uid = $2", [
      w.account,
      heir,
    ]);
    for (const one of waiting) w.notify(w.account, agentTopic(one.agent_uid));
  }
  return rows.map((row) => row.agent_uid);
}

/** Applications that an agent has not given up yet, though they have moved. */
export async function movingAway(sql: Sql, account: string, agentUid: string): Promise<string[]> {
  const rows = await sql.query(
    `select collection, id from deliveries where account = $1 and agent_uid = $2 and heir is not null
     and collection in ('applications', 'applicationsets') order by 1, 2 limit 5`,
    [account, agentUid],
  );
  return rows.map((row) => `${row.collection}/${row.id}`);
}

/** A replaced agent keeps its deliveries, which name it by its uid. */
export async function keepDeliveries(w: Writer, uid: string, next: string): Promise<void> {
  await w.query(
    "update deliveries set agent_uid = $3, acked_revision = 0, sent_revision = 0, sent_session = null where account = $1 and agent_uid = $2",
    [w.account, uid, next],
  );
}

/** The pending deliveries of a removed agent. */
export async function dropDeliveries(w: Writer, agentUid: string): Promise<void> {
  await w.query("delete from deliveries where account = $1 and agent_uid = $2", [w.account, agentUid]);
}
