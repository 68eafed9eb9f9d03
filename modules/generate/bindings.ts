/** Writes typed CDKTF classes of our provider from its schema: one file for each resource, data source and ephemeral resource. */
import { type Attribute, type Block, camel, type ProviderSchema, pascal, type TypeExpression } from "./schema.ts";

type Kind = "provider" | "resource" | "data" | "ephemeral";
const BASES = {
  provider: "TerraformProvider",
  resource: "TerraformResource",
  data: "TerraformDataSource",
  ephemeral: "TerraformEphemeral",
};

const ALIAS = `  override get alias(): string | undefined {
    return this.values.alias;
  }

`;

/** File name → text. */
export function generateBindings(schema: ProviderSchema, source: string): Record<string, string> {
  const name = source.split("/").pop()!;
  const files: Record<string, string> = { "provider.ts": bindingFile("provider", name, source, schema.provider.block) };
  const add = (kind: Kind, prefix: string, blocks: Record<string, { block: Block }> = {}) => {
    for (const [type, { block }] of Object.entries(blocks)) {
      const short = type.slice(name.length + 1);
      files[`${prefix}${short.replaceAll("_", "-")}.ts`] = bindingFile(kind, short, source, block);
    }
  };
  add("resource", "", schema.resource_schemas);
  add("data", "data-", schema.data_source_schemas);
  add("ephemeral", "ephemeral-", schema.ephemeral_resource_schemas);
  const all = Object.keys(files).sort();
  files["index.ts"] = `${all.map((file) => `export * from "./${file}";`).join("\n")}\n`;
  return files;
}

/** Everything of one schema block: its configuration, nested types, references to its results, and the class. */
function bindingFile(kind: Kind, short: string, source: string, block: Block): string {
  const provider = source.split("/").pop()!;
  const type = kind === "provider" ? provider : `${provider}_${short}`;
  const className = {
    provider: `${pascal(provider)}Provider`,
    resource: pascal(short),
    data: `Data${pascal(short)}`,
    ephemeral: `Ephemeral${pascal(short)}`,
  }[kind];
  const attributes = withBlocks(block);
  const parts: string[] = [];
  const meta = {
    provider: "",
    resource: " extends TerraformMetaArguments",
    data: " extends TerraformMetaArguments",
    ephemeral: " extends EphemeralMetaArguments",
  }[kind];
  parts.push(...nestedTypes(className, attributes));
  parts.push(
    configInterface(
      `${className}Config`,
      attributes,
      meta,
      kind === "provider"
        ? ["  /** Names this configuration when there are several. */\n  readonly alias?: string;"]
        : [],
    ),
  );
  const fields = fieldsOf(className, attributes);
  parts.push(`const fields: Fields = {\n${fields.map((f) => `  ${f},\n`).join("")}};`);
  parts.push(classText(kind, className, type, source, block, attributes));
  const body = parts.join("\n\n");
  return `${imports(body)}\n${body}\n`;
}

