import type { Provider } from "../protocol/provider.ts";
import type { Attribute, Attributes, Schema } from "../schema/attribute.ts";
import { printType } from "../value/type.ts";

/** The JSON that `terraform providers schema -json` prints for a provider. */
export async function schemaJson(provider: Provider, source: string): Promise<object> {
  const all = async (parts: Readonly<Record<string, () => unknown>>): Promise<object | undefined> => {
    const entries: [string, object][] = [];
    for (const [name, load] of Object.entries(parts))
      entries.push([name, block(((await load()) as { schema: Schema }).schema)]);
    return entries.length > 0 ? sorted(Object.fromEntries(entries)) : undefined;
  };
  return {
    format_version: "1.0",
    provider_schemas: {
      [source]: {
        provider: block(provider.schema),
        resource_schemas: await all(provider.resources),
        data_source_schemas: await all(provider.dataSources),
        ephemeral_resource_schemas: await all(provider.ephemeralResources),
        functions: await functions(provider),
      },
    },
  };
}

function block({ version = 0, attributes, description }: Schema): object {
  return {
    version,
    block: {
      attributes: attributesJson(attributes),
      description,
      description_kind: description ? "markdown" : "plain",
    },
  };
}

function attributesJson(attributes: Attributes): object {
  return sorted(Object.fromEntries(Object.entries(attributes).map(([name, a]) => [name, attributeJson(a)])));
}

function attributeJson(a: Attribute): object {
  return {
    ...(a.attributes
      ? { nested_type: { attributes: attributesJson(a.attributes), nesting_mode: a.nesting } }
      : { type: a.type }),
    description: a.description,
    description_kind: "markdown",
    required: a.presence === "required" || undefined,
    optional: a.presence === "optional" || a.presence === "either" || undefined,
    computed: a.presence === "computed" || a.presence === "either" || undefined,
    sensitive: a.sensitive,
    write_only: a.writeOnly,
  };
}

async function functions(provider: Provider): Promise<object | undefined> {
  const entries = await Promise.all(
    Object.entries(provider.functions).map(async ([name, load]) => {
      const f = await load();
      const parameter = ({ name, type, description, nullable }: (typeof f.parameters)[number]) => ({
        name,
        description,
        is_nullable: nullable || undefined,
        type: printType(type),
      });
      return [
        name,
        {
          description: f.description,
          summary: f.summary,
          return_type: printType(f.returns),
          parameters: f.parameters.map(parameter),
          variadic_parameter: f.variadic && parameter(f.variadic),
        },
      ] as const;
    }),
  );
  return entries.length > 0 ? sorted(Object.fromEntries(entries)) : undefined;
}

const sorted = <T>(value: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
