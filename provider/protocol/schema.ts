import type { Attribute, Attributes, Schema } from "../schema/attribute.ts";
import { printType, type Type } from "../value/type.ts";
import type { Message } from "./messages.ts";

const nestings = { single: 1, list: 2, set: 3, map: 4 } as const;
/** Descriptions are Markdown. */
const markdown = 1;

/** The type as the protocol carries it. */
export const typeBytes = (type: Type): Buffer => Buffer.from(JSON.stringify(printType(type)));

/** The schema as a protocol message. */
export function toMessage(schema: Schema): Message<"Schema"> {
  const { version = 0, description = "", deprecated = false } = schema;
  const block = {
    version,
    attributes: attributesOf(schema.attributes),
    description,
    description_kind: markdown,
    deprecated,
  };
  return { version, block };
}

function attributesOf(attributes: Attributes): Message<"Schema.Attribute">[] {
  return Object.entries(attributes).map(([name, a]) => attributeOf(name, a));
}

/**
 * Says of no attribute that it is deprecated: core leaves those out of the configuration that it generates for an import, and the next apply
 * would take their values away. `validate` warns instead.
 */
function attributeOf(name: string, a: Attribute): Message<"Schema.Attribute"> {
  const out: Message<"Schema.Attribute"> = {
    name,
    description: a.description ?? "",
    description_kind: markdown,
    required: a.presence === "required",
    optional: a.presence === "optional" || a.presence === "either",
    computed: a.presence === "computed" || a.presence === "either",
    sensitive: a.sensitive === true,
    write_only: a.writeOnly === true,
  };
  if (a.attributes)
    out.nested_type = { attributes: attributesOf(a.attributes), nesting: nestings[a.nesting ?? "single"] };
  else out.type = Buffer.from(JSON.stringify(a.type));
  return out;
}
