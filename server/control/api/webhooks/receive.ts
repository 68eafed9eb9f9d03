import { repositoryKey } from "../../../base/repository-key.ts";
import { Problem } from "../../domain/problem.ts";
import type { Stored } from "../../store/objects/objects.ts";
import { tellAgents } from "../../tasks/notify-agents.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { affectedBy } from "./affected.ts";
import { DEADLINE_MS, MAX_BYTES } from "./bounds.ts";
import { findHook } from "./hook.ts";
import type { Outcome } from "./marks.ts";
import type { Notice } from "./notice.ts";
import { parsePayload } from "./payload.ts";
import { providers } from "./providers/table.ts";
import { webhookRefused } from "./refused.ts";

type Reply = Awaited<ReturnType<Handler<"receiveWebhook">>>;

/**
 * A host says that something changed. In this order: is the address one of ours, how often (both at the front), how large, which webhook, is it
 * signed with its secret; only then is the body parsed. What comes of it is that agents look again, which they do anyway: so a call that is repeated does no harm.
 */
export const receiveWebhook = (s: Services): Handler<"receiveWebhook"> => {
  const count = (provider: string, outcome: string) => s.metrics.webhooks.inc({ provider, outcome });
  return async (call) => {
    const { bytes, announced, headers } = call.upload!;
    // The address has the service's MAC: nothing is read from a caller who made it up.
    const named = await s.signer.openHookId(call.params.hook);
    if (!named) {
      count("none", "SignatureInvalid");
      throw webhookRefused();
    }
    let body: Buffer;
    try {
      const sender = `webhook ${named.account}/${named.uid}`;
      body = await s.strangers.bodies.read(bytes, { sender, max: MAX_BYTES, announced, deadlineMs: DEADLINE_MS });
    } catch (error) {
      count("none", error instanceof Problem && error.code === "body_too_large" ? "TooLarge" : "NotTaken");
      throw error;
    }
    const { hook, now, secrets } = await findHook(s.db, s.signer, named);
    const provider = providers[(hook?.spec.provider as keyof typeof providers | undefined) ?? "github"];
    const incoming = { headers, secret: call.query.secret, bytes: body };
    // Every secret is tried, so that the response time does not reveal which one matched.
    const signed = secrets.filter((secret) => provider.signed(incoming, secret)).length > 0;
    const mark = (outcome: Outcome, repository?: string) => {
      count(hook ? hook.spec.provider : "none", outcome);
      if (hook) s.webhooks.marks.note(hook, { outcome, at: now, repository });
    };
    if (!hook || !signed || hook.deletionRequestedAt) {
      mark("SignatureInvalid");
      throw webhookRefused();
    }
    if (hook.spec.enabled === false) {
      mark("Disabled");
      return ignored;
    }
    let reading: Notice | "ignored";
    try {
      reading = read(call, hook, body);
    } catch (error) {
      mark("PayloadInvalid");
      throw error;
    }
    if (reading === "ignored") {
      mark("Ignored");
      return ignored;
    }
    const { repositories } = await lookAgain(s, hook, reading);
    mark(repositories.length > 0 ? "Accepted" : "Ignored", repositories.length > 0 ? reading.urls[0] : undefined);
    return repositories.length > 0
      ? { status: 202, body: { outcome: "Accepted", repositories: repositories.length } }
      : ignored;
  };
};

const ignored: Reply = { status: 202, body: { outcome: "Ignored", repositories: 0 } };

function read(call: Pick<Call<"receiveWebhook">, "upload">, hook: Stored, body: Buffer): Notice | "ignored" {
  const { headers } = call.upload!;
  const payload = parsePayload(body, headers);
  const reading = providers[hook.spec.provider as keyof typeof providers].read({ headers, payload });
  if (reading === "unreadable") throw new Problem("invalid_request", "The payload names no repository.");
  return reading;
}

async function lookAgain(s: Services, hook: Stored, { urls, refs, revision }: Notice) {
  const keys = urls.map(repositoryKey).sort().join(" ");
  return s.webhooks.bursts.run(`${hook.account}/${hook.uid} ${keys}`, async () => {
    const affected = await affectedBy(s.db, hook, urls);
    const told = await tellAgents(s.db, hook.account, affected.agents, {
      urls,
      ...(refs.length ? { refs } : {}),
      ...(revision ? { revision } : {}),
    });
    // A set may read what has no address here: its agent is told, and knows.
    return {
      agents: affected.agents,
      repositories:
        told > 0 && affected.repositories.length === 0 ? keys.split(" ").slice(0, 1) : affected.repositories,
    };
  });
}
