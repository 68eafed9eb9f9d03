import { done, type Outcome } from "../../base/outcome.ts";
import type {
  Freshness,
  Refs,
  Rendered,
  RenderRequest,
  RepoAccess,
  SurveyAnswer,
  Surveyed,
  SurveyRequest,
} from "./types.ts";

/** How new an answer must be: about a source, or about a part of one that comes from elsewhere. */
export type Fresh = (what: "source" | "part", url: string, chart?: string, version?: string) => Freshness;

interface Means {
  refs(repo: RepoAccess): Promise<Outcome<Refs>>;
  plan(ask: RenderRequest, freshness: Fresh): Promise<Outcome<Pick<Rendered, "key" | "revisions">>>;
}

// Other callers get their turn between so many applications.
const TURN = 20;

/** One question to the remote, and for each application only what of its files is new: nothing is rendered. */
export async function survey({ repo, asks }: SurveyRequest, { refs, plan }: Means): Promise<Outcome<Surveyed>> {
  const git = asks.some((ask) =>
    ask.sources.some(({ source, repo: { url } }) => url === repo.url && !source.chart && !url.startsWith("oci://")),
  );
  if (git) {
    const known = await refs(repo);
    if (known.kind !== "done") return known;
  }
  // The first who needs a chart, or values of another host, has them looked up; the others share what was found.
  const asked = new Set<string>();
  const freshness: Fresh = (what, url, chart, version) => {
    const stands = what === "source" && (url !== repo.url || (git && chart === undefined));
    const id = JSON.stringify([url, chart, version]);
    if (stands || asked.has(id)) return "cached";
    asked.add(id);
    return "normal";
  };
  const answers: SurveyAnswer[] = [];
  for (const [i, ask] of asks.entries()) {
    if (i % TURN === TURN - 1) await new Promise((resolve) => setImmediate(resolve));
    const planned = await plan(ask, freshness);
    answers.push(planned.kind === "done" ? { key: planned.value.key, revisions: planned.value.revisions } : null);
  }
  return done({ answers });
}
