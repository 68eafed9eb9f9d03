import type { Command } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import { resourceName } from "../objects/nouns.ts";
import type { Io } from "../output/io.ts";
import { verb } from "../session/session.ts";
import { type Column, field, plainColumn, show } from "../show.ts";

const COLUMNS: readonly Column[] = [
  { head: "WORKLOAD", text: (o, c) => c.bold(field({ name: resourceName(o) }, "name")) },
  {
    head: "READY",
    text: ({ ready, total }, c) => (ready < total ? c.yellow(`${ready}/${total}`) : `${ready}/${total}`),
  },
  plainColumn("VERSION", "version"),
  plainColumn("IMAGES", "images"),
];

/** `app instances`: what runs Pods, and how many of them are ready. */
export function instancesVerb(app: Command, io: Io): void {
  app
    .command("instances <id>")
    .summary("what runs its Pods: how many are ready, version and images")
    .action(
      verb(io, async (s, id: string) => {
        const { status } = await (await s.api()).call<Schemas["Application"]>("getApplication", { path: { id } });
        show(s, status.instances?.workloads ?? [], COLUMNS, {
          name: resourceName,
          empty: "no workloads, or the agent's controller does not tell of them",
        });
      }),
    );
}