function classText(
  kind: Kind,
  name: string,
  type: string,
  source: string,
  block: Block,
  attributes: Record<string, Attribute>,
): string {
  const doc = block.description ? `/** ${oneLine(block.description)} */\n` : "";
  const getters =
    kind === "provider"
      ? []
      : Object.entries(attributes)
          .map(([key, attribute]) => getter(name, key, attribute))
          .filter(Boolean);
  const generator = `{ providerName: "${source.split("/").pop()}" }`;
  const superCall = {
    provider: `super(scope, id, { terraformResourceType: "${type}", terraformGeneratorMetadata: ${generator}, terraformProviderSource: "${source}" });`,
    resource: `super(scope, id, { ...metaOf(config), terraformResourceType: "${type}", terraformGeneratorMetadata: ${generator} });`,
    data: `super(scope, id, { ...metaOf(config), terraformResourceType: "${type}", terraformGeneratorMetadata: ${generator} });`,
    ephemeral: `super(scope, id, "${type}", config);`,
  }[kind];
  const importer =
    kind === "resource"
      ? `
  /** Code for \`terraform import\`: \`importFrom\` is \`[org/[project/]]id\`. */
  static generateConfigForImport(scope: Construct, importToId: string, importFrom: string, provider?: TerraformProvider): ImportableResource {
    return new ImportableResource(scope, importToId, { terraformResourceType: "${type}", importId: importFrom, provider });
  }
`
      : "";
  return `${doc}export class ${name} extends ${BASES[kind]} {
  static readonly tfResourceType = "${type}";
${importer}
  constructor(
    scope: Construct,
    id: string,
    private readonly values: ${name}Config${Object.values(attributes).some((a) => a.required) ? "" : " = {}"},
  ) {
    ${superCall.replace(/\bconfig\b/g, "values")}
  }

${kind === "provider" ? ALIAS : ""}${getters.map((text) => `${text}\n\n`).join("")}  protected override synthesizeAttributes(): Record<string, unknown> {
    return toTerraform(this.values, fields);
  }
}`;
}

function getter(owner: string, key: string, attribute: Attribute): string {
  if (attribute.write_only) return "";
  const property = camel(key);
  const head = attribute.description ? `  /** ${oneLine(attribute.description)} */\n` : "";
  const [type, value] = outputOf(`${owner}${pascal(key)}`, key, attribute);
  return `${head}  get ${property}(): ${type} {\n    return ${value};\n  }`;
}

function outputOf(nested: string, key: string, attribute: Attribute): [type: string, value: string] {
  const mode = attribute.nested_type?.nesting_mode;
  if (mode === "single") return [`${nested}Reference`, `new ${nested}Reference(this, "${key}", false)`];
  if (mode === "list" || mode === "set")
    return [`${nested}List`, `new ${nested}List(this, "${key}", ${mode === "set"})`];
  if (mode === "map") return ["IResolvable", `this.interpolationForAttribute("${key}")`];
  switch (JSON.stringify(attribute.type)) {
    case '"string"':
      return ["string", `this.getStringAttribute("${key}")`];
    case '"number"':
      return ["number", `this.getNumberAttribute("${key}")`];
    case '"bool"':
      return ["IResolvable", `this.getBooleanAttribute("${key}")`];
    case '["list","string"]':
      return ["string[]", `Token.asList(this.interpolationForAttribute("${key}"))`];
    case '["set","string"]':
      return ["string[]", `Fn.tolist(Token.asList(this.interpolationForAttribute("${key}")))`];
    case '["map","string"]':
      return ["{ [key: string]: string }", `Token.asStringMap(this.interpolationForAttribute("${key}"))`];
    default:
      return ["IResolvable", `this.interpolationForAttribute("${key}")`];
  }
}

function nestedTypes(owner: string, attributes: Record<string, Attribute>): string[] {
  return Object.entries(attributes).flatMap(([key, attribute]) => {
    if (!attribute.nested_type) return [];
    const name = `${owner}${pascal(key)}`;
    const { attributes: inner, nesting_mode: mode } = attribute.nested_type;
    const parts = nestedTypes(name, inner);
    if (attribute.required || attribute.optional) {
      parts.push(configInterface(name, inner));
      parts.push(
        `const ${lower(name)}Fields: Fields = {\n${fieldsOf(name, inner)
          .map((f) => `  ${f},\n`)
          .join("")}};`,
      );
    }
    if (!attribute.write_only && mode !== "map") {
      const getters = Object.entries(inner)
        .map(([k, a]) => getter(name, k, a))
        .filter(Boolean);
      parts.push(
        `/** Results below \`${key}\`. */\nexport class ${name}Reference extends ComplexObject {\n${getters.join("\n\n")}\n}`,
      );
      if (mode !== "single") {
        const at = `return new ${name}Reference(this.terraformResource, this.terraformAttribute, this.wrapsSet, index);`;
        parts.push(
          `export class ${name}List extends ComplexList {\n  get(index: number): ${name}Reference {\n    ${at}\n  }\n}`,
        );
      }
    }
    return parts;
  });
}

