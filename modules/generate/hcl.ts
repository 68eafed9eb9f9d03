/** A synthesised stack (Terraform's JSON) as HCL files. The schema says what is a block; in JSON a block and an attribute look the same. */
import { type Entry, entries, expression } from "./expression.ts";
import type { Block } from "./schema.ts";

// biome-ignore lint/suspicious/noExplicitAny: Terraform's JSON has any shape, and the schema says which
type Json = Record<string, any>;
type Kind = "resource" | "data" | "ephemeral";

/** Finds the schema of a resource, data source or ephemeral resource. */
export type FindBlock = (kind: Kind, type: string) => Block;

/** What says which object it is comes first; the rest keeps its order. */
const IDENTITY = ["id", "name", "org", "project", "namespace", "chart"];
const rank = (key: string) => IDENTITY.indexOf(key) + 1 || IDENTITY.length + 1;

const FIRST = ["count", "for_each", "provider"];
const LAST = ["lifecycle", "depends_on"];
/** Kinds of top-level blocks that stacks have and modules do not: providers and the backend are the caller's. */
const DROPPED = ["//", "provider", "terraform"];

/** `main.tf`, `variables.tf` and `outputs.tf`. Comments are keyed by address, as `helm_release.agent`. */
export function writeModule(
  stack: Json,
  find: FindBlock,
  comments: Record<string, string> = {},
): Record<string, string> {
  const { variable = {}, output = {}, ...rest } = stack;
  const main: Part[] = [];
  for (const [kind, types] of Object.entries(rest)) {
    if (DROPPED.includes(kind)) continue;
    if (kind === "locals") main.push({ address: "local.", text: `locals {\n${attributes(types as Json, "  ")}}\n` });
    else if (kind === "resource" || kind === "data" || kind === "ephemeral")
      main.push(...resources(kind, types as Json, find, comments));
    else throw new Error(`modules have no \`${kind}\` blocks yet`);
  }
  return {
    "main.tf": inReadingOrder(main),
    "variables.tf": Object.entries(variable as Json)
      .map(([name, body]) => variableBlock(name, body))
      .join("\n"),
    "outputs.tf": Object.entries(output as Json)
      .map(([name, body]) => block(`output "${name}"`, body, {}, ""))
      .join("\n"),
  };
}

interface Part {
  address: string;
  text: string;
}

/** Each part after those that it refers to, otherwise in the order given. */
function inReadingOrder(parts: Part[]): string {
  const done: Part[] = [];
  const refersTo = (part: Part, other: Part) =>
    part !== other && new RegExp(`(?<![.\\w])${other.address.replaceAll(".", "\\.")}\\b`).test(part.text);
  const visit = (part: Part, above: Part[]) => {
    if (done.includes(part) || above.includes(part)) return;
    for (const other of parts) if (refersTo(part, other)) visit(other, [...above, part]);
    done.push(part);
  };
  for (const part of parts) visit(part, []);
  return done.map((part) => part.text).join("\n");
}

function resources(kind: Kind, types: Json, find: FindBlock, comments: Record<string, string>): Part[] {
  return Object.entries(types).flatMap(([type, named]) =>
    Object.entries(named as Json).map(([name, { "//": _, ...body }]) => {
      const address = `${kind === "resource" ? "" : `${kind}.`}${type}.${name}`;
      const comment = comments[address]
        ? `${comments[address]
            .split("\n")
            .map((line) => `# ${line}`)
            .join("\n")}\n`
        : "";
      return { address, text: `${comment}${block(`${kind} "${type}" "${name}"`, body, find(kind, type), "")}` };
    }),
  );
}

/** One block: arguments that Terraform itself reads first, then attributes, then blocks, then `lifecycle` and `depends_on`. */
function block(head: string, body: Json, schema: Block, indent: string): string {
  const inner = `${indent}  `;
  const isBlock = (key: string) => key === "lifecycle" || key in (schema.block_types ?? {});
  const keys = Object.keys(body).sort((a, b) => rank(a) - rank(b));
  const first = FIRST.filter((key) => key in body);
  const plain = keys.filter((key) => !isBlock(key) && !FIRST.includes(key) && !LAST.includes(key));
  const parts = [
    attributes(pick(body, first), inner),
    attributes(pick(body, plain), inner),
    ...keys
      .filter((key) => isBlock(key) && key !== "lifecycle")
      .flatMap((key) => asList(body[key]).map((one) => block(key, one, schema.block_types![key]!.block, inner))),
    ...(body.lifecycle ? [lifecycle(body.lifecycle, inner)] : []),
    "depends_on" in body ? dependsOn(body.depends_on, inner) : "",
  ];
  return `${indent}${head} {\n${parts.filter(Boolean).join("\n")}${indent}}\n`;
}

/** References, not strings. */
function dependsOn(references: string[], indent: string): string {
  return `${indent}depends_on = [${references.map((it) => it.replace(/^\$\{(.*)\}$/, "$1")).join(", ")}]\n`;
}

/** Its lists hold references, not strings. */
function lifecycle(body: Json, indent: string): string {
  const { precondition = [], postcondition = [], ...rest } = body;
  const bare = (value: unknown): string => (Array.isArray(value) ? `[${value.join(", ")}]` : String(value));
  const lines = entries(
    Object.entries(rest).map(([key, value]) => ({ key, value: bare(value) })),
    `${indent}  `,
  );
  const checks = [
    ...asList(precondition).map((one) => block("precondition", one, {}, `${indent}  `)),
    ...asList(postcondition).map((one) => block("postcondition", one, {}, `${indent}  `)),
  ];
  return `${indent}lifecycle {\n${[lines, ...checks].filter(Boolean).join("\n")}${indent}}\n`;
}

/** A variable's type is an expression, though JSON has it as text. */
function variableBlock(name: string, body: Json): string {
  const { validation = [], type, ...rest } = body;
  const order = ["description", "type", "default", "nullable", "sensitive", "ephemeral"];
  const all: Entry[] = order
    .filter((key) => key === "type" || key in rest)
    .map((key) => ({ key, value: key === "type" ? String(type ?? "string") : expression(rest[key], "  ") }));
  const checks = asList(validation).map((one) => block("validation", one, {}, "  "));
  return `variable "${name}" {\n${[entries(all, "  "), ...checks].join("\n")}}\n`;
}

function attributes(body: Json, indent: string): string {
  return entries(
    Object.entries(body).map(([key, value]) => ({ key, value: expression(value, indent) })),
    indent,
  );
}

const asList = (value: unknown): Json[] => (Array.isArray(value) ? value : [value]) as Json[];
const pick = (body: Json, keys: string[]): Json => Object.fromEntries(keys.map((key) => [key, body[key]]));
