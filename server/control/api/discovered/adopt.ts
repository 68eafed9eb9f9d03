import { type DiscoveredCollection, isDelivered, isDiscovered, type Schemas } from "../../domain/nouns.ts";
import { invalid, Problem } from "../../domain/problem.ts";
import { contains, isSame, type Scope, workerName } from "../../domain/scope.ts";
import type { Sql } from "../../store/database/sql.ts";
import type { Writer } from "../../store/database/writer.ts";
import { type Stored, tryFindByUid } from "../../store/objects/objects.ts";
import { type Delivered, liveNameOf, tryFindTaken } from "../../store/objects/shown.ts";
import { type LiveKey, sightingsOf, textOf, tryFindShown } from "../../store/objects/sightings.ts";
import { ownerOf } from "./owners.ts";
import { homeOf, moveTo } from "./place.ts";

/** What a specification refers to. */
type Target = { readonly pointer: string; readonly object: Stored };

const TAKE_OVER = "Take it over (`adopt`), which keeps the live object and changes it to this specification";

/** Refuses a change of an object that the service does not manage, unless it is a take-over. */
export async function checkChange(sql: Sql, object: Stored, adopt: boolean): Promise<void> {
  if (object.origin === "managed") return;
  const owner = object.found?.owner;
  if (owner) throw ownedBy(await ownerOf(sql, object, owner));
  if (!adopt)
    throw new Problem(
      "not_adopted",
      `Agent and service only show this object: it was made in the cluster. ${TAKE_OVER}.`,
    );
}

/** Refuses to delete objects that the service does not manage: their owners delete them. */
export async function checkDeletion(sql: Sql, object: Stored): Promise<void> {
  if (object.origin === "managed") return;
  const owner = object.found?.owner;
  if (owner) throw ownedBy(await ownerOf(sql, object, owner));
  throw new Problem(
    "not_adopted",
    "The service did not make this object and does not delete it. Delete it in the cluster, or take it over first (`adopt`).",
  );
}

function ownedBy(owner: Schemas["Owner"]): Problem {
  const kind = owner.kind === "applicationset" ? "application set" : "application";
  const at = owner.address
    ? `\`${owner.address}\``
    : `\`${[owner.namespace, owner.name].filter(Boolean).join("/")}\` in the agent's cluster`;
  const where =
    owner.kind === "applicationset"
      ? "Change its template there"
      : "Change it where that application has it from, usually in Git";
  return new Problem("owned_by", `The ${kind} ${at} makes this object and would undo the change. ${where}.`);
}

/**
 * What a PUT finds under its id. A discovered object gives the plain id up to a new object that is not the same live one: an object of another
 * agent, or one that a creation (`If-None-Match: *`) asks for and that gets another name at the agent.
 */
export async function foundForPut(
  w: Writer,
  found: Stored | undefined,
  put: { scope: Scope; agent: Stored | undefined; creation: boolean; adopt: boolean },
): Promise<Stored | undefined> {
  if (!found || found.origin === "managed") return found;
  const { agent, scope, creation, adopt } = put;
  const { live } = found.found!;
  const collection = found.collection as DiscoveredCollection;
  const another = agent !== undefined && agent.uid !== found.agentUid;
  const elsewhere =
    creation &&
    found.id === live.name &&
    agent !== undefined &&
    liveNameOf(collection, workerName(agent, scope, found.id)) !== live.name;
  if (!adopt && (another || elsewhere)) {
    const finder = await tryFindByUid(w, w.account, found.agentUid!);
    if (finder) await moveTo(w, found, finder, found, true);
    return undefined;
  }
  await checkChange(w, found, adopt);
  return found;
}

