import { type ApplicationSetSpec, type Free, GENERATORS, type Generator, type GeneratorName } from "../types.ts";

// Seconds after which a generator is asked again by itself; clusters and lists tell when they change.
const DEFAULTS: Partial<Record<GeneratorName, number>> = {
  git: 180,
  clusterDecisionResource: 180,
  scmProvider: 1_800,
  pullRequest: 1_800,
  plugin: 1_800,
};
const LEAST_MS = 1_000;

/** When a set is to be looked at again at the latest; nothing when only a change is a reason. */
export function requeueMs(spec: ApplicationSetSpec): number | undefined {
  const seconds = (spec.generators ?? []).flatMap((entry) => of(entry, 0));
  return seconds.length ? Math.max(LEAST_MS, Math.min(...seconds) * 1_000) : undefined;
}

function of(entry: Generator, depth: number): number[] {
  return GENERATORS.flatMap((kind) => {
    const settings = entry?.[kind] as Free | undefined | null;
    if (!settings) return [];
    if (kind === "matrix" || kind === "merge") {
      const children = depth < 3 && Array.isArray(settings.generators) ? (settings.generators as Generator[]) : [];
      return children.flatMap((child) => of(child, depth + 1));
    }
    const own = Number(settings.requeueAfterSeconds);
    if (settings.requeueAfterSeconds !== undefined && Number.isFinite(own) && own > 0) return [own];
    const standard = DEFAULTS[kind];
    return standard === undefined ? [] : [standard];
  });
}
