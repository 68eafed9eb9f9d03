import type { Command } from "commander";
import type { Schemas } from "../../../../openapi/client.ts";
import type { OperationId } from "../../../../openapi/contract/operations.ts";
import { type Colours, printable } from "../../../base/colour.ts";
import { EXIT, Failure } from "../../output/failure.ts";
import type { Io } from "../../output/io.ts";
import { verb } from "../../session/session.ts";
import { field, type Json, say, show, showAs, state } from "../../show.ts";
import { shortRevision } from "../nouns.ts";

/** `repo test` and `cluster test`: exits 1 when the connection fails. */
export function testVerb(parent: Command, io: Io, operation: OperationId, what: string): void {
  parent
    .command("test <id>")
    .summary("let the agent try the connection now; exits 1 when it fails")
    .action(
      verb(io, async (s, id: string) => {
        const got = await (await s.api()).call<Schemas["Connection"]>(operation, { path: { id } });
        if (got.state !== "Successful") {
          if (s.format === "json" || s.format === "yaml") showAs(s, got, () => "");
          throw new Failure(
            `${what} ${id}: ${[got.reason, got.message].filter(Boolean).join(": ") || got.state}`,
            EXIT.failed,
          );
        }
        showAs(
          s,
          got,
          () => `${what} ${id}: ${state(got.state, s.c)}${got.message ? ` (${printable(got.message)})` : ""}`,
        );
      }),
    );
}

/** `repo refs`: the branches and tags as the agent sees them. */
export function refsVerb(parent: Command, io: Io): void {
  parent
    .command("refs <id>")
    .summary("branches and tags as the agent sees them")
    .action(
      verb(io, async (s, id: string) => {
        const refs = await (await s.api()).call<Schemas["Refs"]>("getRepositoryRefs", { path: { id } });
        if (s.format === "json" || s.format === "yaml") return showAs(s, refs, () => "");
        const rows = [
          ...refs.branches.map((r) => ({ kind: "branch", ...r })),
          ...refs.tags.map((r) => ({ kind: "tag", ...r })),
        ];
        if (refs.defaultBranch && s.format !== "name")
          say(s, s.e.dim(`default branch: ${printable(refs.defaultBranch)}`));
        show(
          s,
          rows,
          [
            { head: "KIND", text: (o, c) => c.dim(o.kind) },
            { head: "NAME", text: (o, c) => c.bold(field(o, "name")) },
            { head: "REVISION", text: (o) => (s.format === "wide" ? o.revision : shortRevision(o.revision)) },
          ],
          { name: (o) => o.name, empty: "no branches and no tags" },
        );
      }),
    );
}

/** `repo charts`: what a chart repository has, or what versions one of its charts has. */
export function chartsVerb(parent: Command, io: Io): void {
  parent
    .command("charts <id> [chart]")
    .summary("charts with their newest versions; with a chart, all its versions")
    .action(
      verb(io, async (s, id: string, chart: string | undefined) => {
        const charts = await (await s.api()).call<Schemas["Charts"]>("getRepositoryCharts", { path: { id } });
        if (chart === undefined) {
          const newest = (o: { versions?: string[] }) =>
            (o.versions ?? []).slice(0, s.format === "wide" ? 20 : 5).join(", ");
          const columns = [
            { head: "NAME", text: (o: Json, c: Colours) => c.bold(field(o, "name")) },
            { head: "VERSIONS", text: (o: Json) => String(o.versions?.length ?? 0) },
            { head: "NEWEST", text: (o: Json) => printable(newest(o)) },
          ];
          return show(s, charts.items, columns, { name: (o) => o.name, empty: "no charts" });
        }
        const found = charts.items.find(({ name }) => name === chart);
        if (!found) throw new Failure(`repo ${id} has no chart ${JSON.stringify(chart)}`, EXIT.notFound);
        if (s.format === "json" || s.format === "yaml") showAs(s, found, () => "");
        else for (const version of found.versions) s.io.out.write(`${printable(version)}\n`);
      }),
    );
}
