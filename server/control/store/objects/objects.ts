import { randomUUID } from "node:crypto";
import type { Found, Origin } from "../../domain/discover.ts";
import { type Facets, facetsOf } from "../../domain/lists/predicate.ts";
import { type Collection, isDiscovered } from "../../domain/nouns.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Row, Sql } from "../database/sql.ts";
import type { Writer } from "../database/writer.ts";

/** An object as it is stored; `view` is what the API shows of it. */
export interface Stored extends Scope {
  collection: Collection;
  id: string;
  uid: string;
  generation: number;
  version: number;
  createdAt: Date;
  updatedAt: Date;
  deletionRequestedAt: Date | undefined;
  spec: Record<string, any>;
  status: Record<string, any>;
  origin: Origin;
  /** The sighting of the live object, if an agent found it. */
  found: Found | undefined;
  /** The agent that found it; none for managed objects, whose references name their agent. */
  agentUid: string | undefined;
}

export const COLUMNS =
  "account, collection, org, project, id, uid, generation, version, created_at, updated_at, deletion_requested_at, spec, status, origin, found, agent_uid";

/** The facets of a row, by their names: what an event remembers of the object before it. */
const FACETS_BEFORE =
  "id, origin, org, project, f_agent as agent, f_cluster as cluster, f_repository as repository, f_service as service, f_environment as environment, f_sync as sync, f_health as health, f_owner as owner, f_labels as labels";

export function toStored(row: Row): Stored {
  return {
    account: row.account,
    collection: row.collection,
    org: row.org,
    project: row.project,
    id: row.id,
    uid: row.uid,
    generation: Number(row.generation),
    version: Number(row.version),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    deletionRequestedAt: row.deletion_requested_at ?? undefined,
    spec: row.spec,
    status: row.status,
    origin: row.origin,
    found: row.found ?? undefined,
    agentUid: row.agent_uid ?? undefined,
  };
}

/** The object on the wire. */
export function view(o: Stored): Record<string, unknown> {
  return {
    id: o.id,
    ...(o.org ? { org: o.org } : {}),
    ...(o.project ? { project: o.project } : {}),
    uid: o.uid,
    ...(isDiscovered(o.collection) ? { origin: o.origin, ...o.found } : {}),
    generation: o.generation,
    version: String(o.version),
    createdAt: o.createdAt.toISOString(),
    updatedAt: o.updatedAt.toISOString(),
    ...(o.deletionRequestedAt ? { deletionRequestedAt: o.deletionRequestedAt.toISOString() } : {}),
    spec: o.spec,
    status: o.status,
  };
}

export async function tryFindObject(
  sql: Sql,
  collection: Collection,
  scope: Scope,
  id: string,
): Promise<Stored | undefined> {
  const rows = await sql.query(
    `select ${COLUMNS} from objects where account = $1 and collection = $2 and org = $3 and project = $4 and id = $5`,
    [scope.account, collection, scope.org, scope.project, id],
  );
  return rows[0] && toStored(rows[0]);
}

export async function tryFindByUid(sql: Sql, account: string, uid: string): Promise<Stored | undefined> {
  const rows = await sql.query(`select ${COLUMNS} from objects where account = $1 and uid = $2`, [account, uid]);
  return rows[0] && toStored(rows[0]);
}

/** The columns that hold a scope, or everything in and below it. */
export function scopeTerms(scope: Scope, inherited: boolean, bind: (value: unknown) => string): string[] {
  if (!inherited) return [`org = ${bind(scope.org)}`, `project = ${bind(scope.project)}`];
  return [
    ...(scope.org ? [`org = ${bind(scope.org)}`] : []),
    ...(scope.project ? [`project = ${bind(scope.project)}`] : []),
  ];
}

export interface NewObject extends Scope {
  collection: Collection;
  id: string;
  spec: Record<string, any>;
  status: Record<string, any>;
  origin?: Origin;
  found?: Found;
  agentUid?: string;
}

/** Adds an object and its event. */
export async function insertObject(w: Writer, o: NewObject): Promise<Stored> {
  return (await insertObjects(w, [o]))[0]!;
}

/** Adds objects and their events, in two statements however many they are. The result has their order. */
export async function insertObjects(w: Writer, objects: readonly NewObject[]): Promise<Stored[]> {
  if (objects.length === 0) return [];
  const rows = objects.map((o) => ({
    ...o,
    uid: randomUUID(),
    version: w.nextVersion(),
    origin: o.origin ?? "managed",
    agent_uid: o.agentUid,
  }));
  const inserted = await w.query(
    `insert into objects (${COLUMNS})
     select account, collection, org, project, id, uid, 1, version, now_, now_, null, spec, status, origin, found, agent_uid
     from jsonb_to_recordset($1::jsonb) o(account text, collection text, org text, project text, id text, uid text, version bigint, spec jsonb,
       status jsonb, origin text, found jsonb, agent_uid text), outpost_now() now_ returning ${COLUMNS}`,
    [JSON.stringify(rows)],
  );
  const byUid = new Map(inserted.map((row) => [row.uid, toStored(row)]));
  const stored = rows.map(({ uid }) => byUid.get(uid)!);
  await addEvents(
    w,
    stored.map((o) => ({ ...placeOf(o), version: o.version, object: view(o), was: false as const })),
  );
  return stored;
}

