import type { Command } from "commander";
import { stringify } from "yaml";
import { printable } from "../../base/colour.ts";
import { table } from "../../base/table.ts";
import { clusterOf } from "../kubeconfig.ts";
import { EXIT, Failure } from "../output/failure.ts";
import { type Io, paint } from "../output/io.ts";
import { OFFLINE } from "../programs.ts";
import { count } from "../show.ts";

interface Flags {
  kubeconfig?: string;
  context?: string;
  namespace: string;
  dryRun?: boolean;
}

/** `outpost admin hand-back`: leaves a cluster as Argo CD would have, so that Argo CD can go on with its applications. */
export function handBackVerb(admin: Command, io: Io): void {
  admin
    .command("hand-back [applications...]")
    .summary("leave the objects of applications as Argo CD would have, before it takes over again")
    .description(
      "Writes `last-applied-configuration` on the objects that Argo CD applies on the client's side, so that it removes fields that leave Git, and " +
        "takes off Outpost's label and hook marks. No spec changes. Stop the controller first. Without names: all Applications of the namespace.",
    )
    .option("--kubeconfig <file>", "the cluster of the Applications; without it, KUBECONFIG or the Pod's own account")
    .option("--context <name>", "of the kubeconfig")
    .option("--namespace <name>", "of the Applications", "outpost-agent")
    .option("--dry-run", "tell what would be done, and write nothing")
    .action((applications: string[], flags: Flags, command: Command) => handBack(io, applications, flags, command));
}

async function handBack(io: Io, applications: string[], flags: Flags, command: Command): Promise<void> {
  const { handBack: run, loadConfig } = await OFFLINE.handBack();
  const config = clusterOf(io, loadConfig, flags);
  const handed = await run({ config, namespace: flags.namespace, applications, dryRun: flags.dryRun === true });
  if (handed.kind !== "done") throw new Failure(handed.message, EXIT.failed);
  const { output } = command.optsWithGlobals<{ output?: string }>();
  const { objects, failed } = handed.value;
  const refuse = () => {
    if (failed.length) throw new Failure(failed.join("\n"), EXIT.failed);
  };
  if (output === "json" || output === "yaml") {
    io.out.write(
      output === "json" ? `${JSON.stringify(objects, undefined, 2)}\n` : stringify(objects, { lineWidth: 0 }),
    );
    return refuse();
  }
  const rows = objects.map(({ application, object, changes }) => [
    printable(application),
    printable(object),
    changes.join(", "),
  ]);
  io.out.write(
    `${table(["APPLICATION", "OBJECT", flags.dryRun ? "WOULD CHANGE" : "CHANGED"], rows, io.out.columns)}\n`,
  );
  const { green } = paint(io, io.err);
  const what = `${count(rows.length, "object")} of ${count(new Set(objects.map((one) => one.application)).size, "application")}`;
  refuse();
  io.err.write(
    flags.dryRun ? `${what} would be handed back\n` : `${green("✓")} ${what} are as Argo CD would have left them\n`,
  );
}
