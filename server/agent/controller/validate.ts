import { type Failure, stop } from "../../base/outcome.ts";
import type { Application } from "./application.ts";

/** What makes a specification unusable, whatever Git and the cluster say. */
export function validate({ spec }: Application): Failure | undefined {
  if (!spec || typeof spec !== "object") return stop("SpecMissing", "the application has no spec");
  if (spec.sources?.length && spec.sources.length > 1)
    return stop("SourceUnsupported", "several sources in one application are not supported by this version");
  const source = spec.sources?.[0] ?? spec.source;
  if (!source) return stop("SourceMissing", "spec.source is missing");
  if (!source.repoURL) return stop("SourceInvalid", "spec.source.repoURL is required");
  if (!source.path && !source.chart)
    return stop("SourceInvalid", "spec.source.repoURL and either spec.source.path or spec.source.chart are required");
  if (source.path?.startsWith("/")) return stop("SourceInvalid", "spec.source.path must be relative to the root of the repository");
  const misshapen = notLists(spec);
  if (misshapen) return stop("SpecInvalid", `spec.${misshapen} must be a list`);
  if (!spec.destination) return stop("DestinationInvalid", "spec.destination is missing");
  return undefined;
}

/** The CRD leaves these open, so that every version of the ecosystem's objects can be stored. */
function notLists(spec: Application["spec"]): string | undefined {
  const { helm, kustomize } = spec.sources?.[0] ?? spec.source ?? {};
  const lists: Record<string, unknown> = {
    "syncPolicy.syncOptions": spec.syncPolicy?.syncOptions,
    ignoreDifferences: spec.ignoreDifferences,
    "source.helm.valueFiles": helm?.valueFiles,
    "source.helm.parameters": helm?.parameters,
    "source.helm.fileParameters": helm?.fileParameters,
    "source.helm.apiVersions": helm?.apiVersions,
    "source.kustomize.images": kustomize?.images,
    "source.kustomize.replicas": kustomize?.replicas,
    "source.kustomize.patches": kustomize?.patches,
    "source.kustomize.components": kustomize?.components,
  };
  return Object.keys(lists).find((name) => lists[name] !== undefined && lists[name] !== null && !Array.isArray(lists[name]));
}
