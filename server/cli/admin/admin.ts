import { type Command, Option } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import { showAge } from "../../base/lang/duration.ts";
import type { Io } from "../output/io.ts";
import { verb } from "../session/session.ts";
import { field, plainColumn, say, show, showAs } from "../show.ts";
import { auditVerbs } from "./audit.ts";
import { metricsVerb } from "./metrics.ts";

/** `outpost apikey …`, `outpost servicekey rotate` and `outpost audit …`. */
export function adminVerbs(root: Command, io: Io): void {
  servicekeyVerbs(root, io);
  apikeyVerbs(root, io);
  auditVerbs(root, io);
  metricsVerb(root, io);
}

function servicekeyVerbs(root: Command, io: Io): void {
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
}

function apikeyVerbs(root: Command, io: Io): void {
  const apikey = root.command("apikey").summary("API keys of a scope");
  apikey
    .command("create <id>")
    .summary("make a key; it is shown once")
    .addOption(
      new Option("--role <role>", "what it may do").choices(["admin", "editor", "viewer"]).makeOptionMandatory(),
    )
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
}
