import { type Collection, isDelivered, isDiscovered, type ObjectOf } from "../../domain/nouns.ts";
import { notFound, Problem } from "../../domain/problem.ts";
import { RULES } from "../../domain/rules/rules.ts";
import { noteChanges } from "../../store/audit.ts";
import type { Row } from "../../store/database/sql.ts";
import type { Writer } from "../../store/database/writer.ts";
import { deleteKeysIn } from "../../store/identity/keys.ts";
import { deliverTombstone, tryFindDelivery } from "../../store/objects/deliveries.ts";
import { dropDeliveries, isReleased, movingAway, releasedFor, releaseObject } from "../../store/objects/moves.ts";
import { removeObject, type Stored, tryFindByUid, updateObject } from "../../store/objects/objects.ts";
import { inhabitantsOf, projectsBeside, usersOf } from "../../store/objects/references.ts";
import { mappingsInto } from "../../store/objects/shown.ts";
import { askRescope, askRescopeOfScope, askToTell, removeShownOf } from "../../store/objects/sightings.ts";
import { deleteDeploymentsIn } from "../../store/services/deployments.ts";
import { checkDeletion } from "../discovered/adopt.ts";
import { leaveScope } from "../discovered/mappings.ts";
import { checkIfMatch, etag } from "../http/preconditions.ts";
import type { Services } from "../services.ts";
import type { Call } from "../typed.ts";
import { write } from "../write.ts";
import { checkApprovalsKept } from "./approvals-kept.ts";
import { checkLevel, findObject, show } from "./find.ts";
import { removeIdentities } from "./identities.ts";
import { findAgentOf } from "./references.ts";

type DeleteCall = Omit<Call<"deleteApplication">, "operation" | "query"> & {
  operation: string;
  query: {
    org?: string;
    force?: boolean;
    replace?: boolean;
    uid?: string;
    cascade?: "foreground" | "background" | "orphan";
  };
};
type Gone = { status: 204 };
type Going<C extends Collection> = { status: 202; body: ObjectOf<C>; headers: Record<string, string> };

/** DELETE of what lives in the service alone. */
export const remove =
  (s: Services, collection: Collection) =>
  async (call: DeleteCall): Promise<Gone> => {
    await removal(s, collection, call);
    return { status: 204 };
  };

/** DELETE of what an agent holds: it goes when the agent has removed it, or at once if the agent never heard of it. */
export const removeDelivered =
  <C extends Collection>(s: Services, collection: C) =>
  async (call: DeleteCall): Promise<Gone | Going<C>> => {
    const going = await removal(s, collection, call);
    return going ? { status: 202, body: show<C>(going), headers: { ETag: etag(going) } } : { status: 204 };
  };

async function removal(s: Services, collection: Collection, call: DeleteCall): Promise<Stored | undefined> {
  checkLevel(collection, call.scope);
  let going: Stored | undefined;
  await write(s, call, async (w) => {
    const found = await findObject(w, collection, call.scope, call.params.id);
    const { uid, replace = false, force = false } = call.query;
    if (uid !== undefined && uid !== found.uid) throw notFound();
    checkIfMatch(call.headers.ifMatch, found);
    await checkDeletion(w, found);
    const used = await whyUsed(w, found, force);
    if (used && !replace) throw used;
    checkApprovalsKept(call.caller, found, undefined);
    if (used) {
      await releaseObject(w, found.uid);
      return { status: 204 };
    }
    noteChanges(w, found.spec, undefined);
    going = await removeOne(w, found, force, call.query.cascade);
    return { status: going ? 202 : 204 };
  });
  return going;
}

