import type { DiscoveredCollection } from "../../domain/nouns.ts";
import type { Row, Sql, Tx } from "../database/sql.ts";
import type { Writer } from "../database/writer.ts";

/** Names a live object of one agent. */
export interface LiveKey {
  collection: DiscoveredCollection;
  namespace: string;
  name: string;
}

/** A discovered live object: the object that shows it, and the agent's report of it. */
export interface Sighting extends LiveKey {
  uid: string;
  liveUid: string;
  digest: string;
  argoProject: string | undefined;
  tenant: string | undefined;
}

export const toSighting = (row: Row): Sighting => ({
  collection: row.collection,
  namespace: row.namespace,
  name: row.name,
  uid: row.uid,
  liveUid: row.live_uid,
  digest: row.digest,
  argoProject: row.argo_project ?? undefined,
  tenant: row.tenant ?? undefined,
});

export const textOf = ({ collection, namespace, name }: LiveKey): string => `${collection}/${namespace}/${name}`;
const columnsOf = (keys: readonly LiveKey[]) => [
  keys.map((k) => k.collection),
  keys.map((k) => k.namespace),
  keys.map((k) => k.name),
];

/** The sightings of an agent under some keys, by `textOf`. */
export async function sightingsOf(
  sql: Sql,
  account: string,
  agentUid: string,
  keys: readonly LiveKey[],
): Promise<Map<string, Sighting>> {
  if (keys.length === 0) return new Map();
  const rows = await sql.query(
    `select s.* from unnest($3::text[], $4::text[], $5::text[]) k(collection, namespace, name)
     join sightings s on s.account = $1 and s.agent_uid = $2 and s.collection = k.collection and s.namespace = k.namespace and s.name = k.name`,
    [account, agentUid, ...columnsOf(keys)],
  );
  return new Map(rows.map((row) => [textOf(row as unknown as LiveKey), toSighting(row)]));
}

/** A sighting with the round of its newest report. None means the round that the session is in. */
export type NewSighting = Sighting & { round: number | undefined };

/** Marks objects as seen that were reported as they are known. It needs no account's lock: nothing that is shown changes. */
export async function markSeen(
  sql: Sql,
  account: string,
  agentUid: string,
  session: string,
  keys: readonly (LiveKey & { round: number | undefined })[],
): Promise<void> {
  if (keys.length === 0) return;
  await sql.query(
    `update sightings s set seen_session = $6, seen_round = coalesce(k.round, (${currentRound("$6")}), 0)
     from unnest($3::text[], $4::text[], $5::text[], $7::bigint[]) k(collection, namespace, name, round)
     where s.account = $1 and s.agent_uid = $2 and s.collection = k.collection and s.namespace = k.namespace and s.name = k.name`,
    [account, agentUid, ...columnsOf(keys), session, keys.map((k) => k.round ?? null)],
  );
}

const currentRound = (session: string) => `select max(r.round) from discovery_rounds r
  where r.account = $1 and r.agent_uid = $2 and r.collection = k.collection and r.session = ${session}`;

/** Stores new sightings, or the newest reports of them, each object at most once. */
export async function saveSightings(
  w: Writer,
  agentUid: string,
  session: string,
  seen: readonly NewSighting[],
): Promise<void> {
  if (seen.length === 0) return;
  await w.query(
    `insert into sightings (account, agent_uid, collection, namespace, name, seen_session, uid, live_uid, digest, argo_project, tenant, seen_round)
     select $1, $2, k.collection, k.namespace, k.name, $4, k.uid, k."liveUid", k.digest, k."argoProject", k.tenant, coalesce(k.round, (${currentRound("$4")}), 0)
     from jsonb_to_recordset($3::jsonb) k(collection text, namespace text, name text, uid text, "liveUid" text, digest text, "argoProject" text, tenant text, round bigint)
     on conflict (account, agent_uid, collection, namespace, name) do update set uid = excluded.uid, live_uid = excluded.live_uid, digest = excluded.digest,
       argo_project = excluded.argo_project, tenant = excluded.tenant,
       seen_session = excluded.seen_session, seen_round = excluded.seen_round`,
    [w.account, agentUid, JSON.stringify(seen), session],
  );
}

/** Forgets the sighting that an object shows. The object itself is left to the caller. */
export async function dropSighting(w: Writer, uid: string): Promise<void> {
  await w.query(
    `with gone as (delete from sightings where account = $1 and uid = $2 returning agent_uid)
     update discoveries d set objects = d.objects - 1, freed = d.freed + 1 from gone where d.account = $1 and d.agent_uid = gone.agent_uid`,
    [w.account, uid],
  );
}

