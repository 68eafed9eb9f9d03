import { validateLiveResource } from "../../../../openapi/contract/validators.js";
import { nameOf } from "../../access/authenticate.ts";
import { Problem } from "../../domain/problem.ts";
import { addAudit } from "../../store/audit.ts";
import { askAgent } from "../../tasks/questions/ask.ts";
import { answerOf, asking, questionParams, requireAgentOf } from "../ask.ts";
import { findObject } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { acceptedLine } from "../write.ts";

/**
 * Has something done to one object of an application. The agent's controller does it, with the rights of the application's own syncs, and only
 * to what the application owns or what came of that. It is asked once: a lost answer does not repeat it.
 */
export const runApplicationAction =
  (s: Services): Handler<"runApplicationAction"> =>
  async (call) => {
    const app = await findObject(s.db, "applications", call.scope, call.params.id);
    if (app.deletionRequestedAt) throw new Problem("being_deleted", "The application is being deleted by its agent.");
    const agent = await requireAgentOf(s.db, app);
    const { resource, action, parameters } = call.body;
    const params = {
      ...(await questionParams(s.db, app)),
      resource,
      action,
      by: nameOf(call.caller),
      ...(parameters ? { parameters } : {}),
    };
    const ended = await asking(s, call, agent, async () => {
      // Before it is carried out: the request is audited even when its answer never comes.
      await addAudit(s.db, acceptedLine(call));
      return askAgent(s.db, agent, { kind: "application.action", params, once: true }, call.signal);
    });
    return { status: 200, body: answerOf(ended, validateLiveResource) };
  };