async function removeOne(
  w: Writer,
  found: Stored,
  force: boolean,
  cascade: string | undefined,
): Promise<Stored | undefined> {
  if (isDelivered(found.collection) && !force) {
    if (found.deletionRequestedAt) return found;
    if (await deliverTombstone(w, found.uid, cascade)) {
      const delivery = {
        state: "Deleting",
        reason: "Requested",
        message: "Waiting for the agent to remove it.",
      };
      return updateObject(w, { ...found, deletionRequestedAt: new Date(), status: { ...found.status, delivery } });
    }
  }
  if (force && isDiscovered(found.collection)) {
    const delivery = await tryFindDelivery(w, w.account, found.uid);
    // What is in the cluster stays there, and is shown as discovered.
    if (delivery) await askToTell(w, delivery.agentUid);
  }
  await removeNow(w, found);
  return undefined;
}

/** Removes an object from the service, with objects that were released and kept only for it. */
export async function removeNow(w: Writer, found: Stored): Promise<void> {
  const released = await releasedFor(w, found);
  if (found.collection === "agents" || found.collection === "delegates") await removeIdentities(w, found);
  if (found.collection === "agents") {
    await dropDeliveries(w, found.uid);
    await removeShownOf(w, found.uid);
  }
  const gone = scopeOf(found);
  if (gone) {
    await leaveScope(w, gone.org, gone.project);
    await askRescopeOfScope(w, gone);
    await deleteKeysIn(w, w.account, gone.org, gone.project);
    await deleteDeploymentsIn(w, w.account, gone.org, gone.project);
  }
  if (found.collection === "argoprojectmappings" || found.collection === "applicationsets") {
    const agent = await findAgentOf(w, found);
    if (agent) await askRescope(w, agent.uid);
  }
  await removeObject(w, found);
  await removeReleased(w, released);
}

/** The scope that an organization or a project is. */
function scopeOf({ collection, org, id }: Stored): { org: string; project: string } | undefined {
  if (collection === "organizations") return { org: id, project: "" };
  return collection === "projects" ? { org, project: id } : undefined;
}

/** Removes those of some released objects that nothing needs any more: their replacements have other ids, or never came. */
export async function removeReleased(w: Writer, uids: readonly string[]): Promise<void> {
  for (const uid of uids) {
    const found = await tryFindByUid(w, w.account, uid);
    if (found && (await isReleased(w, w.account, uid)) && !(await whyUsed(w, found, false)))
      await removeOne(w, found, false, undefined);
  }
}

/** Why an object must not go yet; undefined when it may. */
async function whyUsed(w: Writer, found: Stored, force: boolean): Promise<Problem | undefined> {
  const users = await usersOf(w, w.account, found.uid);
  if (users.length > 0) return inUse("is referred to by", users);
  if (found.collection === "agents" && found.status.connected === true && !force) {
    const moving = await movingAway(w, w.account, found.uid);
    // Without its session the agent would never hear of it, and two agents would work on one application.
    if (moving.length > 0)
      return new Problem(
        "in_use",
        `The agent has not given up ${moving.join(", ")} yet, which moved to another agent. Try again in a few seconds, or send \`force=true\`.`,
      );
  }
  const { neededBy, needed = "" } = RULES[found.collection] ?? {};
  if (neededBy) {
    const needing = (await projectsBeside(w, w.account, found.uid)).filter(({ spec }) =>
      neededBy(found.spec as never, spec),
    );
    if (needing.length > 0) return inUse(needed, needing.slice(0, 5));
  }
  if (found.collection === "organizations" || found.collection === "projects") {
    const [org, project] = found.collection === "projects" ? [found.org, found.id] : [found.id, ""];
    const inside = await inhabitantsOf(w, w.account, org, project);
    if (inside.length > 0) return inUse("still holds", inside);
    const mappings = await mappingsInto(w, w.account, org, project);
    if (mappings.length > 0) return inUse("is where mappings show discovered objects:", mappings);
  }
  return undefined;
}

function inUse(how: string, rows: Row[]): Problem {
  const names = rows.map((r) => `${r.collection}/${[r.org, r.project, r.id].filter(Boolean).join("/")}`).join(", ");
  return new Problem(
    "in_use",
    `The object ${how} ${names}${rows.length === 5 ? " and maybe more" : ""}. Delete or change these first.`,
  );
}
