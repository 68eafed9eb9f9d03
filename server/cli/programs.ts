import type { Command } from "commander";
import { EXIT, Failure } from "./failure.ts";
import type { Io } from "./io.ts";

/**
 * The programs that run until they are told to stop. Each is loaded only when it is started, so that a person's command
 * does not pay for it. They are configured by environment variables; each room's README names them.
 */
export interface Program {
  summary: string;
  /** Resolves when it has ended; with a number other than 0 when it could not do its work. */
  run(env: NodeJS.ProcessEnv, signal: AbortSignal, flags: { all?: boolean }): Promise<number | undefined | void>;
}

export const PROGRAMS: Record<string, Program> = {
  server: { summary: "run the GitOps service", run: async (env, signal) => (await import("../control/main.ts")).runServer(env, signal) },
  agent: {
    summary: "run the agent, the link between a cluster and the service",
    run: async (env, signal, flags) => (await import("../agent/link/main.ts")).runAgent(env, signal, flags),
  },
};

async function start(program: Program, io: Io, flags: { all?: boolean }): Promise<void> {
  const code = await program.run(io.env as NodeJS.ProcessEnv, io.signal, flags);
  if (code) throw new Failure("", EXIT.failed, { answer: true });
}

/** Adds one program as a command of its own. */
export function programCommand(root: Command, io: Io, name: string): void {
  const { summary } = PROGRAMS[name]!;
  root
    .command(name)
    .summary(summary)
    .description(summary)
    .action(() => start(PROGRAMS[name]!, io, {}));
}

/**
 * `outpost agent` and `outpost delegate` are the programs, and the nouns of the same name below them. A person who types
 * only the word wants help; a container or `--all` means the program.
 */
export function programOf(command: Command, io: Io, name: string): void {
  const program = PROGRAMS[name];
  if (!program) return;
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
    await start(program, io, flags);
  });
}