function configInterface(
  name: string,
  attributes: Record<string, Attribute>,
  heritage = "",
  extra: string[] = [],
): string {
  const lines = Object.entries(attributes)
    .filter(([, a]) => a.required || a.optional)
    .map(
      ([key, a]) =>
        `${a.description ? `  /** ${oneLine(a.description)} */\n` : ""}  readonly ${camel(key)}${a.required ? "" : "?"}: ${inputType(`${name.replace(/Config$/, "")}${pascal(key)}`, a)};`,
    );
  return `export interface ${name}${heritage} {\n${[...lines, ...extra].join("\n")}\n}`;
}

function inputType(nested: string, attribute: Attribute): string {
  const mode = attribute.nested_type?.nesting_mode;
  if (mode === "single") return nested;
  if (mode === "map") return `{ [key: string]: ${nested} } | IResolvable`;
  if (mode) return `${nested}[] | IResolvable`;
  return scalarType(attribute.type ?? "dynamic");
}

function scalarType(type: TypeExpression): string {
  switch (JSON.stringify(type)) {
    case '"string"':
      return "string";
    case '"number"':
      return "number";
    case '"bool"':
      return "boolean | IResolvable";
    case '["list","string"]':
    case '["set","string"]':
      return "string[]";
    case '["map","string"]':
      return "{ [key: string]: string }";
    default:
      return "unknown";
  }
}

function fieldsOf(owner: string, attributes: Record<string, Attribute>): string[] {
  return Object.entries(attributes)
    .filter(([, a]) => a.required || a.optional)
    .map(([key, a]) => {
      const inner = a.nested_type
        ? `, fields: ${lower(`${owner}${pascal(key)}`)}Fields${a.nested_type.nesting_mode === "map" ? ", map: true" : ""}`
        : "";
      return `${camel(key)}: { name: "${key}"${inner} }`;
    });
}

/** Blocks are configured like nested attributes; in JSON they look the same. */
function withBlocks(block: Block): Record<string, Attribute> {
  const attributes = { ...block.attributes };
  for (const [name, { nesting_mode, block: inner }] of Object.entries(block.block_types ?? {})) {
    const mode = nesting_mode === "group" ? "single" : nesting_mode;
    attributes[name] = {
      nested_type: { nesting_mode: mode, attributes: withBlocks(inner) },
      optional: true,
      description: inner.description,
    };
  }
  return attributes;
}

function imports(body: string): string {
  const used = (name: string) => new RegExp(`\\b${name}\\b`).test(body);
  const line = (from: string, types: string[], values: string[] = []) => {
    const names = [...types.filter(used).map((n) => `type ${n}`), ...values.filter(used)];
    return names.length ? `import { ${names.join(", ")} } from "${from}";\n` : "";
  };
  const text =
    line(
      "cdktf",
      ["IResolvable", "TerraformMetaArguments"],
      [
        "ComplexList",
        "ComplexObject",
        "Fn",
        "ImportableResource",
        "TerraformDataSource",
        "TerraformProvider",
        "TerraformResource",
        "Token",
      ],
    ) +
    line("constructs", ["Construct"]) +
    line("../binding.ts", ["EphemeralMetaArguments", "Fields"], ["metaOf", "TerraformEphemeral", "toTerraform"]);
  return text.replace(
    /import \{ (type [^,}]+(?:, type [^,}]+)*) \}/g,
    (_, names: string) => `import type { ${names.replaceAll("type ", "")} }`,
  );
}

const lower = (name: string) => name[0]!.toLowerCase() + name.slice(1);
/** A comment must stay one and end where it ends. */
const oneLine = (text: string) => text.replace(/\s+/g, " ").replaceAll("*/", "* /").trim();
