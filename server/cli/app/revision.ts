import type { Command } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import { printable } from "../../base/colour.ts";
import { pairs } from "../../base/table.ts";
import { usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import { verb } from "../session/session.ts";
import { showAs } from "../show.ts";

/** `app revision`: who made a commit, and why. */
export function revisionVerb(app: Command, io: Io): void {
  app
    .command("revision <id> [revision]")
    .summary("who made a commit, and why; none means the one that was compared last")
    .option("--source <n>", "of an application with several: which source, from 0", "0")
    .action(
      verb(io, async (s, id: string, revision: string | undefined, flags: { source: string }) => {
        if (!/^\d{1,2}$/.test(flags.source))
          throw usage(`--source takes the number of a source, not ${JSON.stringify(flags.source)}`);
        const query = { revision, source: Number(flags.source) };
        const got = await (await s.api()).call<Schemas["RevisionInfo"]>("getApplicationRevision", {
          path: { id },
          query,
        });
        if (s.format === "name") return void s.io.out.write(`${printable(got.revision)}\n`);
        const unproven = got.signature === "None" ? s.c.dim : s.c.red;
        const signed = got.signature === "Good" ? s.c.green : unproven;
        const rows: [string, string | undefined][] = [
          ["revision", s.c.bold(printable(got.revision))],
          ["author", got.author && printable(got.author)],
          ["date", got.date],
          ["tags", got.tags?.map(printable).join(", ")],
          ["signature", got.signature && signed(got.signature) + (got.signer ? printable(` by ${got.signer}`) : "")],
          ["message", got.message && printable(got.message.trimEnd())],
        ];
        showAs(s, got, () => pairs(rows.filter((row): row is [string, string] => Boolean(row[1]))));
      }),
    );
}
