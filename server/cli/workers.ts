import type { Command } from "commander";
import type { Schemas } from "../../openapi/client.ts";
import type { OperationId } from "../../openapi/contract/operations.ts";
import { showAge } from "../base/duration.ts";
import { addFlags, flagsOf, objectOf } from "./flags.ts";
import type { Io } from "./io.ts";
import { verb } from "./session.ts";
import { field, type Json, say, show, showAs } from "./show.ts";

/** What agents and delegates share: installation and enrolment tokens. */
export function workerVerbs(parent: Command, io: Io, word: "Agent" | "Delegate"): void {
  const noun = word.toLowerCase();
  const flags = flagsOf("InstallRequest");
  const render = (name: string, summary: string, operation: OperationId) =>
    addFlags(parent.command(`${name} <id>`).summary(summary), flags).action(
      verb(io, async (s, id: string, given: Record<string, unknown>) => {
        const body = await objectOf(io, flags, given);
        const text = await (await s.api()).call<string>(operation, { path: { id }, body, headers: { accept: "application/yaml" } });
        if (io.out.isTTY) say(s, s.e.yellow("This holds a fresh enrolment token: whoever reads it can enrol as this worker."));
        io.out.write(text.endsWith("\n") ? text : `${text}\n`);
      }),
    );
  render("manifest", `Kubernetes manifest with a fresh token: outpost ${noun} manifest ID | kubectl apply -f -`, `render${word}Manifest`);
  if (word === "Agent") render("values", "Helm values with a fresh token", "renderAgentValues");

  parent
    .command("token <id>")
    .summary("make an enrolment token; it is shown once")
    .option("--expires-in <duration>", "how long it can be used")
    .action(
      verb(io, async (s, id: string, given: { expiresIn?: string }) => {
        const body = given.expiresIn ? { expiresIn: given.expiresIn } : {};
        const headers = { "idempotency-key": crypto.randomUUID() };
        const token = await (await s.api()).call<Schemas["WorkerToken"]>(`create${word}Token`, { path: { id }, body, headers });
        if (s.format === "name") return s.io.out.write(`${token.id}\n`);
        showAs(s, token, () => token.token ?? "");
        say(
          s,
          s.e.dim(`token ${token.id}, valid until ${token.expiresAt}, ${token.maxUses === 1 ? "for one enrolment" : "for every replica"}`),
        );
      }),
    );
  parent
    .command("tokens <id>")
    .summary("list enrolment tokens")
    .action(
      verb(io, async (s, id: string) => {
        const { items } = await (await s.api()).call<{ items: Json[] }>(`list${word}Tokens`, { path: { id } });
        show(
          s,
          items,
          [
            { head: "ID", text: (o, c) => c.bold(field(o, "id")) },
            {
              head: "STATE",
              text: (o, c) =>
                o.revokedAt
                  ? c.red("revoked")
                  : Date.parse(o.expiresAt) < Date.now()
                    ? c.dim("expired")
                    : o.maxUses > 0 && o.uses >= o.maxUses
                      ? c.dim("used")
                      : c.green("valid"),
            },
            { head: "USES", text: (o) => `${o.uses}${o.maxUses ? `/${o.maxUses}` : ""}` },
            { head: "AGE", text: (o) => showAge(o.createdAt) },
            { head: "EXPIRES", text: (o) => field(o, "expiresAt") },
          ],
          { empty: "no tokens" },
        );
      }),
    );
  parent
    .command("revoke <id> <token>")
    .summary("revoke an enrolment token by its id")
    .action(
      verb(io, async (s, id: string, token: string) => {
        await (await s.api()).call(`revoke${word}Token`, { path: { id, token } });
        say(s, `${s.e.green("✓")} token ${s.e.bold(token)} revoked`);
      }),
    );
}
