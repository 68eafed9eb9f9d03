import type { Term } from "../../domain/lists/filter.ts";
import type { Collection } from "../../domain/nouns.ts";
import type { Scope } from "../../domain/scope.ts";
import { COLUMNS, type Stored, scopeTerms, toStored } from "../objects.ts";
import type { Sql } from "../sql.ts";
import { printTerm } from "./filter.ts";

export interface ListOptions {
  /** Also the scopes below. */
  inherited: boolean;
  limit: number;
  /** Where the previous page ended. */
  after?: readonly [org: string, project: string, id: string] | undefined;
  filter?: readonly Term[];
}

/** One page in the order of the key. Keys never change, so a page can neither skip nor repeat an object that was there all along. */
export async function listObjects(sql: Sql, collection: Collection, scope: Scope, options: ListOptions): Promise<Stored[]> {
  const params: unknown[] = [scope.account, collection];
  const bind = (value: unknown) => `$${params.push(value)}`;
  const where = ["account = $1", "collection = $2", ...scopeTerms(scope, options.inherited, bind)];
  if (options.after) where.push(`(org, project, id) > (${options.after.map(bind).join(", ")})`);
  for (const term of options.filter ?? []) where.push(printTerm(term, bind));
  const rows = await sql.query(
    `select ${COLUMNS} from objects where ${where.join(" and ")} order by org, project, id limit ${bind(options.limit)}`,
    params,
  );
  return rows.map(toStored);
}
