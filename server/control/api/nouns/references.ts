import { didYouMean } from "../../../../openapi/rules/suggest.ts";
import { type Collection, type Noun, nouns } from "../../domain/nouns.ts";
import { invalid, Problem } from "../../domain/problem.ts";
import { referencesIn, type Spec } from "../../domain/rules/spec.ts";
import { resolveReference, type Scope } from "../../domain/scope.ts";
import type { Sql } from "../../store/database/sql.ts";
import { type Stored, tryFindByUid, tryFindObject } from "../../store/objects/objects.ts";

export interface ReferenceTarget {
  pointer: string;
  object: Stored;
  /** For objects that are delivered themselves: the agent they are registered with. */
  agentUid: string | undefined;
  /** The project whose applications alone may use it. */
  projectUid: string | undefined;
}

/** Finds everything a spec refers to. Missing objects and objects out of reach are refused with the same words. */
export async function resolveAll(sql: Sql, noun: Noun, scope: Scope, spec: Spec): Promise<ReferenceTarget[]> {
  const targets: ReferenceTarget[] = [];
  for (const { pointer, reference, to } of referencesIn(noun, spec)) {
    const place = resolveReference(reference, scope);
    const object = place && (await tryFindObject(sql, to, place.scope, place.id));
    if (object && object.origin !== "managed")
      throw new Problem(
        "reference_not_found",
        `\`${reference}\` was found in the cluster, and the service does not manage it: take it over first (\`adopt\`), or name another one.`,
        { pointer },
      );
    if (!object || object.deletionRequestedAt)
      throw new Problem(
        "reference_not_found",
        `There is no ${to.replace(/ies$/, "y").replace(/s$/, "")} \`${reference}\` to refer to from this scope.${await near(sql, to, scope, reference)} Use \`id\` for the same scope, \`org.id\` or \`account.id\` for a scope above.`,
        { pointer },
      );
    const [agentUid, projectUid] = [
      await referenceOf(sql, object, "agent"),
      await referenceOf(sql, object, "appProject"),
    ];
    targets.push({ pointer, object, agentUid, projectUid });
  }
  return targets;
}

/** With more objects than this in a scope, a misspelt id is not compared with them. */
const MOST_IDS = 1_000;

/** The id of the same scope that was probably meant. Those of other scopes are not told: the caller may not see them. */
async function near(sql: Sql, to: Collection, scope: Scope, reference: string): Promise<string> {
  if (reference.includes(".")) return "";
  const rows = await sql.query(
    "select id from objects where account = $1 and collection = $2 and org = $3 and project = $4 and origin = 'managed' order by id limit $5",
    [scope.account, to, scope.org, scope.project, MOST_IDS],
  );
  return didYouMean(
    reference,
    rows.map(({ id }) => String(id)),
  );
}

async function referenceOf(sql: Sql, object: Stored, field: "agent" | "appProject"): Promise<string | undefined> {
  if (!nouns[object.collection].references.some((r) => r.path[0] === field)) return undefined;
  const [row] = await sql.query(
    "select to_uid from object_references where account = $1 and from_uid = $2 and pointer = $3",
    [object.account, object.uid, `/spec/${field}`],
  );
  return row?.to_uid;
}

/** A repository or cluster is known only to the agent it is registered with: another agent's application cannot use it. */
export function checkSameAgent(targets: readonly ReferenceTarget[]): void {
  const agent = targets.find((t) => t.pointer === "/spec/agent")?.object;
  for (const { pointer, agentUid, object } of targets) {
    if (agent && agentUid !== undefined && agentUid !== agent.uid)
      throw invalid(
        pointer,
        `\`${object.id}\` is registered with another agent than this object. Register it with agent \`${agent.id}\` too, under another id.`,
      );
  }
}

/** What belongs to a project is for its applications alone; the agent would refuse the others later, and with less to say. */
export function checkSameProject(targets: readonly ReferenceTarget[]): void {
  const own = targets.find((t) => t.pointer === "/spec/appProject")?.object;
  for (const { pointer, projectUid, object } of targets)
    if (projectUid !== undefined && projectUid !== own?.uid)
      throw invalid(
        pointer,
        `\`${object.id}\` belongs to an app project, whose applications alone may use it. Set \`appProject\` to that project, or use another one.`,
      );
}

/** The agent that a specification names, if it can be found. */
export async function tryFindAgent(sql: Sql, scope: Scope, { agent }: Spec): Promise<Stored | undefined> {
  const place = typeof agent === "string" ? resolveReference(agent, scope) : undefined;
  return place && tryFindObject(sql, "agents", place.scope, place.id);
}

/** The agent that a delivered object is registered with, or that found it. */
export async function findAgentOf(sql: Sql, object: Stored): Promise<Stored | undefined> {
  const uid = object.agentUid ?? (await referenceOf(sql, object, "agent"));
  return uid === undefined ? undefined : tryFindByUid(sql, object.account, uid);
}
