import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Command, Option } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import { showAge } from "../../base/lang/duration.ts";
import { usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import { MAX_WAIT_MS } from "../session/api.ts";
import { type Session, verb } from "../session/session.ts";
import { field, plainColumn, say, show, showAs, stateColumn } from "../show.ts";

/** `outpost apikey …`, `outpost servicekey rotate` and `outpost audit …`. */
export function adminVerbs(root: Command, io: Io): void {
  const servicekey = root.command("servicekey").summary("the key that the service signs with");
  servicekey
    .command("rotate")
    .summary("replace it; workers follow without a restart")
    .description(
      "Replaces the key that the service signs with. The old key signs the new one: workers follow, and enrolment tokens made before still enrol. " +
        "The tokens of running tasks stop working a minute later; webhooks keep their addresses and secrets. " +
        "It is no cure for a stolen key, whose thief could name a successor too: then set the service up again and enrol all workers again.",
    )
    .action(
      verb(io, async (s) => {
        const key = await (await s.api()).call<Schemas["ServiceKey"]>("rotateServiceKey", {});
        if (s.format === "name") return s.io.out.write(`${key.keyId}\n`);
        showAs(s, key, () => key.publicKey);
        say(s, `${s.e.green("✓")} the service signs with key ${s.e.bold(key.keyId)} now`);
      }),
    );

  const apikey = root.command("apikey").summary("API keys of a scope");
  apikey
    .command("create <id>")
    .summary("make a key; it is shown once")
    .addOption(new Option("--role <role>", "what it may do").choices(["admin", "editor", "viewer"]).makeOptionMandatory())
    .option("--expires-in <duration>", "how long it works, such as `2d`; 90 days when it is not said")
    .action(
      verb(io, async (s, id: string, flags: { role: string; expiresIn?: string }) => {
        const key = await (await s.api()).call<Schemas["ApiKey"]>("createApiKey", { body: { id, ...flags } });
        if (s.format === "name") return s.io.out.write(`${key.id}\n`);
        showAs(s, key, () => key.key ?? "");
        say(s, s.e.dim(`keep it: it cannot be shown again${key.expiresAt ? `; valid until ${key.expiresAt}` : ""}`));
      }),
    );
  apikey
    .command("list")
    .alias("ls")
    .summary("list them; the keys themselves are not stored")
    .action(
      verb(io, async (s) => {
        const { items } = await (await s.api()).call<Schemas["ApiKeyList"]>("listApiKeys");
        show(
          s,
          items,
          [
            { head: "ID", text: (o, c) => c.bold(field(o, "id")) },
            plainColumn("ROLE", "role"),
            { head: "SCOPE", text: (o) => [o.org, o.project].filter(Boolean).join("/") || "account" },
            { head: "AGE", text: (o) => showAge(o.createdAt) },
            { head: "EXPIRES", text: (o) => field(o, "expiresAt") || "never" },
          ],
          { empty: "no API keys" },
        );
      }),
    );
  apikey
    .command("delete <id>")
    .alias("rm")
    .summary("revoke one at once")
    .action(
      verb(io, async (s, id: string) => {
        await (await s.api()).call("deleteApiKey", { path: { id } });
        say(s, `${s.e.green("✓")} apikey ${s.e.bold(id)} deleted`);
      }),
    );

  const audit = root.command("audit");
  audit
    .summary("who changed what, newest first")
    .option("--limit <n>", "at most so many", "50")
    .action(
      verb(io, async (s, flags: { limit: string }) => {
        const limit = Number(flags.limit);
        if (!(limit >= 1)) throw usage(`--limit takes a number from 1, not ${JSON.stringify(flags.limit)}`);
        const api = await s.api();
        const items: Schemas["AuditEntry"][] = [];
        let cursor: string | undefined;
        do {
          const page = await api.call<Schemas["AuditList"]>("listAudit", { query: { cursor, limit: Math.min(500, limit - items.length) } });
          items.push(...page.items);
          cursor = page.nextCursor;
        } while (cursor && items.length < limit);
        show(
          s,
          items,
          [
            { head: "AT", text: (o) => o.at },
            { head: "ACTOR", text: (o, c) => c.bold(field(o, "actor")) },
            plainColumn("OPERATION", "operation"),
            {
              head: "TARGET",
              text: (o) =>
                [field(o, "org"), field(o, "project"), field(o, "target").replace(/^(-\/)+/, "")]
                  .filter((part) => part && part !== "-")
                  .join("/"),
            },
            stateColumn("OUTCOME", "outcome"),
            plainColumn("CODE", "code"),
            plainColumn("ADDRESS", "address", true),
            plainColumn("REQUEST", "request", true),
          ],
          { name: (o) => String(o.seq), empty: "nothing yet" },
        );
      }),
    );
  audit
    .command("export")
    .summary("the trail of a time as JSON lines or CSV, oldest first")
    .option("--since <time>", "from this time on, such as 2026-01-31T10:00:00Z")
    .option("--until <time>", "before this time")
    .addOption(new Option("--as <format>", "how it is written").choices(["ndjson", "csv"]).default("ndjson"))
    .option("--to <file>", "the file to write; - is standard output", "-")
    .action(
      verb(io, async (s, flags: { since?: string; until?: string; as: string; to: string }) => {
        const { since, until, as: format, to } = flags;
        const answer = await (await s.api()).send(
          "exportAudit",
          { query: { since, until, format }, headers: { accept: format === "csv" ? "text/csv" : "application/x-ndjson" } },
          AbortSignal.timeout(MAX_WAIT_MS),
        );
        await save(s, answer, to);
      }),
    );
}

/** Writes an answer to a file, or to standard output. A file that is there is replaced only by a whole one. */
async function save(s: Session, answer: Response, to: string): Promise<void> {
  const bytes = answer.body as unknown as AsyncIterable<Uint8Array>;
  if (to === "-") {
    for await (const part of bytes) s.io.out.write(part);
    return;
  }
  const part = `${to}.part-${process.pid}`;
  try {
    await pipeline(Readable.from(bytes), createWriteStream(part, { mode: 0o600 }));
    await rename(part, to);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  say(s, `${s.e.green("✓")} wrote ${s.e.bold(to)}`);
}
