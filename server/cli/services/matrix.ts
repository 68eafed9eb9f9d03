import type { Command } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import { type Colours, printable } from "../../base/colour.ts";
import { showAge } from "../../base/lang/duration.ts";
import { shortRevision } from "../objects/nouns.ts";
import type { Io } from "../output/io.ts";
import { type Session, verb } from "../session/session.ts";
import { type Column, type Json, say, show, showAs } from "../show.ts";

type Matrix = Schemas["ServiceMatrix"];
type Placed = Schemas["Placed"];
type Cell = Schemas["MatrixCell"];

interface MatrixFlags {
  filter?: string;
  inherited?: boolean;
}

const PAGE = 500;

/** `service matrix`: what runs where. */
export function matrixVerb(parent: Command, io: Io): void {
  parent
    .command("matrix")
    .summary("what runs where: a row for each service, a column for each environment")
    .option("--filter <terms>", "only applications that fit, as of `app list`")
    .option("--inherited", "also applications of the scopes below this one")
    .action(
      verb(io, async (s, flags: MatrixFlags) => {
        const matrix = await wholeMatrix(s, flags);
        if (s.format === "json" || s.format === "yaml") return showAs(s, matrix, () => "");
        const columns = [service, ...matrix.environments.map((one) => environment(one, s.format === "wide"))];
        show(s, matrix.items as Json[], columns, {
          name: (row) => nameOf(row.service),
          empty: "no application here has a service and an environment",
        });
        if (matrix.items.length > 0 && s.format === "table")
          say(s, s.e.dim("*N: N applications. `-o wide` shows images and the time of the last deployment."));
      }),
    );
}

/** All pages as one. */
async function wholeMatrix(s: Session, flags: MatrixFlags): Promise<Matrix> {
  const whole: Matrix = { items: [], environments: [] };
  const api = await s.api();
  let cursor: string | undefined;
  do {
    const page = await api.call<Matrix>("getServiceMatrix", { query: { ...flags, limit: PAGE, cursor } });
    whole.items.push(...page.items);
    const known = new Set(whole.environments.map(nameOf));
    whole.environments.push(...page.environments.filter((one) => !known.has(nameOf(one))));
    cursor = page.nextCursor;
  } while (cursor);
  const late = (one: Matrix["environments"][number]) => Number(one.type === "production");
  whole.environments.sort((a, b) => late(a) - late(b));
  return whole;
}

/** `shop/web/cart`: with the scope, as far as it has one. */
export const nameOf = ({ org, project, id }: Placed): string => [org, project, id].filter(Boolean).join("/");

const service: Column = { head: "SERVICE", text: (row, c) => c.bold(printable(nameOf(row.service))) };

const environment = (of: Placed, wide: boolean): Column => ({
  head: printable(nameOf(of)).toUpperCase(),
  text: (row, c) => {
    const cell = (row.cells as Cell[]).find((one) => nameOf(one.environment) === nameOf(of));
    return cell ? cellText(cell, wide, c) : "";
  },
});

function cellText(cell: Cell, wide: boolean, c: Colours): string {
  const revision = cell.revision ? shortRevision(cell.revision) : `${cell.revisions ?? 0} revisions`;
  const parts = [
    printable(revision),
    ...(cell.count > 1 ? [`*${cell.count}`] : []),
    ...pods(cell, c),
    ...troubles(cell, c),
  ];
  if (wide) {
    parts.push(...(cell.images ?? []).map(printable));
    if (cell.deployedAt) parts.push(`${showAge(cell.deployedAt)} ago`);
  }
  return parts.join(" ");
}

/** `2/3`: Pods that are ready, of those that there should be. */
function pods({ ready = 0, total }: Cell, c: Colours): string[] {
  if (total === undefined) return [];
  const text = `${ready}/${total}`;
  return [ready < total ? c.yellow(text) : text];
}

/** What is not as it should be; nothing where all is well. */
function troubles({ sync, health }: Cell, c: Colours): string[] {
  const bad = health === "Degraded" || health === "Missing" ? c.red : c.yellow;
  return [
    ...(sync && sync !== "Synced" ? [c.yellow(printable(sync))] : []),
    ...(health && health !== "Healthy" ? [bad(printable(health))] : []),
  ];
}
