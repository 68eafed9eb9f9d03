import { type Command, Option } from "commander";
import { useColour } from "../base/colour.ts";
import { follow } from "../base/process/signal.ts";
import { EXIT, Failure } from "./output/failure.ts";
import type { Io } from "./output/io.ts";

/**
 * The programs that run until they are told to stop. Each is loaded only when it is started, so that a person's command
 * does not pay for it. They are configured by environment variables; each room's README names them.
 */
export interface Program {
  summary: string;
  /** Resolves when it has ended; with a number other than 0 when it could not do its work. */
  run(env: NodeJS.ProcessEnv, signal: AbortSignal, flags: { all?: boolean }): Promise<unknown>;
}

type Run = Program["run"];
const server: Run = async (env, signal) => (await import("../control/main.ts")).runServer(env, signal);
const agent: Run = async (env, signal, flags) => (await import("../agent/link/main.ts")).runAgent(env, signal, flags);
// The controller has the rights to read the cluster, so it answers what the link is asked about it.
const controller: Run = async (env, signal) => {
  const [{ runController }, { runReads }] = await Promise.all([
    import("../agent/controller/main.ts"),
    import("../agent/link/tasks/remote/main.ts"),
  ]);
  const ending = new AbortController();
  const leave = follow(ending, signal);
  try {
    await Promise.all([runController(env, ending.signal), runReads(env, ending.signal)]);
  } finally {
    // If one of them fails, the other ends too.
    ending.abort();
    leave();
  }
};
const reader: Run = async (env, signal) => (await import("../agent/link/tasks/remote/main.ts")).runReader(env, signal);
const repoServer: Run = async (env, signal) => (await import("../agent/repo/main.ts")).runRepoServer(env, signal);
const pluginServer: Run = async (env, signal) => (await import("../agent/plugin/main.ts")).runPluginServer(env, signal);
const delegate: Run = async (env, signal) => {
  const kept = await (await import("../delegate/process/keeper.ts")).startKept(env, signal);
  return kept ?? (await import("../delegate/main.ts")).runDelegate(env, signal);
};

/** Parts of the engine that a person can ask by themselves. */
export const OFFLINE = {
  eval: () => import("../agent/eval/eval.ts"),
  health: () => import("../agent/eval/health.ts"),
  render: () => import("../agent/eval/manifests.ts"),
  diff: () => import("../agent/eval/difference.ts"),
  fromArgo: () => import("../agent/eval/from-argo.ts"),
  local: () => import("../agent/eval/local.ts"),
  migrate: () => import("../agent/eval/migration/migrate.ts"),
  handBack: () => import("../agent/eval/hand-back.ts"),
};

export const PROGRAMS: Record<string, Program> = {
  server: { summary: "run the GitOps service", run: server },
  agent: { summary: "run the agent's link to the service", run: agent },
  controller: { summary: "run the application controller", run: controller },
  reader: { summary: "answer questions about the cluster for an agent beside Argo CD", run: reader },
  "repo-server": { summary: "run the repo server: fetch and render", run: repoServer },
  "plugin-server": { summary: "run a config management plugin beside the repo server", run: pluginServer },
  delegate: { summary: "run a delegate", run: delegate },
};

/** A program says why it cannot run in one line; who wants the stack asks for it with OUTPOST_LOG_LEVEL=debug. */
async function start(name: string, io: Io, flags: { all?: boolean }): Promise<void> {
  const code = await PROGRAMS[name]!.run(io.env as NodeJS.ProcessEnv, io.signal, flags).catch((error: Error) => {
    throw new Failure(`outpost ${name}: ${(io.env.OUTPOST_LOG_LEVEL === "debug" && error.stack) || error.message}`);
  });
  if (typeof code === "number" && code !== 0) throw new Failure("", EXIT.failed, { answer: true });
}

/** Adds one program as a command of its own. */
export function programCommand(root: Command, io: Io, name: string): void {
  const { summary } = PROGRAMS[name]!;
  root
    .command(name)
    .summary(summary)
    .action(() => start(name, io, {}));
}

/**
 * `outpost agent` and `outpost delegate` are the programs, and the nouns of the same name below them. A person who types
 * only the word wants help; a container or `--all` means the program.
 */
export function programOf(command: Command, io: Io, name: string): void {
  if (!PROGRAMS[name]) return;
  command.description(
    `${command.description()} Without a verb this is the program itself, as its container starts it.`,
  );
  if (name === "delegate") doctorCommand(command, io);
  if (name === "agent") command.option("--all", "controller, repo server and cache in this process too");
  command.action(async (flags: { all?: boolean }) => {
    if (
      io.out.isTTY &&
      !flags.all &&
      !io.env.POD_NAMESPACE &&
      !io.env.OUTPOST_TOKEN &&
      !io.env.OUTPOST_TOKEN_FILE &&
      !io.env.DELEGATE_TOKEN
    )
      command.help();
    await start(name, io, flags);
  });
}

/** `outpost delegate doctor`, with the environment that the program would have. */
function doctorCommand(command: Command, io: Io): void {
  const summary = "say which layer keeps a delegate from working here: DNS, proxy, TLS, token, clock, capability";
  command
    .command("doctor")
    .summary(summary)
    .description(
      `${summary}. It reads what \`outpost delegate\` reads, starts nothing, and may be run beside one that works.`,
    )
    .addOption(new Option("-o, --output <format>", "how to show it").choices(["table", "json"]).default("table"))
    .action(async ({ output }: { output: "table" | "json" }) => {
      const { runDoctor } = await import("../delegate/doctor/doctor.ts");
      const write = (text: string) => io.out.write(text);
      const code = await runDoctor(io.env as NodeJS.ProcessEnv, {
        format: output,
        colour: useColour(io.env, io.out.isTTY),
        write,
      });
      if (code !== 0) throw new Failure("", EXIT.failed, { answer: true });
    });
}
