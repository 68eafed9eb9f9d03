#!/usr/bin/env node
import { run } from "./command.ts";
import { EXIT } from "./output/failure.ts";
import { processIo } from "./output/io.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // A second signal means now.
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    stop.abort();
  });
}
// `outpost app list | head` closes the pipe early; that is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) =>
  process.exit(error.code === "EPIPE" ? EXIT.ok : EXIT.failed),
);

try {
  process.exitCode = await run(process.argv.slice(2), processIo(stop.signal));
} catch (error) {
  process.stderr.write(`outpost: ${(error as Error).stack ?? error}\n`);
  process.exitCode = EXIT.failed;
}
// Open keep-alive connections would hold the process for seconds; everything has been written once both streams are empty.
process.stdout.write("", () => process.stderr.write("", () => process.exit()));
