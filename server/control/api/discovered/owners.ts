import type { Schemas } from "../../domain/nouns.ts";
import { contains } from "../../domain/scope.ts";
import type { Sql } from "../../store/database/sql.ts";
import { type Stored, tryFindByUid } from "../../store/objects/objects.ts";
import { tryFindOwner } from "../../store/objects/shown.ts";
import { homeOf } from "./place.ts";

/**
 * Adds the address of what makes them to generated objects. It is looked up when it is asked for: an owner may be found after what it makes, and
 * may move.
 */
export async function withOwners(sql: Sql, objects: Stored[]): Promise<Stored[]> {
  const known = new Map<string, Promise<Schemas["Owner"]>>();
  return Promise.all(
    objects.map(async (object) => {
      const owner = object.found?.owner;
      if (!object.found || !owner) return object;
      const { org, project, agentUid } = object;
      const key = JSON.stringify([
        org,
        project,
        agentUid,
        owner.kind,
        owner.namespace ?? object.found.live.namespace,
        owner.name,
      ]);
      if (!known.has(key)) known.set(key, ownerOf(sql, object, owner));
      return { ...object, found: { ...object.found, owner: await known.get(key)! } };
    }),
  );
}

/** An owner with its address, if the service has it and the caller may see it. */
export async function ownerOf(sql: Sql, object: Stored, owner: Schemas["Owner"]): Promise<Schemas["Owner"]> {
  const agent = object.agentUid === undefined ? undefined : await tryFindByUid(sql, object.account, object.agentUid);
  if (!agent) return owner;
  const collection = owner.kind === "applicationset" ? "applicationsets" : "applications";
  const key = { collection, name: owner.name, namespace: owner.namespace ?? object.found!.live.namespace } as const;
  const found = await tryFindOwner(sql, object.account, agent.uid, key, homeOf(agent));
  const at = found && { account: object.account, org: found.org, project: found.project };
  if (!at || !contains(object, at)) return owner;
  return { ...owner, address: [collection, at.org, at.project, found.id].filter(Boolean).join("/") };
}