/** Stores the changes of an object, with its event; returns it with its new version. A write ends its release. */
export async function updateObject(w: Writer, o: Stored): Promise<Stored> {
  const rows = await w.query(
    `with was as (select ${FACETS_BEFORE} from objects where account = $1 and collection = $2 and org = $3 and project = $4 and id = $5)
     update objects set generation = $6, version = $7, updated_at = outpost_now(), deletion_requested_at = $8, spec = $9::jsonb, status = $10::jsonb,
       released = released and generation = $6, origin = $11, found = $12::jsonb, agent_uid = $13
     where account = $1 and collection = $2 and org = $3 and project = $4 and id = $5
     returning ${COLUMNS}, (select jsonb_strip_nulls(to_jsonb(was)) from was) as was`,
    [
      o.account,
      o.collection,
      o.org,
      o.project,
      o.id,
      o.generation,
      w.nextVersion(),
      o.deletionRequestedAt?.toISOString() ?? null,
      JSON.stringify(o.spec),
      JSON.stringify(o.status),
      o.origin,
      o.found ? JSON.stringify(o.found) : null,
      o.agentUid ?? null,
    ],
  );
  const stored = toStored(rows[0]!);
  await addEvent(w, stored, view(stored), rows[0]!.was);
  return stored;
}

/** Puts an object into another place: watchers see it go from the one and come to the other. Its uid stays. */
export async function relocateObject(
  w: Writer,
  o: Stored,
  place: { org: string; project: string; id: string },
): Promise<Stored> {
  await addEvent(w, { ...o, version: w.nextVersion() }, undefined, facetsOf(o));
  const rows = await w.query(
    `update objects set org = $3, project = $4, id = $5, version = $6, updated_at = outpost_now() where account = $1 and uid = $2 returning ${COLUMNS}`,
    [o.account, o.uid, place.org, place.project, place.id, w.nextVersion()],
  );
  const stored = toStored(rows[0]!);
  await addEvent(w, stored, view(stored), false);
  return stored;
}

/** Writes only the time of the latest report, which is not worth an event: a watcher would hear it from every agent all day. */
export async function touchReport(w: Writer, o: Stored, reportedAt: string): Promise<void> {
  await w.query(
    "update objects set status = status || jsonb_build_object('reportedAt', $3::text) where account = $1 and uid = $2",
    [o.account, o.uid, reportedAt],
  );
}

/** Removes an object with everything that hangs on it, and adds its event. */
export async function removeObject(w: Writer, o: Stored): Promise<void> {
  await w.query("delete from object_references where account = $1 and from_uid = $2", [o.account, o.uid]);
  await w.query("delete from deliveries where account = $1 and uid = $2", [o.account, o.uid]);
  await w.query("delete from objects where account = $1 and uid = $2", [o.account, o.uid]);
  await addEvent(w, { ...o, version: w.nextVersion() }, undefined, facetsOf(o));
}

/** Which of these ids objects have, by `idText`. */
export async function takenIds(sql: Sql, places: readonly Place[]): Promise<Set<string>> {
  if (places.length === 0) return new Set();
  const rows = await sql.query(
    `select o.collection, o.org, o.project, o.id
     from jsonb_to_recordset($1::jsonb) k(account text, collection text, org text, project text, id text) join objects o using (account, collection, org, project, id)`,
    [JSON.stringify(places.map(placeOf))],
  );
  return new Set(rows.map((row) => idText(row as Place)));
}

/** The objects with some uids, by uid. */
export async function objectsByUid(sql: Sql, account: string, uids: readonly string[]): Promise<Map<string, Stored>> {
  if (uids.length === 0) return new Map();
  const rows = await sql.query(`select ${COLUMNS} from objects where account = $1 and uid = any($2::text[])`, [
    account,
    uids,
  ]);
  return new Map(rows.map((row) => [row.uid, toStored(row)]));
}

/** Where an object is. */
export interface Place extends Scope {
  collection: Collection;
  id: string;
}

export const idText = ({ collection, org, project, id }: Omit<Place, "account">): string =>
  `${collection}/${org}/${project}/${id}`;
const placeOf = ({ account, collection, org, project, id }: Place): Place => ({
  account,
  collection,
  org,
  project,
  id,
});

async function addEvent(
  w: Writer,
  o: Stored,
  object: Record<string, unknown> | undefined,
  was: Facets | false,
): Promise<void> {
  await addEvents(w, [{ ...placeOf(o), version: o.version, object, was }]);
}

type NewEvent = Place & { version: number; object: Record<string, unknown> | undefined; was: Facets | false };

async function addEvents(w: Writer, events: readonly NewEvent[]): Promise<void> {
  await w.query(
    `insert into events (account, version, at, collection, org, project, id, object, was)
     select account, version, outpost_now(), collection, org, project, id, object, was
     from jsonb_to_recordset($1::jsonb) e(account text, version bigint, collection text, org text, project text, id text, object jsonb, was jsonb)`,
    [JSON.stringify(events)],
  );
}
