import { parseFilter } from "../../domain/lists/filter.ts";
import type { Schemas } from "../../domain/nouns.ts";
import { contains, type Scope } from "../../domain/scope.ts";
import { placedOf } from "../../domain/services/placed.ts";
import type { Row } from "../../store/database/sql.ts";
import { readMatrix, specsAt } from "../../store/services/matrix.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { checkScopeExists } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";

type Cell = Schemas["MatrixCell"];
type Environment = Schemas["MatrixEnvironment"];

const SYNC = ["OutOfSync", "Unknown", "Synced"];
const HEALTH = ["Degraded", "Missing", "Unknown", "Progressing", "Suspended", "Healthy"];
const MOST_IMAGES = 50;

/** GET of what runs where. */
export const getServiceMatrix =
  (s: Services): Handler<"getServiceMatrix"> =>
  async ({ query, scope }) => {
    const { limit = 100, cursor, inherited = false, filter } = query;
    await checkScopeExists(s.db, scope);
    const after = cursor === undefined ? "" : String(readCursor(cursor, ["string"])[0]);
    // One more than asked for tells whether another page follows.
    const rows = await readMatrix(s.db, scope, { inherited, filter: parseFilter(filter), after, limit: limit + 1 });
    const services = groups(rows, "service");
    const page = services.slice(0, limit);
    const last = page.at(-1);
    const environments = [...new Set(page.flatMap(([, of]) => of.map((row) => String(row.environment))))];
    const known = {
      services: await visible(
        s,
        scope,
        "services",
        page.map(([at]) => at),
      ),
      environments: await visible(s, scope, "environments", environments),
    };
    const body = {
      items: page.map(([at, of]) => ({
        service: placedOf(at),
        ...picked(known.services.get(at), ["name", "type", "owner"]),
        cells: groups(of, "environment").map(([environment, apps]) => toCell(environment, apps)),
      })),
      environments: environments
        .map((at) => ({ ...placedOf(at), ...picked(known.environments.get(at), ["name", "type"]) }) as Environment)
        .sort(beforeProduction),
      ...(services.length > limit && last ? { nextCursor: writeCursor([last[0]]) } : {}),
    };
    return { status: 200, body };
  };

/** What is above a scope is not for its keys to read; an application there may name it all the same. */
async function visible(s: Services, scope: Scope, collection: "services" | "environments", addresses: string[]) {
  const inside = addresses.filter((at) => {
    const { org = "", project = "" } = placedOf(at);
    return contains(scope, { account: scope.account, org, project });
  });
  return specsAt(s.db, scope.account, collection, inside);
}

/** Rows with equal texts, which stand one after the other. */
function groups(rows: readonly Row[], by: string): [string, Row[]][] {
  const found = new Map<string, Row[]>();
  for (const row of rows) {
    const group = found.get(row[by]);
    if (group) group.push(row);
    else found.set(row[by], [row]);
  }
  return [...found];
}

function toCell(environment: string, rows: readonly Row[]): Cell {
  const [first] = rows;
  const [revisions, revision] = [Number(first!.revisions), first!.f_revision];
  return {
    environment: placedOf(environment),
    count: Number(first!.n),
    ...(revisions === 1 && revision ? { revision } : {}),
    revisions,
    sync: SYNC[first!.worst_sync - 1]!,
    health: HEALTH[first!.worst_health - 1]!,
    ...counted(first!.all_ready, first!.all_total),
    ...(first!.deployed ? { deployedAt: first!.deployed } : {}),
    images: [...new Set(rows.flatMap((row) => textsOf(row.f_images)))].slice(0, MOST_IMAGES),
    items: rows.map(toApplication),
  };
}

function toApplication(row: Row): Schemas["MatrixApplication"] {
  const texts = {
    org: row.org,
    project: row.project,
    agent: row.f_agent,
    cluster: row.f_cluster,
    sync: row.f_sync,
    health: row.f_health,
    revision: row.f_revision,
    deployedAt: row.f_deployed,
  };
  const known = Object.fromEntries(Object.entries(texts).filter(([, text]) => text));
  return { id: row.id, ...known, ...counted(row.ready, row.total) };
}

const counted = (ready: unknown, total: unknown): { ready?: number; total?: number } =>
  total === null || total === undefined ? {} : { ready: Number(ready), total: Number(total) };

const textsOf = (images: unknown): string[] =>
  Array.isArray(images) ? images.filter((one): one is string => typeof one === "string") : [];

const picked = (spec: Record<string, string> | undefined, names: string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (spec?.[name] ? [[name, spec[name]]] : [])));

/** Production is the last step of a roll-out. */
function beforeProduction(a: Environment, b: Environment): number {
  const late = (one: Environment) => Number(one.type === "production");
  return late(a) - late(b) || (a.id < b.id ? -1 : 1);
}
