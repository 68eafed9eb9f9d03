import { Command, CommanderError } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { adminVerbs } from "./admin/admin.ts";
import { offlineVerbs } from "./admin/offline.ts";
import { appVerbs } from "./app/app.ts";
import { setVerbs } from "./app/appset.ts";
import { completionVerb } from "./completion.ts";
import { exampleText } from "./examples.ts";
import { adoptVerb, isDiscovered } from "./objects/adopt.ts";
import { NOUNS } from "./objects/nouns.ts";
import { readVerbs } from "./objects/read.ts";
import { chartsVerb, refsVerb, testVerb } from "./objects/verbs/connections.ts";
import { countVerb } from "./objects/verbs/count.ts";
import { watchAllVerb } from "./objects/verbs/watch-all.ts";
import { rotateVerb, secretVerb } from "./objects/verbs/webhook.ts";
import { workerVerbs } from "./objects/workers.ts";
import { applyVerb, writeVerbs } from "./objects/write.ts";
import { describeFailure, EXIT, type Exit, Failure, usage } from "./output/failure.ts";
import { type Io, paint } from "./output/io.ts";
import { PROGRAMS, programCommand, programOf } from "./programs.ts";
import { deploymentVerbs } from "./services/deployments.ts";
import { matrixVerb } from "./services/matrix.ts";
import { loginVerbs } from "./session/login.ts";
import { globalOptions } from "./session/session.ts";
import { pipelineVerbs, runsVerbs } from "./task/pipeline.ts";
import { taskVerbs } from "./task/task.ts";

const EXITS = `
Exit codes:
  0  done                              4  conflict, or a precondition does not hold
  1  failed; app diff: they differ     5  took too long
  2  the command line, or a field that 6  not signed in, or not allowed
     it gives, is wrong                7  the service cannot be reached
  3  no such object`;

/** The whole command table. */
export function outpost(io: Io): Command {
  const root = new Command("outpost")
    .version(packageJson.version, "-V, --version")
    .description(
      "GitOps, managed as code: keeps clusters equal to Git through agents, and carries out tasks through delegates.",
    );
  globalOptions(root)
    .addHelpText("after", EXITS)
    .showHelpAfterError("(outpost help COMMAND shows how it is used)")
    .configureHelp({ sortOptions: false, showGlobalOptions: false });

  root.commandsGroup("Start here:");
  loginVerbs(root, io);
  root.commandsGroup("Objects:");
  for (const noun of NOUNS) {
    const command = root.command(noun.word).summary(noun.summary).description(`Manage ${noun.summary}.`);
    for (const alias of noun.alias) command.alias(alias);
    writeVerbs(command, io, noun);
    readVerbs(command, io, noun);
    countVerb(command, io, noun);
    if (isDiscovered(noun)) adoptVerb(command, io, noun);
    if (noun.word === "app") appVerbs(command, io);
    if (noun.word === "appset") setVerbs(command, io);
    if (noun.word === "repo") {
      refsVerb(command, io);
      chartsVerb(command, io);
      testVerb(command, io, "testRepository", "repo");
    }
    if (noun.word === "cluster") testVerb(command, io, "testCluster", "cluster");
    if (noun.word === "webhook") {
      secretVerb(command, io);
      rotateVerb(command, io);
    }
    if (noun.word === "service") {
      matrixVerb(command, io);
      deploymentVerbs(command, io);
    }
    if (noun.word === "pipeline") pipelineVerbs(command, io);
    if (noun.word === "agent") workerVerbs(command, io, "Agent");
    if (noun.word === "delegate") workerVerbs(command, io, "Delegate");
    programOf(command, io, noun.word);
  }
  applyVerb(root, io);
  watchAllVerb(root, io);
  root.commandsGroup("Work and people:");
  taskVerbs(root, io);
  runsVerbs(root, io);
  adminVerbs(root, io);
  offlineVerbs(root, io);
  root.commandsGroup("Programs:");
  for (const name of ["server", "controller", "reader", "repo-server", "plugin-server"])
    if (PROGRAMS[name]) programCommand(root, io, name);
  root.commandsGroup("Other:");
  helpVerb(root);
  root
    .command("version")
    .summary("version of this program")
    .action(() => io.out.write(`${packageJson.version}\n`));
  completionVerb(root, io);
  configure(root, io);
  return root;
}

/** `outpost help app sync`: as `outpost app sync --help`. */
function helpVerb(root: Command): void {
  root.helpCommand(false);
  root
    .command("help [command...]")
    .summary("how a command is used")
    .action((words: string[]) => {
      let at = root;
      for (const word of words) {
        const below = at.commands.find((one) => one.name() === word || one.aliases().includes(word));
        if (!below)
          throw usage(
            `there is no command \`${[...namesOf(at), word].join(" ")}\` (outpost ${[...namesOf(at), "--help"].join(" ")})`,
          );
        at = below;
      }
      at.outputHelp();
    });
}

const namesOf = (command: Command): string[] => (command.parent ? [...namesOf(command.parent), command.name()] : []);

/** Runs one command line and returns its exit code. Only bugs are thrown. */
export async function run(argv: readonly string[], io: Io): Promise<Exit> {
  try {
    await outpost(io).parseAsync([...argv], { from: "user" });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (!(error instanceof Failure)) throw error;
    io.err.write(describeFailure(error, paint(io, io.err)));
    return error.exit;
  }
}

/** A command's summary as the first line of its help. */
function sentence(summary: string): string {
  const text = `${summary.charAt(0).toUpperCase()}${summary.slice(1)}`;
  return text === "" || /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Commander must neither end the process nor write past `io`; every command below inherits nothing of this by itself. */
function configure(command: Command, io: Io): void {
  if (!command.description()) command.description(sentence(command.summary()));
  const examples = exampleText(command);
  if (examples) command.addHelpText("after", examples);
  command.exitOverride();
  command.configureOutput({
    writeOut: (text) => io.out.write(text),
    writeErr: (text) => io.err.write(text),
    getOutHelpWidth: () => io.out.columns ?? 100,
    getErrHelpWidth: () => io.err.columns ?? 100,
  });
  for (const child of command.commands) configure(child, io);
}
