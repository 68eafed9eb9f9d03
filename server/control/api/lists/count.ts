import { type Field, fieldNamed } from "../../domain/lists/fields.ts";
import { parseFilter } from "../../domain/lists/filter.ts";
import { Problem } from "../../domain/problem.ts";
import { countObjects } from "../../store/lists/counts.ts";
import { checkScopeExists } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";

/** Fields of one answer: with more of them nearly every object is a group of its own. */
const FIELDS = 4;

/** GET of how many objects a list would find. */
export const count =
  (s: Services): Handler<"countObjects"> =>
  async ({ params, query, scope }) => {
    const { by, filter, inherited = false } = query;
    const counting = { inherited, filter: parseFilter(filter), by: readBy(by) };
    await checkScopeExists(s.db, scope);
    return { status: 200, body: await countObjects(s.db, { collection: params.collection, scope }, counting) };
  };

function readBy(text: string | undefined): Map<string, Field> {
  const names = text === undefined ? [] : text.split(",").map((name) => name.trim());
  if (names.length > FIELDS) throw refused(`It has ${names.length} fields; the bound is ${FIELDS}.`);
  return new Map(
    names.map((name) => {
      const field = fieldNamed(name);
      // Only stored columns: counting reads every row.
      if (!field?.facet && field?.label === undefined)
        throw refused(`\`${name}\` is not a field to count by. Use \`health\` or \`labels.team\`, for example.`);
      return [name, field];
    }),
  );
}

const refused = (why: string): Problem => new Problem("invalid_request", why, { pointer: "/query/by" });
