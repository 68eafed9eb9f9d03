import { type Command, Option } from "commander";
import { plainHttpWarning } from "../../base/cloud/plain-http.ts";
import type { Colours } from "../../base/colour.ts";
import { type Io, paint } from "../output/io.ts";
import { Api } from "./api.ts";
import { resolveTarget } from "./settings.ts";

export const FORMATS = ["table", "wide", "json", "yaml", "name"] as const;
export type Format = (typeof FORMATS)[number];

/** What one run of a verb has at hand. */
export interface Session {
  io: Io;
  format: Format;
  /** Colours of the standard output and of the standard error. */
  c: Colours;
  e: Colours;
  api(): Promise<Api>;
}

interface GlobalFlags {
  output?: Format;
  endpoint?: string;
  context?: string;
  org?: string;
  project?: string;
}

/** The flags that every verb of a person takes; they may stand before or after it. */
export function globalOptions(command: Command): Command {
  return command
    .addOption(new Option("-o, --output <format>", "how to show the answer").choices([...FORMATS]).default("table"))
    .option("--org <id>", "organisation (or OUTPOST_ORG); none means the account itself")
    .option("--project <id>", "project within the organisation (or OUTPOST_PROJECT)")
    .option("--context <name>", "which of the sign-ins to use (or OUTPOST_CONTEXT)")
    .option("--endpoint <url>", "address of the service (or OUTPOST_ENDPOINT)");
}

/** Wraps a verb: its function gets the session, then its arguments, then its own flags. */
export function verb<A extends unknown[]>(
  io: Io,
  run: (session: Session, ...args: A) => Promise<void>,
): (...args: unknown[]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command;
    await run(session(io, command.optsWithGlobals<GlobalFlags>()), ...(given.slice(0, -1) as A));
  };
}

function session(io: Io, flags: GlobalFlags): Session {
  let api: Promise<Api> | undefined;
  return {
    io,
    format: flags.output ?? "table",
    c: paint(io, io.out),
    e: paint(io, io.err),
    api: () => {
      api ??= resolveTarget(io, flags).then((target) => {
        const plain = plainHttpWarning(target.endpoint, io.env);
        if (plain) io.err.write(`warning: ${plain}\n`);
        return new Api(target, io);
      });
      return api;
    },
  };
}