/** How many objects of an agent are shown. */
export async function countShown(sql: Sql, account: string, agentUid: string): Promise<number> {
  const [row] = await sql.query("select objects from discoveries where account = $1 and agent_uid = $2", [
    account,
    agentUid,
  ]);
  return row?.objects ?? 0;
}

/** How many of them are in scopes below the agent's: by organization for the account's agent, by project for an organization's. */
export async function countsOfTenants(
  sql: Sql,
  agent: { account: string; org: string; uid: string },
): Promise<Map<string, number>> {
  const tenant = agent.org ? "o.project" : "o.org";
  const rows = await sql.query(
    `select ${tenant} tenant, count(*)::int n from sightings s join objects o on o.account = s.account and o.uid = s.uid
     where s.account = $1 and s.agent_uid = $2 and ${tenant} <> '' group by 1`,
    [agent.account, agent.uid],
  );
  return new Map(rows.map((row) => [row.tenant, row.n]));
}

/** The same for several agents, without those that found nothing. */
export async function countsShown(
  sql: Sql,
  account: string,
  agentUids: readonly string[],
): Promise<Map<string, number>> {
  const rows = await sql.query(
    "select agent_uid, objects from discoveries where account = $1 and agent_uid = any($2::text[])",
    [account, agentUids],
  );
  return new Map(rows.map((row) => [row.agent_uid, row.objects]));
}

export async function addShown(w: Writer, agentUid: string, more: number): Promise<void> {
  if (more === 0) return;
  await w.query(
    `insert into discoveries (account, agent_uid, objects) values ($1, $2, $3)
     on conflict (account, agent_uid) do update set objects = discoveries.objects + excluded.objects`,
    [w.account, agentUid, more],
  );
}

export interface Counted {
  collection: string;
  namespace: string;
  round: number;
  taken: number;
  refused: number;
}

/** Counts the reports of a round. A later round, or one of another session, starts from zero. */
export async function countRounds(
  tx: Tx,
  account: string,
  agentUid: string,
  session: string,
  counted: readonly Counted[],
): Promise<void> {
  for (const { collection, namespace, round, taken, refused } of counted)
    await tx.query(
      `insert into discovery_rounds as r (account, agent_uid, collection, namespace, session, round, taken, refused) values ($1, $2, $3, $4, $5, $6, $7, $8)
       on conflict (account, agent_uid, collection, namespace) do update set session = excluded.session, round = excluded.round,
         taken = excluded.taken + case when r.session = excluded.session and r.round = excluded.round then r.taken else 0 end,
         refused = excluded.refused + case when r.session = excluded.session and r.round = excluded.round then r.refused else 0 end`,
      [account, agentUid, collection, namespace, session, round, taken, refused],
    );
}

export interface Round {
  session: string;
  collection: string;
  namespace: string | undefined;
  round: number;
}

/** How many reports of a round were taken in. */
export async function takenIn(sql: Sql, account: string, agentUid: string, r: Round): Promise<number> {
  const [row] = await sql.query(
    `select coalesce(sum(taken), 0)::int n from discovery_rounds
     where account = $1 and agent_uid = $2 and session = $3 and collection = $4 and round = $5 and ($6::text is null or namespace = $6)`,
    [account, agentUid, r.session, r.collection, r.round, r.namespace ?? null],
  );
  return row!.n;
}

/** Whether a report of this session's rounds was beyond the bound. */
export async function anyRefused(sql: Sql, account: string, agentUid: string, session: string): Promise<boolean> {
  const rows = await sql.query(
    "select 1 from discovery_rounds where account = $1 and agent_uid = $2 and session = $3 and refused > 0 limit 1",
    [account, agentUid, session],
  );
  return rows.length > 0;
}

/** A complete round says all: what earlier ones had refused counts no more. */
export async function forgetRefused(sql: Sql, account: string, agentUid: string, r: Round): Promise<void> {
  await sql.query(
    `update discovery_rounds set refused = 0 where account = $1 and agent_uid = $2 and collection = $4 and ($6::text is null or namespace = $6)
     and refused > 0 and (session <> $3 or round < $5)`,
    [account, agentUid, r.session, r.collection, r.round, r.namespace ?? null],
  );
}

/** Objects that a complete round did not report, some at a time. */
export async function unseenIn(
  sql: Sql,
  account: string,
  agentUid: string,
  r: Round,
  limit: number,
): Promise<string[]> {
  const rows = await sql.query(
    `select uid from sightings where account = $1 and agent_uid = $2 and collection = $4 and ($6::text is null or namespace = $6)
     and (seen_session <> $3 or seen_round < $5) order by namespace, name limit $7`,
    [account, agentUid, r.session, r.collection, r.round, r.namespace ?? null, limit],
  );
  return rows.map((row) => row.uid);
}

