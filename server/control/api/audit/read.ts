import type { ServerResponse } from "node:http";
import { type OperationId, operations } from "../../../../openapi/contract/operations.ts";
import { didYouMean } from "../../../../openapi/rules/suggest.ts";
import { stillValid } from "../../access/authenticate.ts";
import { Problem } from "../../domain/problem.ts";
import { type AuditQuery, listAudit as readAudit, exportAudit as readExport } from "../../store/audit.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { drained } from "../http/drained.ts";
import { checkScopeExists } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { viewAudit } from "./view.ts";

/** Lines that are read at once; between two reads others use the store. */
const PAGE = 1_000;
const STALL_MS = 30_000;
const COLUMNS = [
  "seq",
  "at",
  "actor",
  "address",
  "operation",
  "org",
  "project",
  "target",
  "outcome",
  "code",
  "request",
  "changes",
] as const;

export const listAudit =
  (s: Services): Handler<"listAudit"> =>
  async (call) => {
    await checkScopeExists(s.db, call.scope);
    const { limit = 100, cursor, ...given } = call.query;
    const before = cursor === undefined ? undefined : (readCursor(cursor, ["number"])[0] as number);
    const { rows, next } = await readAudit(s.db, call.scope, limit, { before, ...queryOf(given) });
    return {
      status: 200,
      body: { items: rows.map(viewAudit), ...(next === undefined ? {} : { nextCursor: writeCursor([next]) }) },
    };
  };

/** The trail of a time, oldest first, as one stream: JSON lines or CSV. It ends at the newest line there was when it began. */
export const exportAudit =
  (s: Services): Handler<"exportAudit"> =>
  async (call) => {
    await checkScopeExists(s.db, call.scope);
    const { format = "ndjson", ...given } = call.query;
    const range = queryOf(given);
    // Read before anything is said, so that a store that does not answer is a problem and no torn file.
    const first = await readExport(s.db, call.scope, { ...range, after: 0, limit: PAGE });
    return { status: 200, stream: (res) => send(s, call, { format, range, first, res }) };
  };

interface Sending {
  format: "ndjson" | "csv";
  range: AuditQuery;
  first: Awaited<ReturnType<typeof readExport>>;
  res: ServerResponse;
}

async function send(s: Services, call: Call<"exportAudit">, { format, range, first, res }: Sending): Promise<void> {
  res.writeHead(200, {
    "Content-Type": format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson; charset=utf-8",
    "Content-Disposition": `attachment; filename="audit.${format === "csv" ? "csv" : "jsonl"}"`,
    "Cache-Control": "no-store",
  });
  if (format === "csv") res.write(`${COLUMNS.join(",")}\r\n`);
  let { rows } = first;
  while (rows.length > 0 && !res.destroyed && !call.signal.aborted) {
    const lines = rows.map(viewAudit);
    const text = lines.map((line) => (format === "csv" ? csvLine(line) : `${JSON.stringify(line)}\n`)).join("");
    if (!res.write(text)) await drained(res, STALL_MS);
    if (rows.length < PAGE) break;
    // A key that is revoked meanwhile gets a torn answer, which no client takes for a whole one.
    if (!(await stillValid(s.db, call.caller!))) return void res.destroy();
    ({ rows } = await readExport(s.db, call.scope, {
      ...range,
      after: lines.at(-1)!.seq,
      limit: PAGE,
      newest: first.newest,
    }));
  }
  if (call.signal.aborted) res.destroy();
  else res.end();
}

/** A field that a spreadsheet would take for a formula is made text with a leading quote. */
function csvLine(line: ReturnType<typeof viewAudit>): string {
  const fields = COLUMNS.map((name) => {
    const value = line[name] ?? "";
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  });
  return `${fields.join(",")}\r\n`;
}

interface Given {
  since?: string | undefined;
  until?: string | undefined;
  noun?: string | undefined;
  actor?: string | undefined;
  target?: string | undefined;
  outcome?: string | undefined;
  text?: string | undefined;
}

function queryOf({ since, until, noun, actor, target, outcome, text }: Given): AuditQuery {
  const range = { since: timeOf(since, "since"), until: timeOf(until, "until") };
  if (range.since && range.until && range.since >= range.until)
    throw new Problem("invalid_request", "`since` must be earlier than `until`.");
  return { ...range, actor, target, outcome, text, ...(noun === undefined ? {} : { operations: operationsOf(noun) }) };
}

/** The operations on a kind of object: those whose path begins with its collection. */
function operationsOf(noun: string): string[] {
  const ids = Object.keys(operations) as OperationId[];
  const found = ids.filter((id) => operations[id].path.split("/")[2] === noun);
  if (found.length > 0) return found;
  const known = [
    ...new Set(
      ids.filter((id) => operations[id].path.startsWith("/v1/")).map((id) => operations[id].path.split("/")[2]!),
    ),
  ];
  throw new Problem(
    "invalid_request",
    `There is no \`noun\` ${JSON.stringify(noun)}.${didYouMean(noun, known)} There are ${known.sort().join(", ")}.`,
  );
}

function timeOf(text: string | undefined, name: string): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (!/^\d{4}-\d\d-\d\dT/.test(text) || Number.isNaN(time.getTime()))
    throw new Problem(
      "invalid_request",
      `\`${name}\` must be an RFC 3339 timestamp, for example 2026-01-31T10:00:00Z.`,
    );
  return time;
}
