import type { Command } from "commander";
import type { Schemas } from "../../openapi/client.ts";
import type { OperationId } from "../../openapi/contract/operations.ts";
import { printable } from "../base/colour.ts";
import { EXIT, Failure } from "./failure.ts";
import type { Io } from "./io.ts";
import { shortRevision } from "./nouns.ts";
import { verb } from "./session.ts";
import { field, say, show, showAs, state } from "./show.ts";

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
          throw new Failure(`${what} ${id}: ${[got.reason, got.message].filter(Boolean).join(": ") || got.state}`, EXIT.failed);
        }
        showAs(s, got, () => `${what} ${id}: ${state(got.state, s.c)}${got.message ? ` (${printable(got.message)})` : ""}`);
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
        const rows = [...refs.branches.map((r) => ({ kind: "branch", ...r })), ...refs.tags.map((r) => ({ kind: "tag", ...r }))];
        if (refs.defaultBranch && s.format !== "name") say(s, s.e.dim(`default branch: ${printable(refs.defaultBranch)}`));
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
