import type { Found, Mapping } from "../../domain/discover.ts";
import type { DeliveredCollection, DiscoveredCollection } from "../../domain/nouns.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Row, Sql } from "../database/sql.ts";
import { type LiveKey, type Sighting, textOf, toSighting } from "./sightings.ts";

type Owner = NonNullable<Found["owner"]>;

/** The prefix that the agent puts before the names of delivered Secrets, by noun. */
const PREFIX: Partial<Record<DeliveredCollection, string>> = { repositories: "repo-", clusters: "cluster-" };

/** The name of a delivered object's live object. */
export const liveNameOf = (collection: DeliveredCollection, name: string): string => (PREFIX[collection] ?? "") + name;

/** A live object that the service delivers. */
export interface Delivered {
  uid: string;
  org: string;
  project: string;
  id: string;
}

/** The delivered object for a live object, if there is one. `home` is the agent's own namespace. */
export async function tryFindDelivered(
  sql: Sql,
  account: string,
  agentUid: string,
  key: LiveKey,
  home: string,
): Promise<Delivered | undefined> {
  const bare = bareName(key);
  const [row] = await sql.query(
    `select uid, org, project, id from deliveries where account = $1 and agent_uid = $2 and collection = $3
     and (live_uid is not null and name = $4 and namespace = $5 or live_uid is null and name = $6 and $7) limit 1`,
    [
      account,
      agentUid,
      key.collection,
      key.name,
      key.namespace,
      bare ?? null,
      key.namespace === home && bare !== undefined,
    ],
  );
  return row && { uid: row.uid, org: row.org, project: row.project, id: row.id };
}

/** Which live objects the service delivers, by `textOf`. It asks what `tryFindDelivered` asks, of many at once. */
export async function deliveredAmong(
  sql: Sql,
  account: string,
  agentUid: string,
  keys: readonly LiveKey[],
  home: string,
): Promise<Set<string>> {
  const asked = keys.map((key) => {
    const { collection, namespace, name } = key;
    return { collection, namespace, name, bare: namespace === home ? bareName(key) : undefined };
  });
  const rows = await sql.query(
    `select k.collection, k.namespace, k.name from jsonb_to_recordset($3::jsonb) k(collection text, namespace text, name text, bare text)
     where exists (select 1 from deliveries d where d.account = $1 and d.agent_uid = $2 and d.collection = k.collection and d.name = k.name
         and d.namespace = k.namespace and d.live_uid is not null)
       or exists (select 1 from deliveries d where d.account = $1 and d.agent_uid = $2 and d.collection = k.collection and d.name = k.bare
         and d.live_uid is null)`,
    [account, agentUid, JSON.stringify(asked)],
  );
  return new Set(rows.map((row) => textOf(row as LiveKey)));
}

/** The name of the delivered object whose live object has a name; none where the service gives no live object that name. */
function bareName({ collection, name }: LiveKey): string | undefined {
  const prefix = PREFIX[collection];
  if (prefix === undefined) return name;
  return name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
}

/** Mappings of an agent. They are in the agent's own scope, so a lower scope cannot map objects to itself. */
export async function mappingsOf(sql: Sql, agent: Scope & { id: string }): Promise<Mapping[]> {
  const rows = await sql.query(
    `select id, spec from objects where account = $1 and collection = 'argoprojectmappings' and org = $2 and project = $3 and spec->>'agent' = $4`,
    [agent.account, agent.org, agent.project, agent.id],
  );
  return rows.map(({ id, spec }) => ({
    id,
    argoProject: spec.argoProject,
    org: spec.targetOrg ?? agent.org,
    project: spec.targetProject ?? "",
  }));
}

/** Whether a scope exists. */
export async function scopeExists(sql: Sql, { account, org, project }: Scope): Promise<boolean> {
  if (!org) return true;
  const rows = await sql.query(
    `select 1 from objects where account = $1 and collection = 'organizations' and org = '' and project = '' and id = $2
     and ($3 = '' or exists (select 1 from objects where account = $1 and collection = 'projects' and org = $2 and project = '' and id = $3))`,
    [account, org, project],
  );
  return rows.length > 0;
}

