import type { Schemas } from "../../domain/nouns.ts";
import { sourcesOf } from "../../domain/rules/spec.ts";
import { isSame, keyOf, type Scope, workerName } from "../../domain/scope.ts";
import type { Tx } from "../../store/database/sql.ts";
import type { SessionRow } from "../../store/identity/sessions.ts";
import { type Due, namesOfApplications, takeDue } from "../../store/objects/deliveries.ts";
import { type Stored, toStored } from "../../store/objects/objects.ts";
import type { Services } from "../services.ts";

type WorkerObject = Schemas["WorkerObject"];
// One answer carries at most this much; the worker asks again at once.
const COUNT = 200;
const BYTES = 4 * 1024 * 1024;

/** What the agent lacks, signed. */
export async function collectObjects(
  s: Services,
  tx: Tx,
  session: SessionRow,
): Promise<{ objects: Schemas["Signed"][]; more: boolean }> {
  const due = await takeDue(tx, session.account, session.objectUid, session.session, COUNT);
  const objects: Schemas["Signed"][] = [];
  let bytes = 0;
  for (const [i, delivery] of due.entries()) {
    const signed = s.signer.signed(await toWorkerObject(tx, session, delivery));
    bytes += signed.body.length;
    objects.push(signed);
    if (bytes < BYTES || i === due.length - 1) continue;
    // What does not fit counts as not sent.
    await tx.query("update deliveries set sent_session = null where account = $1 and uid = any($2::text[])", [
      session.account,
      due.slice(i + 1).map((d) => d.uid),
    ]);
    return { objects, more: true };
  }
  return { objects, more: due.length === COUNT };
}

async function toWorkerObject(tx: Tx, session: SessionRow, d: Due): Promise<WorkerObject> {
  const base = {
    worker: session.worker,
    collection: d.collection,
    key: keyOf(d, d.id),
    name: d.name,
    uid: d.uid,
    generation: d.revision,
    ...(d.live ? { namespace: d.live.namespace, adopt: { uid: d.live.uid, ...tenantIn(session, d) } } : {}),
  };
  if (d.op === "delete") return { ...base, op: "delete", ...(d.cascade ? { cascade: d.cascade } : {}) };
  const resolved = await resolve(tx, session, d);
  return {
    ...base,
    op: "put",
    spec: d.spec,
    ...(resolved ? { resolved } : {}),
    ...(d.sealed ? { sealed: d.sealed as Schemas["SealedEnvelope"] } : {}),
    ...(d.action ? { action: d.action as Schemas["WorkerAction"] } : {}),
  };
}

/** The name of an object that was taken over says nothing of its scope. */
const tenantIn = (agent: Scope, object: Scope): { tenant?: string } =>
  isSame(agent, object) ? {} : { tenant: `${object.org || "-"}/${object.project || "-"}` };

/** What the references of an object stand for, read when it is sent: the newest address counts. Nothing when it has none that matter there. */
async function resolve(tx: Tx, agent: SessionRow, d: Due): Promise<WorkerObject["resolved"]> {
  const rows = await tx.query(
    `select r.pointer, d.name worker_name, o.* from object_references r join objects o on o.account = r.account and o.uid = r.to_uid
     left join deliveries d on d.account = o.account and d.uid = o.uid and d.agent_uid = $3
     where r.account = $1 and r.from_uid = $2 and r.pointer <> '/spec/agent'`,
    [d.account, d.uid, agent.objectUid],
  );
  const at = new Map<string, Stored>(rows.map((r) => [r.pointer, toStored(r)]));
  // What was delivered under an older name keeps it.
  const names = new Map<string, string | null>(rows.map((r) => [r.pointer, r.worker_name]));
  const nameOf = (pointer: string) => {
    const object = at.get(pointer);
    return object && (names.get(pointer) ?? workerName(agent, object, object.id));
  };
  const [project, within] = [nameOf("/spec/appProject"), nameOf("/spec/within")];
  const projects =
    project || within ? { ...(project ? { appProject: project } : {}), ...(within ? { within } : {}) } : undefined;
  if (d.collection !== "applications") return projects;
  const cluster = at.get("/spec/destination/cluster");
  // A cluster that was taken over is known by what its Secret says, not by the name of that.
  const [name, server] = [
    cluster?.found?.live.displayName ?? nameOf("/spec/destination/cluster"),
    cluster?.spec.server,
  ];
  const waitsFor = await neighbours(tx, agent, d);
  return {
    ...projects,
    ...(name ? { cluster: { name, server } } : {}),
    ...(waitsFor ? { waitsFor } : {}),
    repositories: sourcesOf(d.spec).map(
      ([, pointer]) => (at.get(`${pointer}/repository`)?.spec.url as string | undefined) ?? null,
    ),
  };
}

/** The names of the applications that this one waits for; nothing where they end as its own does, which an agent of any version takes for granted. */
async function neighbours(tx: Tx, agent: SessionRow, d: Due): Promise<string[] | undefined> {
  const ids: string[] = d.spec.waitsFor ?? [];
  if (ids.length === 0) return undefined;
  const known = await namesOfApplications(tx, agent.objectUid, d, ids);
  const tail = d.name.slice(d.id.length);
  const names = ids.map((id) => known.get(id) ?? workerName(agent, d, id));
  return names.some((name, i) => name !== ids[i]! + tail) ? names : undefined;
}
