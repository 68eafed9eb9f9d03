import type { Command } from "commander";
import type { Schemas } from "../../../../openapi/client.ts";
import { printable } from "../../../base/colour.ts";
import { addFlags, flagsOf, objectOf } from "../../output/flags.ts";
import type { Io } from "../../output/io.ts";
import { verb } from "../../session/session.ts";
import { say, showAs } from "../../show.ts";

/** `webhook secret`: the address and secret to enter at the host. Only the secret is on the standard output, so that it can be piped. */
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

/** `webhook rotate`: a new secret. It is not shown, so that it is in no log of a job that only rotates. */
export function rotateVerb(parent: Command, io: Io): void {
  const flags = flagsOf("RotateWebhookSecretRequest");
  addFlags(
    parent
      .command("rotate <id>")
      .summary("make a new secret from the service's current key; the old one ends after --overlap"),
    flags,
  ).action(
    verb(io, async (s, id: string, given: Record<string, unknown>) => {
      const body = await objectOf(io, flags, given);
      const headers = { "idempotency-key": crypto.randomUUID() };
      const hook = await (await s.api()).call<Schemas["Webhook"]>("rotateWebhookSecret", {
        path: { id },
        body,
        headers,
      });
      const until = hook.status.previousSecretUntil;
      showAs(s, hook, () => printable(hook.status.url ?? ""));
      say(
        s,
        `${s.e.green("✓")} webhook ${s.e.bold(id)} has a new secret; the old secret and address ${until ? `stay valid until ${until}` : "are no longer valid"}`,
      );
      say(s, s.e.dim(`Enter at the host what \`outpost webhook secret ${id}\` shows.`));
    }),
  );
}
