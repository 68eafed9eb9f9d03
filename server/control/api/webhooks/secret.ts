import type { Hook } from "../../access/signer.ts";
import type { ObjectOf, Schemas } from "../../domain/nouns.ts";
import { Problem } from "../../domain/problem.ts";
import { currentSecret } from "../../domain/webhook.ts";
import { addAudit } from "../../store/audit.ts";
import { findObject } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { acceptedLine } from "../write.ts";
import { providers } from "./providers/table.ts";

/** The address of a webhook as its host reaches it. Undefined when the key that it is derived from is lost. */
function addressOf(
  { signer }: Pick<Services, "signer">,
  hook: Hook & { key?: string | undefined },
  origin: string,
): string | undefined {
  const name = signer.hookId(hook, hook.key);
  return name && `${origin}/v1/hooks/${name}`;
}

/** Address and secret to enter at the host. Who has asked for it is in the audit trail, though nothing is changed. */
export const getWebhookSecret =
  (s: Services): Handler<"getWebhookSecret"> =>
  async (call) => {
    const hook = await findObject(s.db, "webhooks", call.scope, call.params.id);
    const { username, secretInAddress } = providers[hook.spec.provider as keyof typeof providers];
    const { account, uid, spec, status } = hook;
    const source = currentSecret(spec as ObjectOf<"webhooks">["spec"], status);
    await s.signer.learn([source.key]);
    const secret = s.signer.hookSecret(hook, source)?.reveal();
    const address = addressOf(s, { account, uid, key: source.key }, call.origin);
    if (!secret || !address)
      throw new Problem(
        "conflict",
        "The service's key that this secret is derived from is lost. Rotate the webhook's secret to get a new one.",
      );
    const url = secretInAddress ? `${address}?secret=${secret}` : address;
    await addAudit(s.db, acceptedLine(call));
    return {
      status: 200,
      headers: { "Cache-Control": "no-store" },
      body: { url, secret, ...(username ? { username } : {}) },
    };
  };

type ReadCall = Pick<Call<"getWebhook">, "scope" | "origin">;

/**
 * A webhook with `status.url`, as every answer shows it. The address depends on where the service is reached, and is derived from the uid, so
 * it is stored nowhere.
 */
export async function withUrl<O extends Shown>(s: Services, call: ReadCall, hook: O): Promise<O> {
  await s.signer.learn([hook.status.secretKey]);
  const url = addressOf(s, { account: call.scope.account, uid: hook.uid, key: hook.status.secretKey }, call.origin);
  return { ...hook, status: { ...hook.status, ...(url ? { url } : {}) } };
}

/** The same handler with `status.url` in what it shows. */
export function withAddress<C, R extends { status: number }>(s: Services, handler: (call: C) => Promise<R>) {
  return async (call: C & ReadCall): Promise<R> => {
    const reply = await handler(call);
    const body = (reply as { body?: { items?: Shown[] } & Partial<Shown> }).body;
    if (!body) return reply;
    // A summary has no status, and no address either.
    const shown = async (hook: Shown | Schemas["Summary"]) => ("status" in hook ? withUrl(s, call, hook) : hook);
    return {
      ...reply,
      body: body.items ? { ...body, items: await Promise.all(body.items.map(shown)) } : await shown(body as Shown),
    };
  };
}

export interface Shown {
  uid: string;
  status: { secretKey?: string };
}
