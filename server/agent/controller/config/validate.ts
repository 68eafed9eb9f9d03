import { type Failure, stop } from "../../../base/outcome.ts";
import type { Application, SourceHydrator } from "../application.ts";

/** What makes a specification unusable, whatever Git and the cluster say. */
export function validate({ spec }: Application): Failure | undefined {
  if (!spec || typeof spec !== "object") return stop("SpecMissing", "the application has no spec");
  const dry =
    spec.sourceHydrator === undefined || spec.sourceHydrator === null ? undefined : hydration(spec.sourceHydrator);
  if (dry) return dry;
  const single = spec.source ? [spec.source] : [];
  const given = spec.sources?.length ? spec.sources : single;
  const sources = spec.sourceHydrator ? [] : given;
  if (!spec.sourceHydrator && sources.length === 0) return stop("SourceMissing", "spec.source is missing");
  for (const [i, source] of sources.entries()) {
    const at = spec.sources?.length ? `spec.sources[${i}]` : "spec.source";
    if (!source?.repoURL) return stop("SourceInvalid", `${at}.repoURL is required`);
    if (!source.path && !source.chart && !source.ref && !source.repoURL.startsWith("oci://"))
      return stop("SourceInvalid", `${at}.repoURL and either ${at}.path or ${at}.chart are required`);
    if (source.path?.startsWith("/"))
      return stop("SourceInvalid", `${at}.path must be relative to the root of the repository`);
    if (source.ref && source.chart) return stop("SourceInvalid", `${at}: a source with a chart cannot have a ref`);
  }
  const misshapen = notLists(spec);
  if (misshapen) return stop("SpecInvalid", `spec.${misshapen} must be a list`);
  if (!spec.destination) return stop("DestinationInvalid", "spec.destination is missing");
  return undefined;
}

function hydration({ drySource, syncSource, hydrateTo }: SourceHydrator): Failure | undefined {
  const missing = (field: string) => stop("SourceInvalid", `spec.sourceHydrator.${field} is required`);
  const isText = (value: unknown) => typeof value === "string" && value !== "";
  if (!isText(drySource?.repoURL)) return missing("drySource.repoURL");
  if (!isText(syncSource?.targetBranch)) return missing("syncSource.targetBranch");
  if (!isText(syncSource.path)) return missing("syncSource.path");
  if (syncSource.path.startsWith("/"))
    return stop("SourceInvalid", "spec.sourceHydrator.syncSource.path must be relative to the root of the repository");
  if (hydrateTo && !isText(hydrateTo.targetBranch)) return missing("hydrateTo.targetBranch");
  return undefined;
}

/** The CRD leaves these open, so that every version of the ecosystem's objects can be stored; sources are judged where they are used. */
function notLists(spec: Application["spec"]): string | undefined {
  const lists: Record<string, unknown> = {
    "syncPolicy.syncOptions": spec.syncPolicy?.syncOptions,
    ignoreDifferences: spec.ignoreDifferences,
  };
  return Object.keys(lists).find(
    (name) => lists[name] !== undefined && lists[name] !== null && !Array.isArray(lists[name]),
  );
}
