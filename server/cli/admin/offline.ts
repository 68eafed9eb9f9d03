import type { Command } from "commander";
import { printable } from "../../base/colour.ts";
import { table } from "../../base/table.ts";
import { usage } from "../output/failure.ts";
import { type Io, paint, readInput } from "../output/io.ts";
import { OFFLINE } from "../programs.ts";
import { handBackVerb } from "./hand-back.ts";
import { importVerb } from "./import.ts";
import { renderVerbs } from "./offline-render.ts";

/** `outpost admin …`: what the engine would say, worked out here; no service and no cluster is asked. */
export function offlineVerbs(root: Command, io: Io): void {
  const admin = root
    .command("admin")
    .summary("ask the engine without a service")
    .description("The engine on files alone; `import` brings what they say into the service.");
  renderVerbs(admin, io);
  handBackVerb(admin, io);
  importVerb(admin, io);
  admin
    .command("eval <suite>")
    .summary("answer questions, a JSON object a line in, one a line out")
    .description(
      "Answers questions of one suite: a JSON object a line on standard input, one a line on standard output, in the same order.",
    )
    .action(async (suite: string) => {
      const { evalLines, suiteNames } = await OFFLINE.eval();
      if (!suiteNames().includes(suite))
        throw usage(`there is no suite ${JSON.stringify(suite)}; there are ${suiteNames().join(", ")}`);
      for await (const line of evalLines(suite, process.stdin)) io.out.write(line);
    });
  admin
    .command("health <file>")
    .summary("how the objects in a file are, as the controller would judge them")
    .description(
      "Judges the health of every object in a file of YAML or JSON, or of standard input for `-`, in its order. On a terminal as a table, " +
        'else a line of JSON each: `{"status","message"}`, both null for a kind that has no check.',
    )
    .option("--customizations <file>", "ConfigMap with health checks in Lua (argocd-cm); `-` for standard input")
    .action(async (file: string, { customizations }: { customizations?: string }, command: Command) => {
      if (file === "-" && customizations === "-") throw usage("only one of the two files can be standard input");
      const custom =
        customizations === undefined ? undefined : { text: await readInput(io, customizations), file: customizations };
      const { judgeText } = await OFFLINE.health();
      const judged = await judgeText(await readInput(io, file), file, custom);
      if (judged.kind !== "done") throw usage(judged.message);
      if (!asTable(io, command)) {
        for (const { status, message } of judged.value) io.out.write(`${JSON.stringify({ status, message })}\n`);
        return;
      }
      const rows = judged.value.map(({ object, status, message }) => [
        printable(object),
        colour(io, status),
        printable(message ?? ""),
      ]);
      io.out.write(`${table(["OBJECT", "HEALTH", "MESSAGE"], rows, io.out.columns)}\n`);
    });
}

/** As `--output` says; without it for a person a table, for a program lines of JSON. */
function asTable(io: Io, command: Command): boolean {
  const { output } = command.optsWithGlobals<{ output?: string }>();
  const given = command.getOptionValueSourceWithGlobals("output") === "cli";
  return given ? output !== "json" && output !== "yaml" : io.out.isTTY;
}

const GOOD = "Healthy";
const BAD = ["Degraded", "Unknown", "Missing"];
function colour(io: Io, status: string | null): string {
  const { green, yellow, red, dim } = paint(io, io.out);
  if (status === null) return dim("no check");
  if (status === GOOD) return green(status);
  return BAD.includes(status) ? red(status) : yellow(status);
}
