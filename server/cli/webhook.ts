import type { Command } from "commander";
import type { Schemas } from "../../openapi/client.ts";
import { printable } from "../base/colour.ts";
import type { Io } from "./io.ts";
import { verb } from "./session.ts";
import { say, showAs } from "./show.ts";

/** `webhook secret`: what is entered at the host. The secret stands alone on the standard output, so that it can be piped. */
export function secretVerb(parent: Command, io: Io): void {
  parent
    .command("secret <id>")
    .summary("the address and the secret to enter at the host")
    .action(
      verb(io, async (s, id: string) => {
        const hook = await (await s.api()).call<Schemas["WebhookSecret"]>("getWebhookSecret", { path: { id } });
        // Docker Hub has one field to fill in: there the secret is part of the address.
        const whole = hook.url.includes(hook.secret);
        showAs(s, hook, () => (whole ? hook.url : hook.secret));
        if (s.format === "json" || s.format === "yaml") return;
        if (!whole) say(s, s.e.dim(`address: ${printable(hook.url)}`));
        if (hook.username) say(s, s.e.dim(`username: ${printable(hook.username)}`));
      }),
    );
}
