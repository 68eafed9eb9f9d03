import type { Services } from "../services.ts";
import { calledTooOften } from "../webhooks/bounds.ts";
import { webhookRefused } from "../webhooks/refused.ts";
import { maybeSigned } from "../webhooks/signature.ts";
import { type Asked, refuse } from "./refuse.ts";

/** Made once: the same refusal is given over and over, and an error takes note of its stack each time. */
const NO_WEBHOOK = webhookRefused();
const TOO_OFTEN = calledTooOften();

/**
 * Refuses calls of a webhook that need not be read: the address has the service's MAC, so a made-up one is seen without the store; one address
 * calls only so often; and of calls with nothing in their head that could be the secret, or made with it, only some are read, for the
 * webhook's status.
 */
export function refuseWebhook(s: Services, asked: Asked): Promise<boolean> {
  const { req, route, network } = asked;
  const { hook = "" } = route.params;
  const refused = (outcome: string, problem: typeof NO_WEBHOOK) => {
    s.metrics.webhooks.inc({ provider: "none", outcome });
    return refuse(s, asked, problem);
  };
  return s.signer.openHookId(hook).then(
    (named) => {
      if (!named) return refused("SignatureInvalid", NO_WEBHOOK);
      const { bounds } = s.webhooks;
      if (!maybeSigned(req.headers, req.url!) && !bounds.readsUnsigned(hook))
        return refused("SignatureInvalid", NO_WEBHOOK);
      return bounds.reads(hook, network) ? false : refused("NotTaken", TOO_OFTEN);
    },
    () => false,
  );
}
