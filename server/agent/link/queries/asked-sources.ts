import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { Application } from "../../controller/application.ts";

/**
 * The application as a question wants it: as it is, or with the sources and revisions that an entry of its history deployed.
 * Stops with `HistoryNotFound` where the history has no such entry, or one that does not say what it deployed.
 */
export function asAsked(app: Application, history: unknown): Outcome<Application> {
  if (typeof history !== "number") return done(app);
  const entries = app.status?.history ?? [];
  const entry = entries.find(({ id }) => id === history);
  if (!entry)
    return stop(
      "HistoryNotFound",
      `The history has no entry ${history}. It has ${entries.map(({ id }) => id).join(", ") || "none"}.`,
    );
  const { source, sources, revision, revisions = [] } = entry;
  const { source: _, sources: __, sourceHydrator: ___, ...spec } = app.spec;
  if (sources?.length) {
    const pinned = sources.map((one, i) => ({ ...one, targetRevision: revisions[i] ?? one.targetRevision }));
    return done({ ...app, spec: { ...spec, sources: pinned } } as Application);
  }
  if (!source) return stop("HistoryNotFound", `Entry ${history} of the history does not say what it deployed.`);
  return done({
    ...app,
    spec: { ...spec, source: { ...source, targetRevision: revision ?? source.targetRevision } },
  } as Application);
}
