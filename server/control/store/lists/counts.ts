import type { Field } from "../../domain/lists/fields.ts";
import type { Term } from "../../domain/lists/filter.ts";
import type { Schemas } from "../../domain/nouns.ts";
import type { Sql } from "../database/sql.ts";
import { textOf } from "./filter.ts";
import { conditions, type Reading } from "./list.ts";

/** Groups in one answer. */
const GROUPS = 1_000;

export interface Counting {
  inherited: boolean;
  filter: readonly Term[];
  /** Fields whose values make a group, by their names. */
  by: ReadonlyMap<string, Field>;
}

/** How many objects a list would find, in groups with equal values. */
export async function countObjects(
  sql: Sql,
  of: Omit<Reading, "columns">,
  counting: Counting,
): Promise<Schemas["Counts"]> {
  const { params, bind, where } = conditions(of.collection, of.scope, counting);
  const names = [...counting.by.keys()];
  const values = [...counting.by.values()].map((field, n) => `${textOf(field, bind)} as v${n}`);
  const columns = values.map((_, n) => `v${n}`);
  // One plan for the groups and for their sum, which also counts the groups that are not shown.
  const rows = await sql.query(
    `select ${[...columns, "count(*)::int as n", "sum(count(*)) over ()::int as total"].join(", ")}
     from (select ${[...values, "1"].join(", ")} from objects where ${where.join(" and ")}) o
     ${columns.length > 0 ? `group by ${columns.join(", ")}` : ""} order by ${["n desc", ...columns.map((c) => `${c} collate "C"`)].join(", ")} limit ${bind(GROUPS + 1)}`,
    params,
  );
  const groups = rows
    .filter(({ n }) => n > 0)
    .slice(0, GROUPS)
    .map((row) => ({ by: valuesOf(row, names), count: row.n }));
  return { total: rows[0]?.total ?? 0, groups, ...(rows.length > GROUPS ? { truncated: true } : {}) };
}

function valuesOf(row: Record<string, unknown>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name, n) => (row[`v${n}`] === null ? [] : [[name, String(row[`v${n}`])]])));
}
