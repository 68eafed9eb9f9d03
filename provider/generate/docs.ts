import type { ProviderFunction } from "../protocol/provider.ts";
import type { Attribute, Attributes, Schema } from "../schema/attribute.ts";
import { printType } from "../value/type.ts";

export interface Page {
  /** The page's title: `outpost_application (Resource)`. */
  readonly title: string;
  readonly category?: string;
  readonly schema: Schema;
  /** HCL that shows its use. */
  readonly example?: string | undefined;
  readonly importId?: string | undefined;
  /** A section of Markdown before the schema. */
  readonly notes?: string | undefined;
}

/** A page in the registry's layout, as tfplugindocs writes it. */
export function page({ title, category = "", schema, example, importId, notes }: Page): string {
  const name = title.split(" ")[0]!;
  const lines = [...head(title, category, schema.description ?? ""), `# ${title}`, "", schema.description ?? ""];
  if (example) lines.push("", "## Example Usage", "", "```terraform", example.trim(), "```");
  if (notes) lines.push("", notes);
  lines.push("", "## Schema", ...attributesText(schema.attributes, []));
  if (importId) lines.push("", "## Import", "", "```shell", `terraform import ${name}.example ${importId}`, "```");
  return `${lines.join("\n").trimEnd()}\n`;
}

/** The page of a function. */
export function functionPage(name: string, f: ProviderFunction, provider: string): string {
  const all = [...f.parameters, ...(f.variadic ? [f.variadic] : [])];
  const signature = `${name}(${f.parameters.map((p) => `${p.name} ${printType(p.type)}`).join(", ")}) ${JSON.stringify(printType(f.returns))}`;
  const text = [
    ...head(`${name} function - ${provider}`, "", f.summary),
    `# function: ${name}`,
    "",
    f.description,
    "",
    "## Signature",
    "",
    "```text",
    signature,
    "```",
    "",
    "## Arguments",
    "",
  ];
  return `${[...text, ...all.map((p, i) => `${i + 1}. \`${p.name}\` (${typeText(p.type.kind)}) ${p.description}`)].join("\n")}\n`;
}

function head(title: string, category: string, description: string): string[] {
  return [
    "---",
    `page_title: "${title}"`,
    `subcategory: "${category}"`,
    "description: |-",
    `  ${description.replaceAll("\n", "\n  ")}`,
    "---",
    "",
  ];
}

const sections: [title: string, has: (a: Attribute) => boolean][] = [
  ["Required", (a) => a.presence === "required"],
  ["Optional", (a) => a.presence === "optional" || a.presence === "either"],
  ["Read-Only", (a) => a.presence === "computed"],
];

function attributesText(attributes: Attributes, path: string[]): string[] {
  const out: string[] = [];
  const nested: [string, Attribute][] = [];
  for (const [title, has] of sections) {
    const found = Object.entries(attributes)
      .filter(([, a]) => has(a))
      .sort(([a], [b]) => (a < b ? -1 : 1));
    if (found.length === 0) continue;
    out.push("", path.length === 0 ? `### ${title}` : `${title}:`, "");
    for (const [name, a] of found) {
      const link = a.attributes ? ` (see [below for nested schema](#${anchor([...path, name])}))` : "";
      out.push(`- \`${name}\` (${traits(a)})${a.description ? ` ${a.description}` : ""}${link}`);
      if (a.attributes) nested.push([name, a]);
    }
  }
  for (const [name, a] of nested) {
    const here = [...path, name];
    out.push(
      "",
      `<a id="${anchor(here)}"></a>`,
      `### Nested Schema for \`${here.join(".")}\``,
      ...attributesText(a.attributes!, here),
    );
  }
  return out;
}

const anchor = (path: string[]): string => `nestedatt--${path.join("--")}`;
const collections: Record<string, string> = { list: "List", set: "Set", map: "Map" };

function traits(a: Attribute): string {
  const nested = a.nesting === "single" ? "Attributes" : `Attributes ${collections[a.nesting!]}`;
  const kind = a.attributes ? nested : typeText(a.type);
  return [kind, a.sensitive && "Sensitive", a.writeOnly && "Write-only", a.deprecated && "Deprecated"]
    .filter(Boolean)
    .join(", ");
}

function typeText(type: unknown): string {
  if (Array.isArray(type)) return `${collections[type[0] as string] ?? "Object"} of ${typeText(type[1])}`;
  if (type === "bool") return "Boolean";
  const text = String(type);
  return `${text[0]!.toUpperCase()}${text.slice(1)}`;
}
