import type { Command } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import type { Io } from "../output/io.ts";
import { verb } from "../session/session.ts";
import { type Column, field, show } from "../show.ts";

const columns: Column[] = [
  { head: "NAME", text: (o, c) => c.bold(field(o, "metadata.name")) },
  { head: "PROJECT", text: (o) => field(o, "spec.project") },
  {
    head: "DESTINATION",
    text: (o) =>
      [field(o, "spec.destination.name") || field(o, "spec.destination.server"), field(o, "spec.destination.namespace")]
        .filter(Boolean)
        .join(" / "),
  },
  {
    head: "REVISION",
    text: (o) => field(o, "spec.source.targetRevision") || field(o, "spec.sources.0.targetRevision"),
  },
  { head: "PATH", text: (o) => field(o, "spec.source.path") || field(o, "spec.sources.0.path") },
];

/** `appset generate`: what the set would make now. */
export function setVerbs(parent: Command, io: Io): void {
  parent
    .command("generate <id>")
    .summary("the applications that the set would make now; nothing is changed")
    .action(
      verb(io, async (s, id: string) => {
        const made = await (await s.api()).call<Schemas["GeneratedApplications"]>("generateApplicationSet", {
          path: { id },
        });
        show(s, made.items, columns, { name: (o) => field(o, "metadata.name"), empty: "it would make no application" });
      }),
    );
}
