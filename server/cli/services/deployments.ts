import type { Command } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import { type Colours, printable } from "../../base/colour.ts";
import { showAge } from "../../base/lang/duration.ts";
import { pairs } from "../../base/table.ts";
import { followRollback, type RollbackFlags, rollbackFlags } from "../app/operation.ts";
import { shortRevision } from "../objects/nouns.ts";
import { usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import { type Session, verb } from "../session/session.ts";
import { type Column, field, type Json, plainColumn, show, showAs, stateColumn } from "../show.ts";
import { nameOf } from "./matrix.ts";

type Deployment = Schemas["Deployment"];

interface ListFlags {
  service?: string;
  environment?: string;
  application?: string;
  outcome?: string;
  inherited?: boolean;
  limit: string;
}

const PAGE = 500;

const COLUMNS: readonly Column[] = [
  plainColumn("ID", "id"),
  { head: "SERVICE", text: (o) => printable(nameOf(o.service)) },
  { head: "ENVIRONMENT", text: (o) => printable(nameOf(o.environment)) },
  { head: "REVISION", text: (o) => shortRevision(field(o, "revision") || field(o, "revisions.0")) },
  stateColumn("OUTCOME", "outcome"),
  { head: "ENDED", text: (o) => `${showAge(o.finishedAt)} ago` },
  plainColumn("CAUSE", "cause"),
  plainColumn("BY", "initiatedBy"),
  {
    head: "APPLICATION",
    text: (o) => [field(o, "org"), field(o, "project"), field(o, "application")].filter(Boolean).join("/"),
  },
  plainColumn("IMAGES", "images", true),
  plainColumn("MESSAGE", "message", true),
];

/** `service deployments`, `service deployment` and `service rollback`. */
export function deploymentVerbs(parent: Command, io: Io): void {
  parent
    .command("deployments [service]")
    .summary("finished syncs of services, newest first")
    .option("--environment <id>", "only those into one environment")
    .option("--application <id>", "only those of one application")
    .option("--outcome <outcome>", "Succeeded or Failed")
    .option("--inherited", "also those of the scopes below this one")
    .option("--limit <n>", "at most so many", "50")
    .action(
      verb(io, (s, service: string | undefined, flags: ListFlags) =>
        list(s, { ...flags, ...(service ? { service } : {}) }),
      ),
    );
  parent
    .command("deployment <id>")
    .summary("one finished sync")
    .action(
      verb(io, async (s, id: string) => {
        const got = await (await s.api()).call<Deployment>("getDeployment", { path: { deployment: id } });
        if (s.format === "name" || s.format === "wide") show(s, [got], COLUMNS);
        else showAs(s, got, () => describe(got, s.c));
      }),
    );
  rollbackFlags(parent.command("rollback <deployment>").summary("deploy again what a finished sync deployed")).action(
    verb(io, rollback),
  );
}

async function list(s: Session, { limit, ...query }: ListFlags): Promise<void> {
  const most = Number(limit);
  if (!(most >= 1)) throw usage(`--limit takes a number from 1, not ${JSON.stringify(limit)}`);
  const api = await s.api();
  const items: Deployment[] = [];
  let cursor: string | undefined;
  do {
    const page = await api.call<Schemas["DeploymentList"]>("listDeployments", {
      query: { ...query, cursor, limit: Math.min(PAGE, most - items.length) },
    });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor && items.length < most);
  show(s, items as Json[], COLUMNS, { empty: "no finished sync of an application with a service and an environment" });
}

function describe(of: Deployment, c: Colours): string {
  const rows: [string, string][] = [
    ["deployment", c.bold(of.id)],
    ["service", printable(nameOf(of.service))],
    ["environment", printable(nameOf(of.environment))],
    ["application", printable(of.application)],
    ["outcome", of.outcome],
    ["message", printable(of.message ?? "")],
    ["revision", printable(of.revision ?? (of.revisions ?? []).join("\n"))],
    ["images", (of.images ?? []).map(printable).join("\n")],
    ["cause", of.cause ?? ""],
    ["by", printable(of.initiatedBy ?? "")],
    ["started", of.startedAt],
    ["ended", `${of.finishedAt} (${showAge(of.finishedAt)} ago)`],
  ];
  return pairs(rows.filter(([, text]) => text));
}

async function rollback(s: Session, deployment: string, flags: RollbackFlags): Promise<void> {
  const { prune, dryRun } = flags;
  const headers = { "idempotency-key": crypto.randomUUID() };
  const api = await s.api();
  const path = { deployment };
  const started = await api.call<Json>("rollbackDeployment", { path, body: { prune, dryRun }, headers });
  await followRollback(s, started, `deployment ${deployment}`, flags);
}
