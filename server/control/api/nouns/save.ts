import { keepsNothing } from "../../../../openapi/audience.ts";
import { canonical } from "../../../base/json/canonical.ts";
import type { Found } from "../../domain/discover.ts";
import { withMoved } from "../../domain/moved.ts";
import { type Collection, isDelivered, nouns } from "../../domain/nouns.ts";
import { Problem, refuse } from "../../domain/problem.ts";
import { clusterIdFaults } from "../../domain/rules/cluster.ts";
import { checkRules, checkSchema, type Spec, withDefaults } from "../../domain/rules/spec.ts";
import { tenantFaults } from "../../domain/rules/tenants.ts";
import { type Scope, workerName } from "../../domain/scope.ts";
import { statusAfterChange } from "../../domain/webhook.ts";
import { noteChanges } from "../../store/audit.ts";
import type { Writer } from "../../store/database/writer.ts";
import { currentServiceKey } from "../../store/identity/servicekeys.ts";
import { deliverSpec, deliverToUsersOf } from "../../store/objects/deliveries.ts";
import { releasedFor } from "../../store/objects/moves.ts";
import { insertObject, type Stored, updateObject } from "../../store/objects/objects.ts";
import { setReferences } from "../../store/objects/references.ts";
import { askRescope, askRescopeOfScope, dropSighting } from "../../store/objects/sightings.ts";
import { checkAdoption, checkChange, checkPlace } from "../discovered/adopt.ts";
import { checkMapping, checkOnlyMapping } from "../discovered/mappings.ts";
import { removeReleased } from "./delete.ts";
import { checkEnvironment } from "./environments.ts";
import { agentToLeave, succeed, type UpdateKind } from "./move.ts";
import { noteParted } from "./parted.ts";
import { checkProjects } from "./projects.ts";
import { checkSameAgent, checkSameProject, findAgentOf, type ReferenceTarget, resolveAll } from "./references.ts";
import { checkKept, type Envelope, mayHaveCredentials, sealFor } from "./seal.ts";

/** Where a spec is put, and what it makes of the object that is there. */
export interface Place {
  collection: Collection;
  scope: Scope;
  id: string;
  existing: Stored | undefined;
  change: UpdateKind;
  /** A discovered object is taken over by this write. */
  adopt?: boolean;
}

/**
 * Stores a new or changed spec, as PUT and PATCH both do: check it alone, check it against what it refers to, seal its
 * credentials, store it with its event, and put it on its way to the agent. All in the writer's transaction.
 */
export async function save(w: Writer, place: Place, given: Spec): Promise<Stored> {
  const { collection, scope, id, existing, change } = place;
  const noun = nouns[collection];
  if (existing?.deletionRequestedAt)
    throw new Problem(
      "being_deleted",
      "The object is being deleted by its agent. Wait until it is gone, then create it again.",
    );
  const whole = withDefaults(noun, given);
  checkSchema(noun, whole);
  if (existing) await checkChange(w, existing, place.adopt === true);
  const adopted = existing !== undefined && existing.origin !== "managed";
  if (collection === "clusters") refuse(clusterIdFaults(id));
  checkRules(noun, whole, change === "replace" ? undefined : existing?.spec);
  const { credentials, sealedCredentials, ...spec } = whole;
  const targets = await resolveAll(w, noun, scope, spec);
  checkSameAgent(targets);
  // An environment deploys nothing itself: it may link the cluster of any app project.
  if (collection !== "environments") checkSameProject(targets);
  await checkEnvironment(w, collection, existing, targets);
  await checkProjects(w, { collection, scope, spec, targets });
  const agent = targets.find((t) => t.pointer === "/spec/agent")?.object;
  if (adopted) await checkAdoption(w, existing, agent, targets);
  if (agent && collection === "argoprojectmappings") {
    await checkMapping(w, scope, spec, agent);
    await checkOnlyMapping(w, spec, agent, existing);
  }
  if (agent) refuse(tenantFaults(collection, agent, scope, whole));
  const sealed =
    agent && mayHaveCredentials(collection)
      ? await sealFor(agent, scope, { collection, id, spec, credentials, sealed: sealedCredentials })
      : undefined;
  // Another agent, and an object that takes the place of this one, never have the credentials that are kept.
  const keeps = change !== "replace" && existing?.spec.agent === spec.agent;
  if (existing && keeps && !sealed && mayHaveCredentials(collection)) checkKept(collection, existing, spec);
  // The key of an App that is taken out goes with it.
  const drops =
    existing !== undefined && !sealed && mayHaveCredentials(collection) && keepsNothing(existing.spec, spec);

  const released = existing ? await releasedFor(w, existing) : [];
  const leaves = existing && (await agentToLeave(w, noun, existing, { agent, spec: whole, change }));
  const anew = leaves !== undefined || change === "replace";
  // New credentials are a change, though nothing of them is stored with the spec.
  if (agent && !adopted && (!existing || leaves))
    await checkPlace(w, agent, { collection, scope, id, uid: existing?.uid });
  if (existing && !anew && !sealed && !adopted && canonical(existing.spec) === canonical(spec)) return existing;
  const heir = existing && anew ? await succeed(w, existing, leaves, change) : undefined;
  const before = heir ?? existing;
  const agentBefore =
    existing && collection === "argoprojectmappings" ? (await findAgentOf(w, existing))?.uid : undefined;
  noteChanges(w, existing?.spec, spec);
  const saved = before
    ? await updateObject(w, {
        ...before,
        // A take-over of an object as it is changes nothing that a client has planned with.
        generation: before.generation + (adopted && canonical(before.spec) === canonical(spec) ? 0 : 1),
        origin: "managed",
        found: leaves ? undefined : managedFound(before),
        agentUid: undefined,
        spec,
        status: await statusOf(w, before, spec, { heir, leaves, sealed, drops }),
      })
    : await insertObject(w, { ...scope, collection, id, spec, status: await firstStatus(w, collection, sealed) });
  await setReferences(
    w,
    saved.uid,
    targets.map((t) => ({ pointer: t.pointer, toUid: t.object.uid })),
  );
  if (adopted) await dropSighting(w, existing.uid);
  if (agent) await deliver(w, saved, agent, { sealed, drops, before: existing });
  if (collection === "argoprojectmappings")
    for (const one of new Set([agent?.uid, agentBefore])) if (one) await askRescope(w, one);
  if (!existing && collection === "organizations") await askRescopeOfScope(w, { org: id, project: "" });
  if (!existing && collection === "projects") await askRescopeOfScope(w, { org: scope.org, project: id });
  // What a set makes is shown where the set is.
  if (adopted && agent && collection === "applicationsets") await askRescope(w, agent.uid);
  if (heir) await deliverToUsersOf(w, heir.uid);
  if (leaves) await noteParted(w, saved);
  await removeReleased(w, released);
  return saved;
}

