import type { Command } from "commander";
import type { Io } from "../output/io.ts";
import { verb } from "../session/session.ts";

/** `outpost metrics`: what Prometheus scrapes, for people who set that up. */
export function metricsVerb(root: Command, io: Io): void {
  root
    .command("metrics")
    .summary("applications and agents of the scope and below as Prometheus metrics")
    .description(
      "Prints what a scrape of /v1/metrics gets: a line for each application and agent of the scope and those below it, in Prometheus' text format.",
    )
    .action(
      verb(io, async (s) => {
        const headers = { accept: "text/plain" };
        s.io.out.write(await (await s.api()).call<string>("getScopeMetrics", { headers }));
      }),
    );
}
