import type { Command } from "commander";
import { usage } from "../../output/failure.ts";
import type { Io } from "../../output/io.ts";
import { verb } from "../../session/session.ts";
import { field, type Json } from "../../show.ts";
import { followAll } from "../follow.ts";
import { nounOf } from "../nouns.ts";

interface WatchFlags {
  filter?: string;
  inherited?: boolean;
}

/** `watch` of several nouns in one stream. */
export function watchAllVerb(parent: Command, io: Io): void {
  parent
    .command("watch <nouns>")
    .summary("show changes of several kinds of objects, such as `app,agent,cluster`, until Ctrl-C")
    .option(
      "--filter <terms>",
      "terms that must all hold, over short names and labels: `health!=Healthy,labels.team=shop`",
    )
    .option("--inherited", "also those of the scopes below this one")
    .action(
      verb(io, async (s, words: string, flags: WatchFlags) => {
        const nouns = words.split(",").map((word) => {
          const noun = nounOf(word.trim());
          if (!noun) throw usage(`${JSON.stringify(word)} is no kind of object; use app,agent for example`);
          return noun;
        });
        const query = { ...flags, collections: nouns.map((noun) => noun.collection).join(","), view: "summary" };
        for await (const change of followAll(await s.api(), query, s.io.signal)) {
          if (change.event === "bookmark") continue;
          const { collection, object } = change.object;
          const shown: Json = object ?? change.object;
          if (s.format === "json" || s.format === "yaml")
            s.io.out.write(`${JSON.stringify({ event: change.event, ...change.object })}\n`);
          else s.io.out.write(`${lineOf(collection, shown, change.event === "delete")}\n`);
        }
      }),
    );
}

/** One change as a line: the kind and id of the object, and its state if it has one. */
function lineOf(collection: string, object: Json, gone: boolean): string {
  const place = [field(object, "org"), field(object, "project"), field(object, "id")].filter(Boolean).join("/");
  const state = gone ? "deleted" : [field(object, "sync"), field(object, "health")].filter(Boolean).join(" ");
  return [`${nounOf(collection)?.word ?? collection}/${place}`, state].filter(Boolean).join("  ");
}
