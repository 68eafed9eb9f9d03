import { parentKey, repositoryKey } from "../../../base/repository-key.ts";
import type { Scope } from "../../domain/scope.ts";
import { scopeTerms } from "../../store/objects.ts";
import type { Sql } from "../../store/sql.ts";

/** Who must look again: agents by their uid, and which of the repositories somebody reads. */
export interface Affected {
  agents: string[];
  repositories: string[];
}

/** How deep a set's generators nest, with room: a template is a whole Application. */
const MAX_DEPTH = 16;

/**
 * The agents that read one of some repositories for an object of this scope or below: for an application, for a registered repository
 * (which an application that a set has made may read, and the service does not know those), or for a set.
 */
export async function affectedBy(sql: Sql, scope: Scope, urls: readonly string[]): Promise<Affected> {
  const keys = new Set<string>();
  for (const key of urls.map(repositoryKey)) {
    if (key === undefined) continue;
    keys.add(key);
    const parent = parentKey(key);
    if (parent) keys.add(parent);
  }
  const agents = new Set<string>();
  const repositories = new Set<string>();
  for (const { agent, url } of await addresses(sql, scope)) {
    const key = repositoryKey(url);
    if (key === undefined || !keys.has(key)) continue;
    agents.add(agent);
    repositories.add(key);
  }
  for (const { agent, spec } of await sets(sql, scope)) {
    const read = reads(spec, keys);
    if (read) agents.add(agent);
    if (typeof read === "string") repositories.add(read);
  }
  return { agents: [...agents], repositories: [...repositories] };
}

/** Distinct addresses with the agents that read them: few, however many applications there are. */
async function addresses(sql: Sql, scope: Scope): Promise<{ agent: string; url: string }[]> {
  const params: unknown[] = [scope.account];
  const where = scopeTerms(scope, true, (value) => `$${params.push(value)}`).map((term) => `and ${term}`);
  return sql.query(
    `with mine as (select uid, collection, spec from objects where account = $1 and collection in ('applications', 'repositories') ${where.join(" ")}),
       said as (
         select uid, spec->'source'->>'repoUrl' url from mine where collection = 'applications'
         union all select uid, one->>'repoUrl' from mine,
           jsonb_array_elements(case jsonb_typeof(spec->'sources') when 'array' then spec->'sources' else '[]'::jsonb end) one
         union all select uid, spec->>'url' from mine where collection = 'repositories'
         union all select mine.uid, o.spec->>'url' from mine
           join object_references r on r.account = $1 and r.from_uid = mine.uid and r.pointer like '/spec/source%/repository'
           join objects o on o.account = $1 and o.uid = r.to_uid)
     select distinct a.to_uid agent, said.url from said
     join object_references a on a.account = $1 and a.from_uid = said.uid and a.pointer = '/spec/agent'
     where said.url is not null`,
    params,
  );
}

async function sets(sql: Sql, scope: Scope): Promise<{ agent: string; spec: unknown }[]> {
  const params: unknown[] = [scope.account];
  const where = scopeTerms(scope, true, (value) => `$${params.push(value)}`).map((term) => `and ${term}`);
  return sql.query(
    `select a.to_uid agent, o.spec from objects o join object_references a on a.account = $1 and a.from_uid = o.uid and a.pointer = '/spec/agent'
     where o.account = $1 and o.collection = 'applicationsets' ${where.join(" ")}`,
    params,
  );
}

/**
 * The repository that a set reads; true when only its agent can know: an address may be a template, and what is asked of a Git host's
 * own interface has no address at all.
 */
function reads(value: unknown, keys: ReadonlySet<string>, depth = 0): string | boolean {
  if (value === null || typeof value !== "object" || depth > MAX_DEPTH) return false;
  let maybe = false;
  for (const [name, member] of Object.entries(value)) {
    if (name === "pullRequest" || name === "scmProvider") maybe = true;
    if (/^repoUrl$/i.test(name) && typeof member === "string") {
      const key = repositoryKey(member);
      if (key !== undefined && keys.has(key)) return key;
      if (member.includes("{{")) maybe = true;
      continue;
    }
    const found = reads(member, keys, depth + 1);
    if (typeof found === "string") return found;
    maybe ||= found;
  }
  return maybe;
}
