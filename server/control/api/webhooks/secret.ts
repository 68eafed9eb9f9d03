import { addAudit } from "../../store/audit.ts";
import type { Stored } from "../../store/objects.ts";
import { findObject } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { acceptedLine } from "../write.ts";
import { providers } from "./providers/table.ts";

/** The address of a webhook as its host reaches it. */
export function addressOf({ signer }: Pick<Services, "signer">, hook: Pick<Stored, "account" | "uid">, origin: string): string {
  return `${origin}/v1/hooks/${signer.hookId(hook)}`;
}

/** Address and secret to enter at the host. Who has asked for it is in the audit trail, though nothing is changed. */
export const getWebhookSecret =
  (s: Services): Handler<"getWebhookSecret"> =>
  async (call) => {
    const hook = await findObject(s.db, "webhooks", call.scope, call.params.id);
    const { username, secretInAddress } = providers[hook.spec.provider as keyof typeof providers];
    const secret = s.signer.hookSecret(hook, hook.spec.secretVersion ?? 1).reveal();
    const address = addressOf(s, hook, call.origin);
    const url = secretInAddress ? `${address}?secret=${secret}` : address;
    await addAudit(s.db, acceptedLine(call));
    return { status: 200, headers: { "Cache-Control": "no-store" }, body: { url, secret, ...(username ? { username } : {}) } };
  };

type ReadCall = Pick<Call<"getWebhook">, "scope" | "origin">;

/**
 * A webhook with `status.url`, as every answer shows it. The address depends on where the service is reached, and is made from the uid, so
 * it is stored nowhere.
 */
export function withUrl<O extends Shown>(s: Services, call: ReadCall, hook: O): O {
  return { ...hook, status: { ...hook.status, url: addressOf(s, { account: call.scope.account, uid: hook.uid }, call.origin) } };
}

/** The same handler with `status.url` in what it shows. */
export function withAddress<C, R extends { status: number }>(s: Services, handler: (call: C) => Promise<R>) {
  return async (call: C & ReadCall): Promise<R> => {
    const reply = await handler(call);
    const body = (reply as { body?: { items?: Shown[] } & Partial<Shown> }).body;
    if (!body) return reply;
    const shown = (hook: Shown) => withUrl(s, call, hook);
    return { ...reply, body: body.items ? { ...body, items: body.items.map(shown) } : shown(body as Shown) };
  };
}

export interface Shown {
  uid: string;
  status: Record<string, unknown>;
}
