import { MachineLacks } from "../cluster/node.ts";
import { palette } from "../progress.mjs";
import { dev } from "./dev.ts";
import { down } from "./down.ts";
import { status } from "./show.ts";
import { Memory, type OwnCluster } from "./state.ts";
import { type Options, up } from "./up.ts";

export interface Flags {
  root: string;
  port: number;
  own?: OwnCluster;
  status: boolean;
  down: boolean;
  /** Again after each change of the code. */
  watch: boolean;
}

/** The part of the quickstart that needs packages; gives the exit code. */
export async function quickstart(flags: Flags): Promise<number> {
  const memory = new Memory(flags.root, flags.port);
  const stop = new AbortController();
  const c = palette(process.stderr);
  process.on("SIGINT", () => {
    if (stop.signal.aborted) process.exit(130);
    stop.abort();
    process.stderr.write(`\n${c.yellow("Stopping after this step; press Ctrl-C again to stop at once.")}\n`);
  });
  try {
    if (flags.down) return await down(flags.root, memory);
    if (flags.status) return await status(flags.root, memory);
    const options: Options = {
      root: flags.root,
      memory,
      port: flags.port,
      signal: stop.signal,
      ...(flags.own ? { own: flags.own } : {}),
    };
    return await (flags.watch ? dev(options) : up(options));
  } catch (error) {
    if (stop.signal.aborted) {
      console.error(
        `${c.yellow("Stopped.")} Go on with ${c.bold("npm run quickstart")}, or remove what was made with ${c.bold("npm run quickstart -- --down")}.`,
      );
      return 130;
    }
    console.error(`\n${c.red("error:")} ${(error as Error).message}`);
    if (!(error instanceof MachineLacks))
      console.error(
        `\nLogs are in .quickstart/logs. Go on with ${c.bold("npm run quickstart")}; remove what was made with ${c.bold("npm run quickstart -- --down")}.`,
      );
    return 1;
  }
}