/** What makes a generated object: its object here, and whether this service manages that. */
export async function tryFindOwner(
  sql: Sql,
  account: string,
  agentUid: string,
  owner: { collection: DiscoveredCollection; name: string; namespace: string },
  home: string,
): Promise<(Delivered & { managed: boolean }) | undefined> {
  const delivered = await tryFindDelivered(sql, account, agentUid, owner, home);
  if (delivered) return { ...delivered, managed: true };
  const [row] = await sql.query(
    `select o.uid, o.org, o.project, o.id from sightings s join objects o on o.account = s.account and o.uid = s.uid
     where s.account = $1 and s.agent_uid = $2 and s.collection = $3 and s.namespace = $4 and s.name = $5`,
    [account, agentUid, owner.collection, owner.namespace, owner.name],
  );
  return row && { uid: row.uid, org: row.org, project: row.project, id: row.id, managed: false };
}

/** Mappings that show objects in an organisation, or in one project of it, some of them. */
export async function mappingsInto(sql: Sql, account: string, org: string, project: string): Promise<Row[]> {
  return sql.query(
    `select collection, org, project, id from objects where account = $1 and collection = 'argoprojectmappings' and coalesce(spec->>'targetOrg', org) = $2
     and ($3 = '' or spec->>'targetProject' = $3) order by 1, 2 limit 5`,
    [account, org, project],
  );
}

/** An object that an agent found: where it is shown, and what decides where it belongs. */
export interface Shown extends Sighting {
  org: string;
  project: string;
  owner: Owner | undefined;
  /** The tenant mark among its annotations. */
  mark: string | undefined;
}

/** What an agent found, in the order of the keys, some at a time. */
export async function shownAfter(
  sql: Sql,
  agent: { account: string; uid: string },
  after: LiveKey | undefined,
  limit: number,
): Promise<Shown[]> {
  const rows = await sql.query(
    `select s.*, o.org, o.project, o.found->'owner' owner, o.found->'live'->'annotations'->>'outpost.dev/tenant' mark
     from sightings s join objects o on o.account = s.account and o.uid = s.uid
     where s.account = $1 and s.agent_uid = $2 and (s.collection, s.namespace, s.name) > ($3, $4, $5)
     order by s.collection, s.namespace, s.name limit $6`,
    [agent.account, agent.uid, after?.collection ?? "", after?.namespace ?? "", after?.name ?? "", limit],
  );
  return rows.map((row) => ({
    ...toSighting(row),
    org: row.org,
    project: row.project,
    owner: row.owner ?? undefined,
    mark: row.mark ?? undefined,
  }));
}

/** What agents found that is shown in an organisation, or in one project of it. */
export async function shownIn(sql: Sql, account: string, org: string, project: string): Promise<string[]> {
  const rows = await sql.query(
    "select uid from objects where account = $1 and org = $2 and ($3 = '' or project = $3) and origin <> 'managed'",
    [account, org, project],
  );
  return rows.map((row) => row.uid);
}

/** How many objects are shown that no service made, by their origin, and those of the agent that has most of them. */
export async function countDiscovered(sql: Sql): Promise<{ generated: number; discovered: number; most: number }> {
  const [row] = await sql.query(
    `select count(*) filter (where origin = 'generated')::int generated, count(*) filter (where origin = 'discovered')::int discovered,
       (select coalesce(max(objects), 0)::int from discoveries) most from objects where origin <> 'managed'`,
  );
  return { generated: row!.generated, discovered: row!.discovered, most: row!.most };
}

/** Another object of an agent that was taken over and has the place of a live object. */
export async function tryFindTaken(
  sql: Sql,
  account: string,
  agentUid: string,
  key: LiveKey,
  but: string | undefined,
): Promise<Delivered | undefined> {
  const [row] = await sql.query(
    `select uid, org, project, id from deliveries where account = $1 and agent_uid = $2 and collection = $3 and name = $4 and namespace = $5
     and live_uid is not null and op = 'put' and uid is distinct from $6 limit 1`,
    [account, agentUid, key.collection, key.name, key.namespace, but ?? null],
  );
  return row && { uid: row.uid, org: row.org, project: row.project, id: row.id };
}
