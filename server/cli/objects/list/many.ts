import { inParallel } from "../../../base/process/parallel.ts";
import { describeFailure, Failure } from "../../output/failure.ts";
import { paint } from "../../output/io.ts";
import type { Session } from "../../session/session.ts";
import { count, type Json, show } from "../../show.ts";
import type { Noun } from "../nouns.ts";

/** Each one holds a watch of the service while it waits. */
const AT_ONCE = 8;

/**
 * Does `work` for each id. One object is shown as ever. Of several each tells how it goes on lines of its own, all are tried, and the first
 * failure says what to exit with.
 */
export async function forEach(
  s: Session,
  noun: Noun,
  ids: string[],
  work: (s: Session, id: string) => Promise<Json>,
): Promise<void> {
  const results: Json[] = [];
  const isData = s.format !== "table" && s.format !== "wide";
  if (ids.length === 1) {
    results.push(await work(s, ids[0]!));
    if (isData) show(s, results, noun.columns, { one: true, name: (o) => `${noun.word}/${o.id}` });
    return;
  }
  const failures: Failure[] = [];
  // Several lines that rewrite themselves would overwrite each other.
  const apart: Session = { ...s, io: { ...s.io, err: { ...s.io.err, isTTY: false } } };
  await inParallel(
    ids,
    async (id) => {
      try {
        results.push(await work(apart, id));
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        failures.push(error);
        s.io.err.write(describeFailure(error, paint(s.io, s.io.err)));
      }
    },
    AT_ONCE,
  );
  results.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
  if (isData) show(s, results, noun.columns, { name: (o) => `${noun.word}/${o.id}` });
  if (failures.length > 0)
    throw new Failure(`${failures.length} of ${count(ids.length, noun.word)} failed`, failures[0]!.exit);
}
