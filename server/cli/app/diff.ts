import type { Command } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import { type Colours, printable } from "../../base/colour.ts";
import { hunks, lineDiff } from "../../base/lang/line-diff.ts";
import { resourceName } from "../objects/nouns.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import { type Session, verb } from "../session/session.ts";
import { say, showAs } from "../show.ts";
import { localDiff } from "./local-diff.ts";

type Item = Schemas["Diff"]["items"][number];

interface Flags {
  revision?: string;
  history?: string;
  local?: string;
  full?: boolean;
}

/** `app diff`: what a sync would change. */
export function diffVerb(app: Command, io: Io): void {
  app
    .command("diff <id>")
    .summary("what a sync would change in the cluster; exits 1 when something differs")
    .option("--revision <revision>", "compare another branch, tag or commit with the cluster")
    .option("--history <id>", "compare what an entry of the history deployed with the cluster")
    .option("--local <path>", "compare a folder, the checkout of the application's repository, with the cluster")
    .option("--full", "show whole objects, not only the lines around a change")
    .action(verb(io, diff));
}

async function diff(s: Session, id: string, { revision, history, local, full }: Flags): Promise<void> {
  if ([revision, history, local].filter((one) => one !== undefined).length > 1)
    throw usage("use only one of --revision, --history and --local");
  if (history !== undefined && !/^\d{1,9}$/.test(history))
    throw usage(`--history takes the number of an entry, not ${JSON.stringify(history)} (outpost app history ${id})`);
  const query = { revision, history: history === undefined ? undefined : Number(history) };
  const asked =
    local === undefined
      ? (await s.api()).call<Schemas["Diff"]>("getApplicationDiff", { path: { id }, query })
      : localDiff(s, id, local);
  const got = await asked.catch(notAnAnswer);
  if (s.format === "name") for (const item of got.items) s.io.out.write(`${printable(resourceName(item))}\n`);
  else if (got.items.length === 0 && s.format !== "json" && s.format !== "yaml")
    say(
      s,
      `${s.e.green("✓")} live equals ${local === undefined ? "Git" : local}${got.revision ? ` at ${got.revision}` : ""}`,
    );
  else showAs(s, got, () => got.items.map((item) => diffText(item, s.c, full)).join("\n\n"));
  if (got.items.length > 0)
    throw new Failure(`${got.items.length} object${got.items.length === 1 ? " differs" : "s differ"}`, EXIT.failed, {
      answer: true,
    });
}

/** As with diff(1), 1 is an answer: what went wrong is another code. */
function notAnAnswer(error: unknown): never {
  if (error instanceof Failure && error.exit === EXIT.failed)
    throw new Failure(error.message, EXIT.usage, { problem: error.problem, hint: error.hint });
  throw error;
}

/** One object's difference: `-` is what is live, `+` is what Git wants. */
export function diffText(item: Item, c: Colours, full = false): string {
  const verb = { create: c.green("+ create"), update: c.yellow("~ update"), delete: c.red("- delete") }[item.change];
  // Without Git's side, as beside Argo CD, a change has no lines: the live object is all there is to show.
  if (item.change === "update" && item.desired === undefined && item.live !== undefined)
    return [
      `${verb} ${c.bold(printable(resourceName(item)))}`,
      ...(full ? item.live.split("\n").map((text) => `    ${printable(text)}`) : []),
      c.dim("    what Git says is not known here: `argocd app diff` shows it"),
    ].join("\n");
  const paint = { "-": c.red, "+": c.green, " ": (t: string) => t };
  const all = lineDiff(item.live ?? "", item.desired ?? "");
  const lines = (full ? all : hunks(all)).map((l) => paint[l.sign](`  ${l.sign} ${printable(l.text)}`));
  return [
    `${verb} ${c.bold(printable(resourceName(item)))}`,
    ...lines,
    ...(item.fields ?? []).map((one) => fieldLine(one, c)),
  ].join("\n");
}

/** Who wrote what is live: the one to talk to when it should not differ. */
function fieldLine({ path, manager, subresource }: NonNullable<Item["fields"]>[number], c: Colours): string {
  if (!manager) return c.dim(`    ${printable(path)} is not set in the cluster`);
  return c.dim(
    `    ${printable(path)} was set by ${printable(manager)}${subresource ? ` (${printable(subresource)})` : ""}`,
  );
}
