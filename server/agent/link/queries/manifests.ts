import { randomBytes } from "node:crypto";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { Application } from "../../controller/application.ts";
import { masked } from "./mask.ts";
import { desired, withReadOnlyContext } from "./read-only-context.ts";
import { objectOf, type Read } from "./task.ts";

// An answer is one result of a task; longer texts are not useful to a reader.
const MAX_TEXT = 4 * 1024 * 1024;

/** What Git describes, at any revision. */
export const applicationManifests: Read = async (tc, task) => {
  const app = await objectOf(tc, task, "applications");
  if (app.kind !== "done") return app;
  const { revision } = task.params;
  return withReadOnlyContext(
    tc,
    app.value as Application,
    async (readOnlyContext): Promise<Outcome<Record<string, unknown>>> => {
      const rendered = await desired(readOnlyContext, typeof revision === "string" ? revision : undefined);
      if (rendered.kind !== "done") return rendered;
      const salt = randomBytes(16).toString("hex");
      const manifests = (rendered.value.objects ?? []).map((object) =>
        readOnlyContext.reads.hide(masked(object, salt)),
      );
      if (JSON.stringify(manifests).length > MAX_TEXT)
        return stop(
          "AnswerTooLarge",
          "the manifests have more than 4 MB; render them with the repository at hand: outpost admin render",
        );
      const { revisions, sourceType } = rendered.value;
      return done({ revision: rendered.value.revision, revisions, sourceType, manifests });
    },
  );
};
