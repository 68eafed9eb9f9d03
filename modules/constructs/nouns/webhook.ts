import { Construct } from "constructs";
import { EphemeralWebhookSecret } from "../bindings/ephemeral-webhook-secret.ts";
import { Webhook, type WebhookConfig } from "../bindings/webhook.ts";

export interface OutpostWebhookProps extends Omit<WebhookConfig, "id"> {
  /** Id of the webhook; immutable. */
  readonly webhookId: string;
}

/** Where a Git host or a registry says that something changed. */
export class OutpostWebhook extends Construct {
  readonly webhook: Webhook;
  private readonly place: { org: string | undefined; project: string | undefined };
  private opened: EphemeralWebhookSecret | undefined;

  constructor(scope: Construct, id: string, props: OutpostWebhookProps) {
    super(scope, id);
    const { webhookId, ...rest } = props;
    this.place = { org: props.org, project: props.project };
    this.webhook = new Webhook(this, "webhook", { ...rest, id: webhookId });
  }

  /** Address to enter at the host. It may change with `secretVersion`, which rotates the secret. */
  get url(): string {
    return this.webhook.status.url;
  }

  /** What to enter at the host, ephemeral: for write-only arguments. It is opened when it is first asked for. */
  get secret(): EphemeralWebhookSecret {
    // The uid is known only when the webhook exists, so that a plan before that asks for no secret.
    const { id, uid } = this.webhook;
    this.opened ??= new EphemeralWebhookSecret(this, "secret", { webhook: id, ...this.place, uid });
    return this.opened;
  }
}
