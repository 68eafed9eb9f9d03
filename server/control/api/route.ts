import { type OperationId, type OperationRow, operations } from "../../../openapi/contract/operations.ts";
import { Problem } from "../domain/problem.ts";

export interface Route {
  operation: OperationId;
  row: OperationRow;
  /** Parts of the path by their names in the contract, decoded. */
  params: Record<string, string>;
}

interface Pattern {
  regexp: RegExp;
  byMethod: Map<string, Omit<Route, "params">>;
}

const patterns = compile();

function compile(): Pattern[] {
  const found = new Map<string, Pattern>();
  for (const [operation, row] of Object.entries(operations) as [OperationId, OperationRow][]) {
    const pattern = found.get(row.path) ?? {
      regexp: new RegExp(`^${row.path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
      byMethod: new Map(),
    };
    pattern.byMethod.set(row.method, { operation, row });
    found.set(row.path, pattern);
  }
  // A fixed path beats one with a parameter.
  return [...found.entries()].sort(([a], [b]) => Number(a.includes("{")) - Number(b.includes("{"))).map(([, p]) => p);
}

/**
 * The operation behind a request, before anything else is looked at.
 * @throws Problem when the path or its method is not in the contract.
 */
export function findRoute(method: string, url: string): Route {
  const [path = "", query = ""] = url.split("?", 2);
  try {
    decodeURIComponent(path);
  } catch {
    throw new Problem("invalid_request", "The path has a broken percent-encoding.");
  }
  // PostgreSQL's text cannot hold it, and no parameter needs it.
  if (/%00/.test(query)) throw new Problem("invalid_request", "A query parameter has a NUL in it.");
  const pattern = patterns.find((p) => p.regexp.test(path));
  if (!pattern)
    throw new Problem("not_found", "The service has no such path. /openapi.json describes those there are.");
  const found = pattern.byMethod.get(method);
  if (found)
    return {
      ...found,
      params: Object.fromEntries(
        Object.entries(pattern.regexp.exec(path)?.groups ?? {}).map(([name, part]) => [name, decodeURIComponent(part)]),
      ),
    };
  const allow = [...pattern.byMethod.keys()].sort().join(", ");
  throw new Problem("method_not_allowed", `The path supports ${allow}.`, { headers: { Allow: allow } });
}