/** Refuses a take-over that would change more than the specification says. */
export async function checkAdoption(
  sql: Sql,
  object: Stored,
  agent: Stored | undefined,
  targets: readonly Target[],
): Promise<void> {
  const { live, inexpressible = [] } = object.found!;
  if (!agent || agent.uid !== object.agentUid)
    throw invalid(
      "/spec/agent",
      "The object is in another agent's cluster. Name the agent that it shows, and move it afterwards.",
    );
  if (inexpressible.length > 0)
    throw new Problem(
      "conflict",
      `A take-over would lose fields of the live object that a specification cannot express: ${inexpressible.join(", ")}. Remove them from the live object first, or leave it as it is.`,
    );
  await checkTakenBelow(sql, object, agent);
  if (object.collection === "applications") checkDestination(live.destination, targets);
}

/** Objects that others depend on. Clusters and repositories go on with the credentials they were registered with. */
const SHARED: Partial<Record<string, string>> = {
  appprojects: "app project",
  clusters: "cluster",
  repositories: "repository",
};

/**
 * A mapping shows these also to those who are only under them. If one of these took such an object over, they would write the rules for
 * themselves and for all others, or take it away from these. What bears the mark of this very scope was the scope's own before.
 */
async function checkTakenBelow(sql: Sql, object: Stored, agent: Stored): Promise<void> {
  const what = SHARED[object.collection];
  if (!what || isSame(agent, object)) return;
  const { namespace, name } = object.found!.live;
  const key = { collection: object.collection, namespace, name } as LiveKey;
  const sighting = (await sightingsOf(sql, object.account, agent.uid, [key])).get(textOf(key));
  if (sighting?.tenant === `${object.org}/${object.project || "-"}`) return;
  throw new Problem(
    "conflict",
    `This ${what} belongs to the agent's scope, and others may be using it: it is taken over only there. Without the mapping that shows it here, an administrator finds it in the agent's scope. For this scope alone, make a new one.`,
  );
}

/** An application must keep its destination cluster. */
function checkDestination(destination: Schemas["LiveDestination"] | undefined, targets: readonly Target[]): void {
  const cluster = targets.find((t) => t.pointer === "/spec/destination/cluster")?.object;
  const { server, name } = destination ?? {};
  const home = (!server && !name) || server === "https://kubernetes.default.svc" || name === "in-cluster";
  const same = home
    ? !cluster
    : cluster !== undefined &&
      (cluster.spec.server === server || [cluster.id, cluster.found?.live.displayName].includes(name));
  if (same) return;
  throw invalid(
    "/spec/destination/cluster",
    home
      ? "The live application deploys to the agent's own cluster: leave out `cluster`. Change it after the take-over."
      : `The live application deploys to the cluster \`${server ?? name}\`: name the registered cluster with that ${server ? "address" : "name"}. Register or take it over first.`,
  );
}

/** Refuses a new object whose live object exists already and shows as another one: there must never be two that write it. */
export async function checkPlace(
  sql: Sql,
  agent: Stored,
  { collection, scope, id, uid }: { collection: string; scope: Scope; id: string; uid: string | undefined },
): Promise<void> {
  if (!isDiscovered(collection) || !isDelivered(collection)) return;
  const key = { collection, namespace: homeOf(agent), name: liveNameOf(collection, workerName(agent, scope, id)) };
  const shown = await tryFindShown(sql, agent.account, agent.uid, key);
  if (shown && shown.uid !== uid)
    throw new Problem(
      "not_adopted",
      `The agent's cluster has \`${key.name}\` already, shown here as ${addressOf(collection, shown, scope)}. Take that one over (\`adopt\`), or choose another id.`,
    );
  const taken = await tryFindTaken(sql, agent.account, agent.uid, key, uid);
  if (taken)
    throw new Problem(
      "conflict",
      `The agent's cluster has \`${key.name}\` already: ${addressOf(collection, taken, scope)} manages it. Choose another id.`,
    );
}

/** The address of an object, for those who may see it. */
function addressOf(collection: string, at: Omit<Delivered, "uid">, scope: Scope): string {
  const place = { account: scope.account, org: at.org, project: at.project };
  if (!contains(scope, place) && !isSame(scope, place)) return "an object of another scope";
  return `\`${[collection, at.org, at.project, at.id].filter(Boolean).join("/")}\``;
}
