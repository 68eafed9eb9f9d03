import type { Schema } from "../../../schema/attribute.ts";
import { guardSchema } from "../../../schema/guard.ts";
import type { Message } from "../../messages.ts";
import type { Lazy } from "../../provider.ts";
import { toMessage } from "../../schema.ts";
import type { Handler } from "../rpc.ts";
import { functionsOf } from "./GetFunctions.ts";
import { capabilities } from "./GetMetadata.ts";

export const GetProviderSchema: Handler<"GetProviderSchema"> = async ({ provider }, _request, diagnostics) => {
  const all = async (
    parts: Readonly<Record<string, Lazy<{ schema: Schema }>>>,
  ): Promise<Map<string, Message<"Schema">>> => {
    const out = new Map<string, Message<"Schema">>();
    for (const [name, load] of Object.entries(parts)) {
      const { schema } = await load();
      guardSchema(name, schema, diagnostics);
      out.set(name, toMessage(schema));
    }
    return out;
  };
  guardSchema("provider", provider.schema, diagnostics);
  return {
    provider: toMessage(provider.schema),
    resource_schemas: await all(provider.resources),
    data_source_schemas: await all(provider.dataSources),
    ephemeral_resource_schemas: await all(provider.ephemeralResources),
    functions: await functionsOf(provider),
    server_capabilities: capabilities,
  };
};
