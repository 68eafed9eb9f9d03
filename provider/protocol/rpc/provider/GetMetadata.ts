import type { Handler } from "../rpc.ts";

/** What the provider has, without loading it. Only multiplexers ask. */
export const GetMetadata: Handler<"GetMetadata"> = ({ provider }) => ({
  server_capabilities: capabilities,
  resources: Object.keys(provider.resources).map((type_name) => ({ type_name })),
  data_sources: Object.keys(provider.dataSources).map((type_name) => ({ type_name })),
  ephemeral_resources: Object.keys(provider.ephemeralResources).map((type_name) => ({ type_name })),
  functions: Object.keys(provider.functions).map((name) => ({ name })),
});

/** Without `get_provider_schema_optional` Terraform asks every instance for the schema again. */
export const capabilities = { plan_destroy: true, get_provider_schema_optional: true };
