type Schema = Record<string, unknown>;

/** What a check of parameters does not need. */
const LEFT_OUT = new Set(["description", "default", "example", "x-sensitive"]);

/** The schemas of all task parameters with what they refer to, and nothing else of the contract: Terraform's provider carries them. */
export function paramSchemas(schemas: Readonly<Record<string, Schema>>): Record<string, Schema> {
  const out: Record<string, Schema> = {};
  const add = (name: string) => {
    if (out[name]) return;
    out[name] = {};
    out[name] = bare(schemas[name], add) as Schema;
  };
  for (const name of Object.keys(schemas).filter((one) => one.startsWith("TaskParams"))) add(name);
  return Object.fromEntries(Object.entries(out).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A schema without words for people. Below `properties` every name is a name of the user's. */
function bare(node: unknown, refers: (name: string) => void, names = false): unknown {
  if (Array.isArray(node)) return node.map((one) => bare(one, refers));
  if (typeof node !== "object" || node === null) return node;
  return Object.fromEntries(
    Object.entries(node)
      .filter(([name]) => names || !LEFT_OUT.has(name))
      .map(([name, one]) => {
        if (!names && name === "$ref") {
          const target = String(one).split("/").pop()!;
          refers(target);
          return [name, target];
        }
        return [name, bare(one, refers, !names && name === "properties")];
      }),
  );
}
