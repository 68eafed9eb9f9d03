import { parentKey, repositoryKey } from "../../../base/repository-key.ts";
import { keyOf, resolveReference, type Scope } from "../../domain/scope.ts";
import type { Sql } from "../../store/database/sql.ts";
import { scopeTerms, tryFindObject } from "../../store/objects/objects.ts";

/** Who must look again: agents by their uid, and which of the repositories are read at all. */
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
  const known = new Map<string, string | undefined>();
  for (const { org, project, agent, url } of await addresses(sql, scope)) {
    const key = repositoryKey(url);
    if (key === undefined || !keys.has(key)) continue;
    repositories.add(key);
    const at = resolveReference(agent, { account: scope.account, org, project });
    if (!at) continue;
    const name = keyOf(at.scope, at.id);
    if (!known.has(name)) known.set(name, (await tryFindObject(sql, "agents", at.scope, at.id))?.uid);
    const uid = known.get(name);
    if (uid !== undefined) agents.add(uid);
  }
  for (const { agent, spec } of await sets(sql, scope)) {
    const read = reads(spec, keys);
    if (read) agents.add(agent);
    if (typeof read === "string") repositories.add(read);
  }
  return { agents: [...agents], repositories: [...repositories] };
}

interface Said {
  org: string;
  project: string;
  /** As it is written in this scope. */
  agent: string;
  url: string;
}

/**
 * Distinct addresses with the agents that read them: few, however many applications there are. What stands for an address is looked up here: in a
 * join the store may take a way that is squared in the applications, and did, with 0.15 s for 1,000 of them.
 */
async function addresses(sql: Sql, scope: Scope): Promise<Said[]> {
  const params: unknown[] = [scope.account];
  const where = scopeTerms(scope, true, (value) => `$${params.push(value)}`).map((term) => `and ${term}`);
  const mine = (collection: string) => `account = $1 and collection = '${collection}' ${where.join(" ")}`;
  const rows = await sql.query<Said & { repository: string | null }>(
    `select org, project, spec->>'agent' agent, spec->'source'->>'repoUrl' url, spec->'source'->>'repository' repository
       from objects where ${mine("applications")} and spec ? 'source'
     union select org, project, spec->>'agent', one->>'repoUrl', one->>'repository'
       from objects, jsonb_array_elements(case jsonb_typeof(spec->'sources') when 'array' then spec->'sources' else '[]'::jsonb end) one
       where ${mine("applications")} and spec ? 'sources'
     union select org, project, spec->>'agent', spec->>'url', null from objects where ${mine("repositories")}`,
    params,
  );
  const registered = await sql.query(
    "select org, project, id, spec->>'url' url from objects where account = $1 and collection = 'repositories'",
    [scope.account],
  );
  const urls = new Map(
    registered.map(({ org, project, id, url }) => [keyOf({ org, project }, id), url as string | null]),
  );
  return rows.flatMap(({ repository, ...said }) => {
    const at =
      repository === null
        ? undefined
        : resolveReference(repository, { account: scope.account, org: said.org, project: said.project });
    const url = said.url ?? (at && urls.get(keyOf(at.scope, at.id)));
    return url && said.agent ? [{ ...said, url }] : [];
  });
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

/** A generator that may answer by anything; the plugin of an application's source has no ConfigMap. */
const isPlugin = (name: string, member: unknown): boolean =>
  name === "plugin" && typeof member === "object" && member !== null && "configMapRef" in member;

/**
 * The repository that a set reads; true when only its agent can know: an address may be a template, and what is asked of a Git host's
 * own interface, or of a plugin, has no address at all.
 */
function reads(value: unknown, keys: ReadonlySet<string>, depth = 0): string | boolean {
  if (value === null || typeof value !== "object" || depth > MAX_DEPTH) return false;
  let maybe = false;
  for (const [name, member] of Object.entries(value)) {
    if (name === "pullRequest" || name === "scmProvider" || isPlugin(name, member)) maybe = true;
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
