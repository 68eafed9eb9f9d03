import type { Command } from "commander";
import { stringify } from "yaml";
import type { Schemas } from "../../../openapi/client.ts";
import { printable } from "../../base/colour.ts";
import { resourceTable } from "../objects/describe.ts";
import { resourceName } from "../objects/nouns.ts";
import type { Io } from "../output/io.ts";
import { type Session, verb } from "../session/session.ts";
import { type Json, say, showAs } from "../show.ts";
import { diffVerb } from "./diff.ts";
import { historyVerb } from "./history.ts";
import { instancesVerb } from "./instances.ts";
import { logVerbs } from "./logs.ts";
import { operationVerbs } from "./operation.ts";
import { pauseVerbs, refreshVerb } from "./pause.ts";
import { resourceVerbs } from "./resource.ts";
import { revisionVerb } from "./revision.ts";
import { treeVerb } from "./tree.ts";

/** What only applications can: sync, rollback, diff, history, tree, actions and the like. */
export function appVerbs(app: Command, io: Io): void {
  refreshVerb(app, io);
  pauseVerbs(app, io);
  diffVerb(app, io);
  historyVerb(app, io);
  app
    .command("manifests <id>")
    .summary("the objects that Git describes, as the agent renders them")
    .option("--revision <revision>", "of another branch, tag or commit")
    .action(
      verb(io, async (s, id: string, flags: { revision?: string }) => {
        const got = await (await s.api()).call<Schemas["Manifests"]>("getApplicationManifests", {
          path: { id },
          query: { revision: flags.revision },
        });
        if (s.format === "json") return showAs(s, got, () => "");
        if (s.format === "name")
          return names(
            s,
            got.manifests.map((m: Json) => ({
              group: m.apiVersion?.includes("/") ? m.apiVersion.split("/")[0] : "",
              kind: m.kind,
              namespace: m.metadata?.namespace,
              name: m.metadata?.name,
            })),
          );
        s.io.out.write(got.manifests.map((m) => `---\n${printable(stringify(m, { lineWidth: 0 }))}`).join(""));
      }),
    );
  app
    .command("resources <id>")
    .summary("the objects in the cluster, with their state")
    .action(
      verb(io, async (s, id: string) => {
        const object = await (await s.api()).call<Schemas["Application"]>("getApplication", { path: { id } });
        const items = object.status.resources ?? [];
        if (s.format === "name") return names(s, items);
        if (items.length === 0 && s.format !== "json" && s.format !== "yaml")
          return say(s, s.e.dim("no resources yet"));
        showAs(s, { items }, () => resourceTable(items, s.c));
      }),
    );
  instancesVerb(app, io);
  treeVerb(app, io);
  resourceVerbs(app, io);
  operationVerbs(app, io);
  revisionVerb(app, io);
  logVerbs(app, io);
}

function names(s: Session, items: Json[]): void {
  for (const item of items) s.io.out.write(`${printable(resourceName(item))}\n`);
}
