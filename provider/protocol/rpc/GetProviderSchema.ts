import type { Schema } from "../../schema/attribute.ts";
import { guardSchema } from "../../schema/guard.ts";
import type { Message } from "../messages.ts";
import type { Lazy } from "../provider.ts";
import { toMessage } from "../schema.ts";
import { functionsOf } from "./GetFunctions.ts";
import { capabilities } from "./GetMetadata.ts";
import type { Handler } from "./rpc.ts";

export const GetProviderSchema: Handler<"GetProviderSchema"> = async ({ provider }, _request, diagnostics) => {
  const all = async (parts: Readonly<Record<string, Lazy<{ schema: Schema }>>>): Promise<Map<string, Message<"Schema">>> => {
    const loaded = await Promise.all(Object.entries(parts).map(async ([name, load]) => [name, (await load()).schema] as const));
    for (const [name, schema] of loaded) guardSchema(name, schema, diagnostics);
    return new Map(loaded.map(([name, schema]) => [name, toMessage(schema)]));
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
