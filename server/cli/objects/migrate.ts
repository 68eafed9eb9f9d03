import { type Command, Option } from "commander";
import { stringify } from "yaml";
import { printable } from "../../base/colour.ts";
import { table } from "../../base/table.ts";
import { clusterOf } from "../kubeconfig.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import { type Io, paint } from "../output/io.ts";
import { OFFLINE } from "../programs.ts";
import { count } from "../show.ts";

interface Flags {
  check?: boolean;
  to: "outpost" | "argocd";
  kubeconfig?: string;
  context?: string;
  namespace: string;
}

/** `outpost agent migrate --check`: what another engine would change. */
export function migrateVerb(agent: Command, io: Io): void {
  agent
    .command("migrate [applications...]")
    .summary("with --check: what a switch of the engine would change, before it is made")
    .description(
      "Lets Outpost's controller look at every Application of the namespace once, up to its decision, and compares the result with what Argo CD " +
        "found. Reads repositories with the credentials in the namespace. Every write is a dry run, for which the kubeconfig needs the rights to " +
        "write. Ends with 0 when no object would be written and no sync would begin, and with 1 when one would or an application cannot be " +
        "compared that Argo CD compares. The switch itself is `helm upgrade` with the chart value `engine`. With `--to argocd` it lists what `outpost admin hand-back` would write before Argo CD takes over.",
    )
    .option("--check", "required: nothing else is done by this command")
    .addOption(new Option("--to <engine>", "the engine to switch to").choices(["outpost", "argocd"]).default("outpost"))
    .option("--kubeconfig <file>", "the cluster of the Applications; without it, KUBECONFIG or the Pod's own account")
    .option("--context <name>", "of the kubeconfig")
    .option("--namespace <name>", "of the Applications", "argocd")
    .action((applications: string[], flags: Flags, command: Command) => migrate(io, applications, flags, command));
}

interface Row {
  application: string;
  object: string;
  change: string;
  when: string;
}

async function migrate(io: Io, applications: string[], flags: Flags, command: Command): Promise<void> {
  if (!flags.check)
    throw usage(
      "give --check: this command only tells what would change; the switch is `helm upgrade` with the value `engine`",
    );
  const rows: Row[] = [];
  const { checked, sets, failed, neither, behind, writes } =
    flags.to === "outpost"
      ? await toOutpost(io, applications, flags, rows)
      : await toArgo(io, applications, flags, rows);
  const { output } = command.optsWithGlobals<{ output?: string }>();
  const found = { checked, sets, changes: rows, failed, neither, behind };
  if (output === "json") io.out.write(`${JSON.stringify(found, undefined, 2)}\n`);
  else if (output === "yaml") io.out.write(stringify(found, { lineWidth: 0 }));
  else if (rows.length) {
    const cells = rows.map(({ application, object, change, when }) => [
      printable(application),
      printable(object),
      printable(change),
      when,
    ]);
    io.out.write(`${table(["APPLICATION", "OBJECT", "WOULD CHANGE", "WHEN"], cells, io.out.columns)}\n`);
  }
  const { yellow } = paint(io, io.err);
  for (const one of neither)
    io.err.write(`${yellow("!")} as with Argo CD, this one cannot be compared: ${printable(one)}\n`);
  if (behind.length)
    io.err.write(
      `${yellow("!")} Argo CD has not looked at the newest commit yet, and may do the same with it; refresh and check again: ${printable(behind.join(", "))}\n`,
    );
  if (failed.length) throw new Failure(failed.join("\n"), EXIT.failed);
  if (writes) throw new Failure(`${count(writes, "object")} would be written by engine ${flags.to}`, EXIT.failed);
  io.err.write(
    `${paint(io, io.err).green("✓")} engine ${flags.to} would write no object of ${count(checked, "application")}${sets ? ` and ${count(sets, "application set")}` : ""}\n`,
  );
}

type Found = {
  checked: number;
  sets: number;
  failed: string[];
  neither: string[];
  behind: string[];
  writes: number;
};

/** Changes that both engines would make, or neither. */
const HARMLESS = ["status", "goes on", "deletion"];
const WORDS: Partial<Record<string, string>> = {
  sync: "sync: begins, with its hooks",
  "goes on": "sync: goes on, as with Argo CD",
  deletion: "deletion: goes on, as with Argo CD",
};

async function toOutpost(io: Io, applications: string[], flags: Flags, rows: Row[]): Promise<Found> {
  const { checkMigration, loadConfig } = await OFFLINE.migrate();
  const config = clusterOf(io, loadConfig, flags);
  const found = await checkMigration({
    config,
    namespace: flags.namespace,
    applications,
    env: io.env as NodeJS.ProcessEnv,
  });
  if (found.kind !== "done") throw new Failure(found.message, EXIT.failed);
  const { checked, sets, differing, failed, neither, behind } = found.value;
  for (const { application, object, change, fields, atOnce } of differing) {
    const what = change === "update" && fields.length ? `update ${fields.join(", ")}` : change;
    const written = atOnce ? "at once" : "at the next sync";
    rows.push({
      application,
      object,
      change: WORDS[change] ?? what,
      when: change === "status" ? "shown as Synced" : written,
    });
  }
  return {
    checked,
    sets,
    failed,
    neither,
    behind,
    writes: differing.filter(({ change }) => !HARMLESS.includes(change)).length,
  };
}

async function toArgo(io: Io, applications: string[], flags: Flags, rows: Row[]): Promise<Found> {
  const { handBack, loadConfig } = await OFFLINE.handBack();
  const config = clusterOf(io, loadConfig, flags);
  const handed = await handBack({ config, namespace: flags.namespace, applications, dryRun: true });
  if (handed.kind !== "done") throw new Failure(handed.message, EXIT.failed);
  const { checked, objects, failed } = handed.value;
  for (const { application, object, changes } of objects)
    rows.push({ application, object, change: changes.join(", "), when: "by hand-back" });
  return { checked, sets: 0, failed, neither: [], behind: [], writes: objects.length };
}
