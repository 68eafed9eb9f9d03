import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { REPO, type RevisionInfo } from "../types.ts";
import type { Mirror } from "./mirror.ts";

const MAX_OBJECT_BYTES = 1_000_000;
const MAX_MESSAGE = 10_000;
const MAX_TAGS = 100;

/** Bytes of a commit or tag in the mirror. */
export async function rawObject(mirror: Mirror, sha: string): Promise<Outcome<{ type: string; content: Buffer }>> {
  const read = await mirror.read(sha, MAX_OBJECT_BYTES);
  if (read.kind !== "done") return read;
  return read.value ? done(read.value) : stop(REPO.revision, `the repository has no object ${sha}`);
}

/** Who made a commit, when and why. */
export function describeCommit(revision: string, content: Buffer, tags: Record<string, string>): RevisionInfo {
  const text = content.toString("utf8");
  const end = text.indexOf("\n\n");
  const head = end < 0 ? text : text.slice(0, end);
  const author = /^author (.*) (\d+) [+-]\d{4}$/m.exec(head);
  const date = author ? new Date(Number(author[2]) * 1_000) : undefined;
  return {
    revision,
    ...(author ? { author: author[1]!.slice(0, 500) } : {}),
    ...(date && !Number.isNaN(date.getTime()) ? { date: date.toISOString() } : {}),
    message:
      end < 0
        ? ""
        : text
            .slice(end + 2)
            .trim()
            .slice(0, MAX_MESSAGE),
    tags: Object.keys(tags)
      .filter((name) => tags[name] === revision)
      .slice(0, MAX_TAGS),
  };
}