/** An object that replaces another begins without a status: what was reported was about the one before. */
async function statusOf(
  w: Writer,
  before: Stored,
  spec: Spec,
  {
    heir,
    leaves,
    sealed,
    drops,
  }: { heir: Stored | undefined; leaves: Stored | undefined; sealed: Envelope | undefined; drops: boolean },
): Promise<Record<string, unknown>> {
  const { collection } = before;
  if (heir) {
    const first = await firstStatus(w, collection, sealed);
    return leaves ? { ...first, delivery: movingFrom(leaves) } : first;
  }
  if (collection !== "webhooks")
    return statusAfter(collection, drops ? { ...before.status, credentials: "None" } : before.status, sealed);
  return { ...statusAfterChange(before, spec, { key: await currentServiceKey(w), now: await clock(w) }) };
}

/** A taken-over object still shows the live object, which has its own specification. */
const managedFound = ({ found }: Stored): Found | undefined => found && { live: found.live };

const movingFrom = (agent: Stored) => ({
  state: "Pending",
  reason: "Moving",
  message: `Agent ${agent.id} gives it up first. If that agent is not connected, the new one takes it at once.`,
});

async function deliver(
  w: Writer,
  saved: Stored,
  agent: ReferenceTarget["object"],
  { sealed, drops, before }: { sealed: Envelope | undefined; drops: boolean; before: Stored | undefined },
): Promise<void> {
  const { account, org, project, uid, id, collection } = saved;
  if (!isDelivered(collection)) return;
  const live = before && before.origin !== "managed" ? before.found!.live : undefined;
  await deliverSpec(w, {
    account,
    org,
    project,
    agentUid: agent.uid,
    uid,
    collection,
    id,
    name: live?.name ?? workerName(agent, saved, id),
    sealed,
    drops,
    ...(live ? { live: { namespace: live.namespace, uid: live.uid } } : {}),
  });
  // Users of a repository or cluster see its address.
  if (before && (before.spec.url !== saved.spec.url || before.spec.server !== saved.spec.server))
    await deliverToUsersOf(w, uid);
}

export const clock = async (w: Writer): Promise<Date> => (await w.query("select outpost_now() n"))[0]!.n;

const PENDING = {
  state: "Pending",
  reason: "NotDelivered",
  message: "Waiting for the agent to take it.",
} as const;

async function firstStatus(
  w: Writer,
  collection: Collection,
  sealed: Envelope | undefined,
): Promise<Record<string, unknown>> {
  if (collection === "webhooks") return { secretKey: await currentServiceKey(w) };
  if (collection === "agents") return { connected: false };
  if (collection === "delegates") return { connected: false, instances: [] };
  if (!isDelivered(collection)) return {};
  return { delivery: PENDING, ...(nouns[collection].credentials ? { credentials: sealed ? "Pending" : "None" } : {}) };
}

function statusAfter(
  collection: Collection,
  status: Record<string, unknown>,
  sealed: Envelope | undefined,
): Record<string, unknown> {
  if (!isDelivered(collection)) return status;
  // A write has checked that everything it refers to is with the same agent.
  if (status.conditions) status = withMoved(status, [], new Date());
  return { ...status, delivery: PENDING, ...(sealed ? { credentials: "Pending" } : {}) };
}
