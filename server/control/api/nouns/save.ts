import { canonical } from "../../../base/canonical.ts";
import { clusterIdFaults } from "../../domain/cluster.ts";
import { type Collection, isDelivered, nouns } from "../../domain/nouns.ts";
import { Problem, refuse } from "../../domain/problem.ts";
import { type Scope, workerName } from "../../domain/scope.ts";
import { checkImmutable, checkRules, checkSchema, type Spec, withDefaults } from "../../domain/spec.ts";
import { tenantFaults } from "../../domain/tenants.ts";
import { statusAfterChange } from "../../domain/webhook.ts";
import { deliverSpec, deliverToUsersOf } from "../../store/deliveries.ts";
import { insertObject, type Stored, updateObject } from "../../store/objects.ts";
import { setReferences } from "../../store/references.ts";
import type { Writer } from "../../store/writer.ts";
import { checkSameAgent, checkSameProject, resolveAll, type Target } from "./references.ts";
import { checkKept, type Envelope, mayHaveCredentials, sealFor } from "./seal.ts";

/**
 * Stores a new or changed spec, as PUT and PATCH both do: check it alone, check it against what it refers to, seal its
 * credentials, store it with its event, and put it on its way to the agent. All in the writer's transaction.
 */
export async function save(
  w: Writer,
  collection: Collection,
  scope: Scope,
  id: string,
  existing: Stored | undefined,
  given: Spec,
): Promise<Stored> {
  const noun = nouns[collection];
  if (existing?.deletionRequestedAt)
    throw new Problem("being_deleted", "The object is being deleted by its agent. Wait until it is gone, then create it again.");
  const whole = withDefaults(noun, given);
  checkSchema(noun, whole);
  if (collection === "clusters") refuse(clusterIdFaults(id));
  checkRules(noun, whole, existing?.spec);
  const { credentials, sealedCredentials, ...spec } = whole;
  if (existing) checkImmutable(noun, existing.spec, spec);
  const targets = await resolveAll(w, noun, scope, spec);
  checkSameAgent(targets);
  checkSameProject(targets);
  const agent = targets.find((t) => t.pointer === "/spec/agent")?.object;
  if (agent) refuse(tenantFaults(collection, agent, scope, whole));
  const sealed =
    agent && mayHaveCredentials(collection)
      ? await sealFor(agent, scope, { collection, id, spec, credentials, sealed: sealedCredentials })
      : undefined;
  if (existing && !sealed && mayHaveCredentials(collection)) checkKept(collection, existing, spec);

  // New credentials are a change, though nothing of them is stored with the spec.
  if (existing && !sealed && canonical(existing.spec) === canonical(spec)) return existing;
  const saved = existing
    ? await updateObject(w, {
        ...existing,
        generation: existing.generation + 1,
        spec,
        status:
          collection === "webhooks" ? statusAfterChange(existing, spec, await clock(w)) : statusAfter(collection, existing.status, sealed),
      })
    : await insertObject(w, { ...scope, collection, id, spec, status: firstStatus(collection, sealed) });
  await setReferences(
    w,
    saved.uid,
    targets.map((t) => ({ pointer: t.pointer, toUid: t.object.uid })),
  );
  if (agent) await deliver(w, saved, agent, sealed, existing);
  return saved;
}

async function deliver(
  w: Writer,
  saved: Stored,
  agent: Target["object"],
  sealed: Envelope | undefined,
  before: Stored | undefined,
): Promise<void> {
  const { account, org, project, uid, id, collection } = saved;
  if (!isDelivered(collection)) return;
  await deliverSpec(w, { account, org, project, agentUid: agent.uid, uid, collection, id, name: workerName(agent, saved, id), sealed });
  // The address is what users of a repository or cluster are told of it.
  if (before && (before.spec.url !== saved.spec.url || before.spec.server !== saved.spec.server)) await deliverToUsersOf(w, uid);
}

const clock = async (w: Writer): Promise<Date> => (await w.query("select outpost_now() n"))[0]!.n;

const PENDING = { state: "Pending", reason: "NotDelivered", message: "The agent takes it when it connects next." } as const;

function firstStatus(collection: Collection, sealed: Envelope | undefined): Record<string, unknown> {
  if (collection === "agents") return { connected: false };
  if (collection === "delegates") return { connected: false, instances: [] };
  if (!isDelivered(collection)) return {};
  return { delivery: PENDING, ...(nouns[collection].credentials ? { credentials: sealed ? "Pending" : "None" } : {}) };
}

function statusAfter(collection: Collection, status: Record<string, unknown>, sealed: Envelope | undefined): Record<string, unknown> {
  if (!isDelivered(collection)) return status;
  return { ...status, delivery: PENDING, ...(sealed ? { credentials: "Pending" } : {}) };
}
