import { Problem } from "../../domain/problem.ts";

/** The one answer for a missing webhook and for a call that is not signed with its secret: callers cannot tell the two apart. */
export const webhookRefused = () =>
  new Problem(
    "webhook_refused",
    "There is no such webhook, or the call is not signed with its secret. Compare both with getWebhookSecret.",
  );