/** The object that shows a live object of an agent, and where it is. */
export async function tryFindShown(
  sql: Sql,
  account: string,
  agentUid: string,
  key: LiveKey,
): Promise<{ uid: string; org: string; project: string; id: string } | undefined> {
  const [row] = await sql.query(
    `select o.uid, o.org, o.project, o.id from sightings s join objects o on o.account = s.account and o.uid = s.uid
     where s.account = $1 and s.agent_uid = $2 and s.collection = $3 and s.namespace = $4 and s.name = $5`,
    [account, agentUid, key.collection, key.namespace, key.name],
  );
  return row && { uid: row.uid, org: row.org, project: row.project, id: row.id };
}

/** The service has given up an object that stays in the agent's cluster: the agent is to tell of it. */
export async function askToTell(w: Writer, agentUid: string): Promise<void> {
  await w.query(
    `insert into discoveries (account, agent_uid, forgotten) values ($1, $2, true)
     on conflict (account, agent_uid) do update set forgotten = true`,
    [w.account, agentUid],
  );
}

/** Connected agents that are to tell everything once more: there is room for what was refused, or an object was given up. Each only once. */
export async function takeToTell(sql: Sql, account: string, most: number, everySeconds: number): Promise<string[]> {
  const rows = await sql.query(
    `update discoveries d set freed = 0, forgotten = false, asked_at = outpost_now() from objects o
     where d.account = $1 and o.account = $1 and o.uid = d.agent_uid and o.status->>'connected' = 'true'
       and (d.forgotten or (d.freed > 0 and d.objects < $2 and o.status->'conditions' @> '[{"type": "DiscoveredLimit", "status": "True"}]'))
       and (d.asked_at is null or d.asked_at < outpost_now() - make_interval(secs => $3))
     returning d.agent_uid`,
    [account, most, everySeconds],
  );
  return rows.map((row) => row.agent_uid);
}

/** Agents whose objects must be looked at again because a mapping, a scope or a set has changed, with how often. */
export interface Rescope {
  agentUid: string;
  changes: number;
}

export async function askRescope(w: Writer, agentUid: string): Promise<void> {
  await w.query("update discoveries set rescope = rescope + 1 where account = $1 and agent_uid = $2", [
    w.account,
    agentUid,
  ]);
}

/** A scope has come or gone: agents that have seen something of it must look again. No mapping leads to a scope that is not there. */
export async function askRescopeOfScope(w: Writer, { org, project }: { org: string; project: string }): Promise<void> {
  await w.query(
    `update discoveries d set rescope = rescope + 1 where d.account = $1
     and exists (select 1 from sightings s where s.account = $1 and s.agent_uid = d.agent_uid and s.tenant = $2)`,
    [w.account, `${org}/${project || "-"}`],
  );
}

export async function rescopesOf(sql: Sql, account: string): Promise<Rescope[]> {
  const rows = await sql.query("select agent_uid, rescope from discoveries where account = $1 and rescope > 0", [
    account,
  ]);
  return rows.map((row) => ({ agentUid: row.agent_uid, changes: row.rescope }));
}

/** Done, unless something has changed meanwhile. */
export async function endRescope(sql: Sql, account: string, { agentUid, changes }: Rescope): Promise<void> {
  await sql.query("update discoveries set rescope = 0 where account = $1 and agent_uid = $2 and rescope = $3", [
    account,
    agentUid,
    changes,
  ]);
}

/** Forgets all that an agent has found, with one event for each object. */
export async function removeShownOf(w: Writer, agentUid: string): Promise<void> {
  const [{ n } = { n: 0 }] = await w.query<{ n: number }>(
    "select count(*)::int n from objects where account = $1 and agent_uid = $2 and origin <> 'managed'",
    [w.account, agentUid],
  );
  if (n > 0) {
    const first = w.nextVersion();
    for (let i = 1; i < n; i++) w.nextVersion();
    await w.query(
      `with gone as (delete from objects where account = $1 and agent_uid = $2 and origin <> 'managed' returning collection, org, project, id)
       insert into events (account, version, at, collection, org, project, id, object)
       select $1, $3::bigint - 1 + row_number() over (), outpost_now(), collection, org, project, id, null from gone`,
      [w.account, agentUid, first],
    );
  }
  for (const table of ["sightings", "discoveries", "discovery_rounds"])
    await w.query(`delete from ${table} where account = $1 and agent_uid = $2`, [w.account, agentUid]);
}
