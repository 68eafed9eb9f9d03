import type { components } from "../../../openapi/contract/types.ts";
import type { Client, Place } from "../../client/client.ts";
import { report } from "../../client/problem.ts";
import type { EphemeralResource } from "../../protocol/provider.ts";
import type { Attributes } from "../../schema/attribute.ts";
import { stringField } from "../../value/value.ts";
import { noSuch } from "../references/missing.ts";

const label = { pattern: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", maxLength: 63 };

const attributes: Attributes = {
  webhook: { type: "string", presence: "required", description: "The id of the webhook.", rules: label },
  org: { type: "string", presence: "optional", description: "The organisation that the webhook is in.", rules: label },
  project: { type: "string", presence: "optional", description: "The project that the webhook is in.", rules: label },
  uid: {
    type: "string",
    presence: "optional",
    description:
      "`outpost_webhook.NAME.uid`. It is unknown until the webhook exists, so that the first plan does not ask for its secret; and the secret is never that of another webhook of the same id.",
  },
  url: { type: "string", presence: "computed", description: "The address to enter at the host." },
  secret: { type: "string", presence: "computed", sensitive: true, description: "The secret to enter at the host." },
  username: {
    type: "string",
    presence: "computed",
    description: "The name, where the host signs in with a name and a password.",
  },
};

/** The address and secret for a Git host. It exists only while Terraform runs, so it goes into a write-only argument and is in no plan and no state. */
export const webhookSecret: EphemeralResource<Client> = {
  schema: {
    description: "The address and the secret of a webhook, to enter at the host. The secret is kept nowhere.",
    attributes,
  },
  open: async (config, { client: open, signal, diagnostics }) => {
    const client = await open();
    const limit = { deadline: Date.now() + 60_000, signal };
    const place: Place = {
      collection: "webhooks",
      id: stringField(config, "webhook")!,
      org: stringField(config, "org"),
      project: stringField(config, "project"),
    };
    const uid = stringField(config, "uid");
    const found = uid === undefined ? undefined : await client.get(place, limit);
    if (found?.ok && found.body.uid !== uid) {
      diagnostics.error("Another webhook", `The webhook ${place.id} is not the one with the uid ${uid}. Plan again.`, [
        { attr: "uid" },
      ]);
      return null;
    }
    const reply = await client.read<components["schemas"]["WebhookSecret"]>(place, "/secret", limit);
    if (reply.ok) {
      const { url, secret, username = null } = reply.body;
      return { result: new Map([...config, ["url", url], ["secret", secret], ["username", username]]) };
    }
    if (reply.status === 404)
      diagnostics.error(
        "No such webhook",
        `${await noSuch(client, "webhook", place, signal)} With \`uid = outpost_webhook.NAME.uid\` Terraform waits until it is created.`,
        [{ attr: "webhook" }],
      );
    else report(diagnostics, "Reading the webhook's secret", reply.problem, attributes);
    return null;
  },
};
