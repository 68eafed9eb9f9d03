import { type Failure, stop } from "../../base/outcome.ts";
import type { SecretReference } from "../../base/reference.ts";
import type { WorkerTask } from "../../link/exchange.ts";
import { SECRET } from "./source.ts";

export type Scope = NonNullable<WorkerTask["scope"]>;

/** For which scopes a source is, or each folder of it. An entry is `ORG`, `ORG/PROJECT` or `*`, every scope that the delegate serves. */
export type SourceScopes = { scopes: readonly string[] } | { paths: Readonly<Record<string, readonly string[]>> };

export const SCOPE_ENTRY = /^(\*|[A-Za-z0-9][-A-Za-z0-9_.]{0,127}(\/[A-Za-z0-9][-A-Za-z0-9_.]{0,127})?)$/;

/**
 * Whether a task of a scope may have a secret. Tasks of the delegate's own scope may have all. Tasks of a scope below may have what is
 * listed for their scope and nothing else. A path counts for the longest entry above it; a path of another spelling matches no entry, and
 * is refused.
 */
export class SecretScopes {
  readonly #sources: ReadonlyMap<string, SourceScopes>;
  /** Where the delegate itself is; known from its enrolment. */
  own: Scope | undefined;

  constructor(sources: ReadonlyMap<string, SourceScopes>, own?: Scope) {
    this.#sources = sources;
    this.own = own;
  }

  /** Undefined when it may. The scope must be that of the signed task. */
  refuses({ source, path }: SecretReference, scope: Scope | undefined): Failure | undefined {
    if (!scope || !this.own)
      return refused(
        "the service did not say which scope this task is of; update the service",
        "no secret is given without it",
      );
    if (!contains(this.own, scope))
      return refused(`the task is of ${nameOf(scope)}, which this delegate does not serve`);
    if (contains(scope, this.own)) return undefined;
    const listed = this.#sources.get(source);
    const scopes = listed ? scopesAt(listed, path) : [];
    if (scopes.some((entry) => entry === "*" || entry === scope.org || entry === `${scope.org}/${scope.project}`))
      return undefined;
    const owner = `this delegate belongs to ${nameOf(this.own)} and the task to ${nameOf(scope)}`;
    const wanted = scope.project ? `${scope.org}/${scope.project}` : `${scope.org}`;
    const place = source === "file" ? `sources.file.paths.${path.split("/")[0]}` : `sources.${source}`;
    return refused(owner, `its operator allows it in the delegate's configuration file: ${place}.scopes: [${wanted}]`);
  }

  /** Whether any source is open to scopes below the delegate's own. */
  get shared(): string[] {
    return [...this.#sources.keys()];
  }
}

const refused = (why: string, hint?: string): Failure =>
  stop(SECRET.scopeRefused, `the secret is not for this task: ${why}${hint ? `; ${hint}` : ""}`);

function scopesAt(listed: SourceScopes, path: string): readonly string[] {
  if ("scopes" in listed) return listed.scopes;
  const at = entryFor(path, Object.keys(listed.paths));
  return at === undefined ? [] : listed.paths[at]!;
}

/** The longest entry that is the path or a folder above it, name by name; one with a slash at its end is a folder alone. */
function entryFor(path: string, entries: readonly string[]): string | undefined {
  return entries
    .filter((entry) => path === entry || path.startsWith(entry.endsWith("/") ? entry : `${entry}/`))
    .sort((a, b) => b.length - a.length)[0];
}

function contains(outer: Scope, inner: Scope): boolean {
  if (outer.account !== inner.account) return false;
  if (outer.org && outer.org !== inner.org) return false;
  return !outer.project || outer.project === inner.project;
}

function nameOf({ org, project }: Scope): string {
  if (project) return `the project ${org}/${project}`;
  return org ? `the organization ${org}` : "the account";
}
