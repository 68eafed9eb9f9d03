type Json = Record<string, any>;

/**
 * Optional objects, maps and lists of what users write that may be empty and do not say whether that means something else than leaving
 * them out. Each must say so by `x-empty-counts`: an undecided one is how "auto-sync with the defaults" and "no auto-sync" became the
 * same thing.
 */
export function undecidedEmptiness(schemas: Json): string[] {
  const out: string[] = [];
  const roots = Object.keys(schemas).filter((name) => name.endsWith("Spec") && schemas[`${name.slice(0, -4)}Put`]);
  for (const name of [...roots, "TaskRequest"]) visit(schemas, schemas[name] ?? {}, name, out);
  return out;
}

function visit(schemas: Json, given: Json, path: string, out: string[]): void {
  const schema = resolve(schemas, given);
  for (const [name, property] of Object.entries<Json>(schema.properties ?? {})) {
    const whole = resolve(schemas, property);
    const at = `${path}.${name}`;
    // Credentials are never shown, and sealed ones are the client's own.
    if (whole.writeOnly || whole["x-internal"]) continue;
    const optional = !schema.required?.includes(name);
    if (optional && mayBeEmpty(whole) && typeof whole["x-empty-counts"] !== "boolean") out.push(at);
    visit(schemas, whole, at, out);
  }
  if (schema.items) visit(schemas, schema.items, `${path}[]`, out);
  if (typeof schema.additionalProperties === "object") visit(schemas, schema.additionalProperties, `${path}.*`, out);
}

const mayBeEmpty = (schema: Json): boolean =>
  (schema.type === "array" && !schema.minItems) ||
  (schema.type === "object" && !schema.minProperties && !schema.required?.length);

function resolve(schemas: Json, schema: Json): Json {
  if (typeof schema.$ref !== "string") return schema;
  const { $ref, ...beside } = schema;
  return { ...resolve(schemas, schemas[$ref.split("/").pop()!] ?? {}), ...beside };
}
