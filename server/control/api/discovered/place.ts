import { randomUUID } from "node:crypto";
import { canonical } from "../../../base/json/canonical.ts";
import { type DiscoveredReport, idsFor, mappingFor, referenceTo } from "../../domain/discover.ts";
import { contains, isSame, type Scope } from "../../domain/scope.ts";
import type { Sql } from "../../store/database/sql.ts";
import type { Writer } from "../../store/database/writer.ts";
import {
  relocateObject,
  removeObject,
  type Stored,
  tryFindByUid,
  tryFindObject,
  updateObject,
} from "../../store/objects/objects.ts";
import { type Delivered, mappingsOf, scopeExists, tryFindDelivered } from "../../store/objects/shown.ts";
import { dropSighting, type Sighting, textOf } from "../../store/objects/sightings.ts";
import { moveDeployments } from "../../store/services/record.ts";

/** The namespace in which an agent keeps what it is given. */
export const homeOf = (agent: Stored): string => agent.spec.namespace ?? "outpost-agent";

export async function removeShown(w: Writer, object: Stored): Promise<void> {
  await dropSighting(w, object.uid);
  await removeObject(w, object);
}

export const placeIn = ({ account, org, project }: Scope): Scope => ({ account, org, project });

/** The first id of a list that no object has. Managed objects are never asked to give one up. */
export async function freeId(
  w: Writer,
  scope: Scope,
  { collection }: Pick<DiscoveredReport, "collection">,
  ids: readonly string[],
): Promise<string> {
  for (const id of ids) if (!(await tryFindObject(w, collection, scope, id))) return id;
  // Only a person who gives all of these ids to other objects gets here.
  return randomUUID();
}

/** Shows a discovered object in another scope, or under another id of the same scope where `aside` says that the plain one is needed. */
export async function moveTo(w: Writer, object: Stored, agent: Stored, scope: Scope, aside = false): Promise<Stored> {
  const { namespace, name } = object.found!.live;
  const key = { collection: object.collection as DiscoveredReport["collection"], namespace, name };
  const ids = idsFor(key, agent.uid, homeOf(agent)).filter((id) => !aside || id !== object.id);
  const id = await freeId(w, scope, key, ids);
  const moved = await relocateObject(w, object, { org: scope.org, project: scope.project, id });
  await moveDeployments(w, object, moved);
  const spec = { ...moved.spec, agent: referenceTo(agent, scope) };
  return canonical(spec) === canonical(moved.spec) ? moved : updateObject(w, { ...moved, spec });
}

export interface Scopes {
  /** The scope that a report's object belongs to. */
  of(report: Pick<DiscoveredReport, "owner" | "tenant" | "argoProject" | "namespace" | "annotations">): Promise<Scope>;
}

/** The tenant mark of an object, as the agent writes it. Outside its own namespace others write there too, and no agent reports it as `tenant`. */
export const TENANT = "outpost.dev/tenant";

const scopeIn = (account: string, mark: string): Scope => {
  const [org = "", project = ""] = mark.split("/");
  return { account, org, project: project === "-" ? "" : project };
};

/**
 * Where a discovered object is shown: in the scope of its tenant mark, else in that of the managed set that makes it, else where its Argo
 * project is mapped to, unless that is another tenant's scope, else in the agent's own. All lie in the agent's scope and exist.
 */
export async function scopesOf(sql: Sql, agent: Stored): Promise<Scopes> {
  const mappings = await mappingsOf(sql, agent);
  const exists = new Map<string, boolean>();
  const usable = async (scope: Scope): Promise<boolean> => {
    if (!contains(agent, scope)) return false;
    const key = `${scope.org}/${scope.project}`;
    const known = exists.get(key) ?? (await scopeExists(sql, scope));
    exists.set(key, known);
    return known;
  };
  const { account } = agent;
  // A set makes hundreds of applications.
  const sets = new Map<string, Promise<Delivered | undefined>>();
  const managedSet = (namespace: string, name: string) => {
    const key = { collection: "applicationsets", namespace, name } as const;
    const found = sets.get(textOf(key)) ?? tryFindDelivered(sql, account, agent.uid, key, homeOf(agent));
    sets.set(textOf(key), found);
    return found;
  };
  return {
    async of({ owner, tenant, argoProject, namespace, annotations }) {
      const set =
        owner?.kind === "applicationset" ? await managedSet(owner.namespace ?? namespace, owner.name) : undefined;
      const mapping = mappingFor(mappings, argoProject);
      const mapped = mapping && { account, org: mapping.org, project: mapping.project };
      // A tenant may name any Argo project, and so the scope of others: the mark keeps the object out of theirs, and brings it into none.
      const mark = tenant || annotations?.[TENANT];
      const marked = mark ? scopeIn(account, mark) : undefined;
      const isKeptOut = marked && mapped && !contains(marked, mapped) && !contains(mapped, marked);
      const choices = [
        ...(tenant ? [scopeIn(account, tenant)] : []),
        ...(set ? [{ account, org: set.org, project: set.project }] : []),
        ...(mapped && !isKeptOut ? [mapped] : []),
      ];
      for (const scope of choices) if (await usable(scope)) return scope;
      return placeIn(agent);
    },
  };
}

/** Looks again where an object of an agent belongs, and moves it there. */
export async function rescopeOne(w: Writer, agent: Stored, sighting: Sighting): Promise<void> {
  const object = await tryFindByUid(w, w.account, sighting.uid);
  if (!object?.found) return;
  const { owner, live } = object.found;
  const { tenant, argoProject, namespace } = sighting;
  const report = { owner, tenant, argoProject, namespace, annotations: live.annotations };
  const scope = await (await scopesOf(w, agent)).of(report);
  if (!isSame(object, scope)) await moveTo(w, object, agent, scope);
}
