import { invalid, Problem } from "../../domain/problem.ts";
import type { Spec } from "../../domain/rules/spec.ts";
import { contains, isSame, type Scope } from "../../domain/scope.ts";
import type { Sql } from "../../store/database/sql.ts";
import { type Writer, writing } from "../../store/database/writer.ts";
import { type Stored, tryFindByUid } from "../../store/objects/objects.ts";
import { mappingsOf, scopeExists, shownAfter, shownIn } from "../../store/objects/shown.ts";
import { endRescope, type LiveKey, rescopesOf, type Sighting } from "../../store/objects/sightings.ts";
import type { Services } from "../services.ts";
import { moveTo, rescopeOne, scopesOf, TENANT } from "./place.ts";

// One transaction holds the account's lock.
const BATCH = 25;
// Reading what is shown takes no lock.
const READ = 500;
/** How long the answer to a change of a mapping waits for the objects to be in their new scopes; the sweeper does the rest. */
const WAIT_MS = 2_000;

/**
 * A mapping is in its agent's own scope: an organisation below must not draw objects of the agent to itself. It shows them in that scope or
 * below it.
 */
export async function checkMapping(sql: Sql, scope: Scope, spec: Spec, agent: Stored): Promise<void> {
  if (!isSame(agent, scope))
    throw invalid(
      "/spec/agent",
      "A mapping belongs to the scope of its agent: create it there, by someone who may write in that scope.",
    );
  const target = { account: scope.account, org: spec.targetOrg ?? scope.org, project: spec.targetProject ?? "" };
  if (!target.org)
    throw invalid(
      "/spec/targetOrg",
      "Name the organization to show the objects in. Without a mapping they are shown in the agent's scope.",
    );
  const pointer = spec.targetOrg === undefined ? "/spec/targetProject" : "/spec/targetOrg";
  if (!contains(scope, target))
    throw invalid(pointer, "The objects can be shown in the agent's scope and below it, not in another organization.");
  if (!(await scopeExists(sql, target)))
    throw new Problem(
      "reference_not_found",
      `There is no ${target.project ? `project \`${target.project}\` in organization` : "organization"} \`${target.org}\`. Create it first.`,
      { pointer: target.project ? "/spec/targetProject" : pointer },
    );
}

/** Refuses a second mapping of the same Argo project at one agent: only one of them could count. */
export async function checkOnlyMapping(
  sql: Sql,
  spec: Spec,
  agent: Stored,
  existing: Stored | undefined,
): Promise<void> {
  if (existing && existing.spec.agent === spec.agent && existing.spec.argoProject === spec.argoProject) return;
  const other = (await mappingsOf(sql, agent)).find(
    ({ id, argoProject }) => argoProject === spec.argoProject && id !== existing?.id,
  );
  if (!other) return;
  throw new Problem(
    "conflict",
    `The mapping \`${other.id}\` maps \`${other.argoProject}\` of this agent already. Change that one, or name another Argo project.`,
    { pointer: "/spec/argoProject" },
  );
}

/** Moves objects to where mappings, organizations, projects and sets say now, for as long as `until` allows. */
export async function rescope(s: Pick<Services, "db">, account: string, until = Date.now() + WAIT_MS): Promise<void> {
  for (const asked of await rescopesOf(s.db, account)) {
    const agent = await tryFindByUid(s.db, account, asked.agentUid);
    if (agent && !(await rescopeAgent(s, agent, until))) return;
    await endRescope(s.db, account, asked);
  }
}

async function rescopeAgent({ db }: Pick<Services, "db">, agent: Stored, until: number): Promise<boolean> {
  const scopes = await scopesOf(db, agent);
  let after: LiveKey | undefined;
  for (;;) {
    const seen = await shownAfter(db, agent, after, READ);
    if (seen.length === 0) return true;
    const misplaced: Sighting[] = [];
    for (const one of seen) {
      const annotations = one.mark === undefined ? undefined : { [TENANT]: one.mark };
      const scope = await scopes.of({ ...one, annotations });
      if (!isSame({ ...one, account: agent.account }, scope)) misplaced.push(one);
    }
    for (let at = 0; at < misplaced.length; at += BATCH) {
      if (Date.now() >= until) return false;
      await writing(db, agent.account, async (w) => {
        for (const sighting of misplaced.slice(at, at + BATCH)) await rescopeOne(w, agent, sighting);
      });
    }
    after = seen.at(-1);
  }
}

/** Objects shown in a deleted organisation or project are shown in their agent's own scope again. */
export async function leaveScope(w: Writer, org: string, project: string): Promise<void> {
  for (const uid of await shownIn(w, w.account, org, project)) {
    const object = await tryFindByUid(w, w.account, uid);
    const agent = object?.agentUid === undefined ? undefined : await tryFindByUid(w, w.account, object.agentUid);
    if (object && agent) await moveTo(w, object, agent, agent);
  }
}

/** Runs a handler that changes where objects belong, and then moves them. */
export const thenRescope =
  <C extends { scope: Scope }, R>(s: Services, handler: (call: C) => Promise<R>) =>
  async (call: C): Promise<R> => {
    const reply = await handler(call);
    await rescope(s, call.scope.account).catch((err: unknown) =>
      s.log.warn({ err }, "discovered objects could not be moved to their new scopes; the next sweep repeats it"),
    );
    return reply;
  };
