import { withMoved } from "../../domain/moved.ts";
import type { Writer } from "../../store/database/writer.ts";
import { type Stored, tryFindByUid, updateObject } from "../../store/objects/objects.ts";
import { partedFrom, referrersOf } from "../../store/objects/references.ts";

const WORDS: Readonly<Record<string, string>> = {
  clusters: "cluster",
  repositories: "repository",
  appprojects: "app project",
};

/**
 * Says at what refers to a moved object whether both are with the same agent now. Moving everything takes several writes, in this order, so
 * that a move alone is not refused. The objects left behind keep a copy that is no longer updated, and must say so.
 */
export async function noteParted(w: Writer, moved: Stored): Promise<void> {
  for (const uid of await referrersOf(w, w.account, moved.uid)) {
    const object = await tryFindByUid(w, w.account, uid);
    if (object) await refresh(w, object);
  }
}

/** The same for one object, whose references have just been checked or changed. */
async function refresh(w: Writer, object: Stored): Promise<void> {
  const rows = await partedFrom(w, w.account, object.uid);
  const parted = rows.map((row) => ({
    what: `${WORDS[row.collection] ?? row.collection} ${row.id}`,
    pointer: row.pointer,
    from: row.own_agent,
    to: row.other_agent,
  }));
  const [{ now } = { now: new Date() }] = await w.query<{ now: Date }>("select outpost_now() now");
  const status = withMoved(object.status, parted, now);
  if (JSON.stringify(status) !== JSON.stringify(object.status)) await updateObject(w, { ...object, status });
}
