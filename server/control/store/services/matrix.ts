import type { Term } from "../../domain/lists/filter.ts";
import type { Scope } from "../../domain/scope.ts";
import { placedOf } from "../../domain/services/placed.ts";
import type { Row, Sql } from "../database/sql.ts";
import { conditions } from "../lists/list.ts";

/** Applications that are shown of one service in one environment. */
const SHOWN = 20;

/** What an application calls its service or environment as an address: the same as `addressOf` of domain/services says. */
const address = (column: string): string =>
  `case when ${column} = '' or length(${column}) > 71 then null
     when ${column} like 'account.%' then nullif('-/-/' || substr(${column}, 9), '-/-/')
     when ${column} like 'org.%' and org <> '' then nullif(org || '/-/' || substr(${column}, 5), org || '/-/')
     when strpos(${column}, '.') > 0 then null
     else coalesce(nullif(org, ''), '-') || '/' || coalesce(nullif(project, ''), '-') || '/' || ${column} end`;

const SYNC = "coalesce(array_position(array['OutOfSync', 'Unknown', 'Synced'], f_sync), 2)";
const HEALTH =
  "coalesce(array_position(array['Degraded', 'Missing', 'Unknown', 'Progressing', 'Suspended', 'Healthy'], f_health), 3)";

/** A number that an agent reported; none for what is no number. */
const count = (column: string): string => `case when ${column} ~ '^[0-9]{1,9}$' then ${column}::int end`;

/** A page of services with their applications. It reads the columns beside the objects, never specification or status. */
export async function readMatrix(
  sql: Sql,
  scope: Scope,
  options: { inherited: boolean; filter: readonly Term[]; after: string; limit: number },
): Promise<Row[]> {
  const { bind, params, where } = conditions("applications", scope, options);
  return sql.query(
    `with named as materialized (
       select uid, ${address("f_service")} as service, ${address("f_environment")} as environment
       from objects where f_service is not null and f_environment is not null and ${where.join(" and ")}),
     page as (select distinct service collate "C" as service from named
       where environment is not null and service collate "C" > ${bind(options.after)} order by 1 limit ${bind(options.limit)}),
     apps as (select service, environment, org, project, id, f_agent, f_cluster, f_sync, f_health, f_revision, f_deployed, f_images,
         ${count("f_ready")} as ready, ${count("f_total")} as total, ${SYNC} as sync_rank, ${HEALTH} as health_rank
       from named join page using (service)
         -- One look each by the key: the planner takes a page for half of the objects, and would read all of them again.
         cross join lateral (select * from objects o where o.account = $1 and o.uid = named.uid limit 1) shown where environment is not null),
     cells as (select apps.*, count(*) over cell as n, min(sync_rank) over cell as worst_sync, min(health_rank) over cell as worst_health,
         max(f_deployed) over cell as deployed, sum(ready) over cell as all_ready, sum(total) over cell as all_total,
         dense_rank() over (partition by service, environment order by f_revision) as revision_rank,
         row_number() over (partition by service, environment order by health_rank, sync_rank, org collate "C", project collate "C", id collate "C") as place
       from apps window cell as (partition by service, environment)),
     counted as (select *, max(revision_rank) over (partition by service, environment) as revisions from cells)
     select * from counted where place <= ${SHOWN} order by service collate "C", environment collate "C", place`,
    params,
  );
}

/** The specifications of the services or environments that some addresses name. */
export async function specsAt(
  sql: Sql,
  account: string,
  collection: "services" | "environments",
  addresses: readonly string[],
): Promise<Map<string, Record<string, string>>> {
  const places = addresses.map((at) => ({ at, ...placedOf(at) }));
  const rows = await sql.query(
    `select k.at, o.spec from jsonb_to_recordset($3::jsonb) k(at text, org text, project text, id text)
     join objects o on o.account = $1 and o.collection = $2 and o.org = coalesce(k.org, '') and o.project = coalesce(k.project, '') and o.id = k.id`,
    [account, collection, JSON.stringify(places)],
  );
  return new Map(rows.map(({ at, spec }) => [at, spec]));
}
