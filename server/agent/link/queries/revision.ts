import { beginning } from "../../../base/lang/beginning.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { type Application, revisionsOf, sourcesOf } from "../../controller/application.ts";
import { projectOf } from "../../controller/projects.ts";
import { tenantOf } from "../../project/tenant.ts";
import { withReadOnlyContext } from "./read-only-context.ts";
import { objectOf, type Read } from "./task.ts";

const MOST_TAGS = 100;
const MAX_MESSAGE = 16 * 1024;

/** Who made a revision of one of an application's sources, and why; none that is named means the one that was compared last. */
export const applicationRevision: Read = async (tc, task) => {
  const found = await objectOf(tc, task, "applications");
  if (found.kind !== "done") return found;
  const app = found.value as Application;
  const index = Number(task.params.source ?? 0);
  const source = sourcesOf(app)[index];
  if (!source) return stop("SourceNotFound", `the application has no source number ${index}; they are counted from 0`);
  const asked = task.params.revision;
  const revision =
    typeof asked === "string" ? asked : ((revisionsOf(app.status?.sync)[index] || source.targetRevision) ?? "HEAD");
  // The project's restrictions hold for reads, too.
  return withReadOnlyContext(tc, app, async ({ deps }): Promise<Outcome<Record<string, unknown>>> => {
    const { repositories } = deps;
    const repo = repositories.find(source.repoURL, projectOf(app), tenantOf(app));
    const info = await deps.repo.revision({ repo, source, revision, keyring: repositories.keyringOf(tenantOf(app)) });
    if (info.kind !== "done") return info;
    const { message, tags, ...rest } = info.value;
    return done({
      ...rest,
      ...(message ? { message: beginning(message, MAX_MESSAGE) } : {}),
      ...(tags?.length ? { tags: tags.slice(0, MOST_TAGS) } : {}),
    });
  });
};
