import { Problem } from "../../domain/problem.ts";
import type { Row } from "../../store/database/sql.ts";
import { cursorTypeOf, type Order } from "../../store/lists/order.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";

const nameOf = ({ field, descending }: Order): string => (descending ? `-${field}` : field);

/** The cursor of the page that follows a row. */
export function writePlace({ org, project, id, sort_key }: Row, order: Order | undefined): string {
  if (!order) return writeCursor([org, project, id]);
  return writeCursor([nameOf(order), cursorTypeOf(order) === "number" ? Number(sort_key) : sort_key, org, project, id]);
}

/** Where the page before ended: what `listRows` compares with. */
export function readPlace(cursor: string | undefined, order: Order | undefined): (string | number)[] | undefined {
  if (cursor === undefined) return undefined;
  if (!order) return readCursor(cursor, ["string", "string", "string"]);
  const [name, ...place] = readCursor(cursor, ["string", cursorTypeOf(order), "string", "string", "string"]);
  if (name !== nameOf(order))
    throw new Problem("invalid_request", "`cursor` belongs to another order: give the same `sort` for every page.");
  return place;
}
