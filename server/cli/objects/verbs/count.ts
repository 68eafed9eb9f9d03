import type { Command } from "commander";
import type { Io } from "../../output/io.ts";
import { verb } from "../../session/session.ts";
import { type Json, say, show } from "../../show.ts";
import { manyOf, type Noun } from "../nouns.ts";

interface CountFlags {
  by?: string;
  filter?: string;
  inherited?: boolean;
}

/** `count` of one noun: how many objects a list would show, in groups. */
export function countVerb(parent: Command, io: Io, noun: Noun): void {
  parent
    .command("count")
    .summary(`count ${manyOf(noun)}`)
    .option("--by <fields>", "groups with equal fields, such as `health,sync` or `agent,labels.team`")
    .option("--filter <terms>", "terms that must all hold, as of `list`")
    .option("--inherited", "also those of the scopes below this one")
    .action(
      verb(io, async (s, flags: CountFlags) => {
        const counts = await (await s.api()).call<Json>("countObjects", {
          path: { collection: noun.collection },
          query: { ...flags },
        });
        if (s.format === "json" || s.format === "yaml") return show(s, [counts], [], { one: true });
        const fields = (flags.by ?? "").split(",").filter(Boolean);
        const columns = fields.map((name) => ({
          head: name.trim().toUpperCase(),
          text: (group: Json) => group.by[name.trim()] ?? "",
        }));
        const number = { head: "COUNT", text: (group: Json) => String(group.count) };
        show(s, counts.groups, [...columns, number], {
          name: (group) => String(group.count),
          empty: `no ${manyOf(noun)} here`,
        });
        if (counts.truncated) say(s, s.e.dim("there are more groups: use --filter or fewer fields"));
      }),
    );
}
