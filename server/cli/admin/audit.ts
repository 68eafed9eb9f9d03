import { type Command, Option } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import { type Colours, printable } from "../../base/colour.ts";
import { tryParseDuration } from "../../base/lang/duration.ts";
import { nounOf } from "../objects/nouns.ts";
import { usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import { MAX_WAIT_MS } from "../session/api.ts";
import { type Session, verb } from "../session/session.ts";
import { type Column, field, type Json, plainColumn, show, stateColumn } from "../show.ts";
import { save } from "./save.ts";

interface Filters {
  actor?: string;
  noun?: string;
  target?: string;
  outcome?: string;
  text?: string;
  since?: string;
  until?: string;
}

const filterFlags = (command: Command): Command =>
  command
    .option("--actor <name>", "only of those whose name contains this")
    .option("--noun <noun>", "only operations on this kind of object, such as `app` or `apikeys`")
    .option("--target <id>", "only of the object with this id")
    .addOption(new Option("--outcome <outcome>", "only with this outcome").choices(["accepted", "denied", "refused"]))
    .option("--text <text>", "only lines that contain this anywhere, also in their changes")
    .option("--since <time>", "from this time on, such as 2026-01-31T10:00:00Z, or so long ago, such as `2h`")
    .option("--until <time>", "before this time, in the same forms");

/** `outpost audit …`: who changed what, and what it was before. */
export function auditVerbs(root: Command, io: Io): void {
  const audit = filterFlags(root.command("audit"))
    .summary("who changed what, newest first; `-o wide` shows before and after")
    .option("--limit <n>", "at most so many", "50")
    .action(verb(io, list));
  filterFlags(audit.command("export"))
    .summary("the trail of a time as JSON lines or CSV, oldest first")
    .addOption(new Option("--as <format>", "how it is written").choices(["ndjson", "csv"]).default("ndjson"))
    .option("--to <file>", "the file to write; - is standard output", "-")
    // The command above has the same flags, and takes them first.
    .action((_, command: Command) => verb(io, exportTrail)(command.optsWithGlobals(), command));
}

async function exportTrail(s: Session, flags: Filters & { as: string; to: string }): Promise<void> {
  const query = { ...queryOf(flags), format: flags.as };
  const headers = { accept: flags.as === "csv" ? "text/csv" : "application/x-ndjson" };
  await save(
    s,
    await (await s.api()).send("exportAudit", { query, headers }, AbortSignal.timeout(MAX_WAIT_MS)),
    flags.to,
  );
}

async function list(s: Session, flags: Filters & { limit: string }): Promise<void> {
  const limit = Number(flags.limit);
  if (!(limit >= 1)) throw usage(`--limit takes a number from 1, not ${JSON.stringify(flags.limit)}`);
  const api = await s.api();
  const items: Schemas["AuditEntry"][] = [];
  let cursor: string | undefined;
  do {
    // A page may hold nothing though there is more: the service looks through a bounded part of the trail at once.
    const query = { ...queryOf(flags), cursor, limit: Math.min(500, limit - items.length) };
    const page = await api.call<Schemas["AuditList"]>("listAudit", { query });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor && items.length < limit && !s.io.signal.aborted);
  show(s, items, columns(s.format === "wide"), { name: (o) => String(o.seq), empty: "nothing fits" });
}

function queryOf({ actor, noun, target, outcome, text, since, until }: Filters) {
  const collection = noun === undefined ? undefined : (nounOf(noun)?.collection ?? noun.toLowerCase());
  return { actor, noun: collection, target, outcome, text, since: timeOf(since), until: timeOf(until) };
}

/** A time, or how long ago. */
function timeOf(text: string | undefined): string | undefined {
  const ago = text === undefined ? undefined : tryParseDuration(text);
  return ago === undefined ? text : new Date(Date.now() - ago).toISOString();
}

const columns = (wide: boolean): Column[] => [
  { head: "AT", text: (o) => o.at },
  { head: "ACTOR", text: (o, c) => c.bold(field(o, "actor")) },
  plainColumn("OPERATION", "operation"),
  { head: "TARGET", text: targetOf },
  stateColumn("OUTCOME", "outcome"),
  plainColumn("CODE", "code"),
  plainColumn("ADDRESS", "address", true),
  plainColumn("REQUEST", "request", true),
  { head: "CHANGES", text: (o, c) => changesOf(o, c, wide) },
];

const targetOf = (o: Json): string =>
  [field(o, "org"), field(o, "project"), field(o, "target").replace(/^(-\/)+/, "")]
    .filter((part) => part && part !== "-")
    .join("/");

/** `source.targetRevision: main → v2`; in a narrow table only the fields of the first two. */
function changesOf(o: Json, c: Colours, wide: boolean): string {
  const changes = (o.changes ?? []) as { path: string; before?: unknown; after?: unknown }[];
  const text = (value: unknown) => (value === undefined ? c.dim("none") : one(value));
  const one = (value: unknown) =>
    printable(typeof value === "string" ? value : JSON.stringify(value)).replace(/\s*\n\s*/g, " ");
  const name = (path: string) =>
    printable(path.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~"));
  if (wide)
    return changes
      .map(({ path, before, after }) => (path ? `${name(path)}: ${text(before)} → ${text(after)}` : one(after)))
      .join("; ");
  const shown = changes.slice(0, 2).map(({ path }) => name(path));
  return shown.join(", ") + (changes.length > shown.length ? `, +${changes.length - shown.length}` : "");
}
