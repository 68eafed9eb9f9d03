import { validateGeneratedApplications } from "../../../../openapi/contract/validators.js";
import { askAgent } from "../../tasks/questions/ask.ts";
import { answerOf, asking, questionParams, requireAgentOf } from "../ask.ts";
import { findObject } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";

/** What a set would make now, by its agent. */
export const generateApplicationSet =
  (s: Services): Handler<"generateApplicationSet"> =>
  async (call) => {
    const set = await findObject(s.db, "applicationsets", call.scope, call.params.id);
    const agent = await requireAgentOf(s.db, set);
    const question = { kind: "applicationset.generate", params: await questionParams(s.db, set) } as const;
    const ended = await asking(s, call, agent, () => askAgent(s.db, agent, question, call.signal));
    return { status: 200, body: answerOf(ended, validateGeneratedApplications) };
  };
