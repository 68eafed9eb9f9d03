import { redactUrl } from "../../repo/url.ts";
import { type Application, META, type SourceHydrator } from "../application.ts";
import { validate } from "../config/validate.ts";
import { NAMESPACE_REFUSED, place } from "../projects.ts";
import { end, go, type Look, type Placed, type Step } from "./context.ts";
import { tellUnknown } from "./unknown.ts";

/** Validates the specification and finds its destination. */
export async function findPlace(look: Look): Promise<Step<Placed>> {
  const { deps, app, report } = look;
  report.set(echo(app));
  const invalid = validate(app);
  if (invalid) return end(await tellUnknown(look, "InvalidSpecError", invalid));
  const destination = await place(deps, app);
  if (destination.kind !== "done") {
    // Argo CD uses another condition type for this.
    const type = destination.reason === NAMESPACE_REFUSED ? "UnknownError" : "InvalidSpecError";
    return end(await tellUnknown(look, type, destination));
  }
  if (destination.value.skipped) return end();
  if (app.spec.sourceHydrator)
    report.condition("HydrationExternal", "HydratedElsewhere", hydratedBy(app.spec.sourceHydrator));
  return go({ ...look, destination: destination.value });
}

/** The service's generation of the specification that was looked at. */
function echo(app: Application) {
  const generation = Number(app.metadata.annotations?.[META.generation]);
  return Number.isInteger(generation) && generation > 0 ? { observedGeneration: generation } : {};
}

const hydratedBy = ({ drySource, syncSource, hydrateTo }: SourceHydrator) =>
  `nothing is written to Git from here: what ${redactUrl(drySource.repoURL)} describes is synced from branch ${syncSource.targetBranch}, path ${syncSource.path}, which another program must render, as a pipeline with \`outpost admin render\`${hydrateTo ? ` (by way of branch ${hydrateTo.targetBranch})` : ""}`;
