/**
 * The messages of protocol 6.10: field name → [number, kind, how often]. The names are the protocol's own.
 * A kind is a scalar or the name of another message. Fields of features that we do not serve are left out: both sides skip them.
 */
export type Scalar = "string" | "bytes" | "bool" | "int64" | "enum";
export type Often = "many" | "map" | "optional";
export type FieldSpec = readonly [number: number, kind: string, often?: Often];

const diagnostics = (number: number) => [number, "Diagnostic", "many"] as const;
const value = (number: number) => [number, "DynamicValue"] as const;
const type_name = [1, "string"] as const;
const named = { type_name } as const;
const validate = { ...named, config: value(2) } as const;
const onlyDiagnostics = { diagnostics: diagnostics(1) } as const;
const empty = {} as const;
const client = (number: number) => [number, "ClientCapabilities"] as const;

export const messages = {
  DynamicValue: { msgpack: [1, "bytes"], json: [2, "bytes"] },
  Diagnostic: { severity: [1, "enum"], summary: [2, "string"], detail: [3, "string"], attribute: [4, "AttributePath"] },
  FunctionError: { text: [1, "string"], function_argument: [2, "int64", "optional"] },
  AttributePath: { steps: [1, "AttributePath.Step", "many"] },
  "AttributePath.Step": {
    attribute_name: [1, "string", "optional"],
    element_key_string: [2, "string", "optional"],
    element_key_int: [3, "int64", "optional"],
  },
  RawState: { json: [1, "bytes"] },
  Timestamp: { seconds: [1, "int64"], nanos: [2, "int64"] },
  Schema: { version: [1, "int64"], block: [2, "Schema.Block"] },
  "Schema.Block": {
    version: [1, "int64"],
    attributes: [2, "Schema.Attribute", "many"],
    description: [4, "string"],
    description_kind: [5, "enum"],
    deprecated: [6, "bool"],
  },
  "Schema.Attribute": {
    name: [1, "string"],
    type: [2, "bytes"],
    nested_type: [10, "Schema.Object"],
    description: [3, "string"],
    required: [4, "bool"],
    optional: [5, "bool"],
    computed: [6, "bool"],
    sensitive: [7, "bool"],
    description_kind: [8, "enum"],
    deprecated: [9, "bool"],
    write_only: [11, "bool"],
  },
  "Schema.Object": { attributes: [1, "Schema.Attribute", "many"], nesting: [3, "enum"] },
  Function: {
    parameters: [1, "Function.Parameter", "many"],
    variadic_parameter: [2, "Function.Parameter"],
    return: [3, "Function.Return"],
    summary: [4, "string"],
    description: [5, "string"],
    description_kind: [6, "enum"],
  },
  "Function.Parameter": {
    name: [1, "string"],
    type: [2, "bytes"],
    allow_null_value: [3, "bool"],
    allow_unknown_values: [4, "bool"],
    description: [5, "string"],
    description_kind: [6, "enum"],
  },
  "Function.Return": { type: [1, "bytes"] },
  ServerCapabilities: {
    plan_destroy: [1, "bool"],
    get_provider_schema_optional: [2, "bool"],
    move_resource_state: [3, "bool"],
  },
  ClientCapabilities: { deferral_allowed: [1, "bool"], write_only_attributes_allowed: [2, "bool"] },
  TypeName: { type_name: [1, "string"] },
  FunctionName: { name: [1, "string"] },

  "GetMetadata.Request": empty,
  "GetMetadata.Response": {
    server_capabilities: [1, "ServerCapabilities"],
    diagnostics: diagnostics(2),
    data_sources: [3, "TypeName", "many"],
    resources: [4, "TypeName", "many"],
    functions: [5, "FunctionName", "many"],
    ephemeral_resources: [6, "TypeName", "many"],
  },
  "GetProviderSchema.Request": empty,
  "GetProviderSchema.Response": {
    provider: [1, "Schema"],
    resource_schemas: [2, "Schema", "map"],
    data_source_schemas: [3, "Schema", "map"],
    functions: [7, "Function", "map"],
    ephemeral_resource_schemas: [8, "Schema", "map"],
    diagnostics: diagnostics(4),
    server_capabilities: [6, "ServerCapabilities"],
  },
  "GetFunctions.Request": empty,
  "GetFunctions.Response": { functions: [1, "Function", "map"], diagnostics: diagnostics(2) },
  "GetResourceIdentitySchemas.Request": empty,
  "GetResourceIdentitySchemas.Response": { diagnostics: diagnostics(2) },
  "ValidateProviderConfig.Request": { config: value(1) },
  "ValidateProviderConfig.Response": { diagnostics: diagnostics(2) },
  "ValidateResourceConfig.Request": { ...validate, client_capabilities: client(3) },
  "ValidateResourceConfig.Response": onlyDiagnostics,
  "ValidateDataResourceConfig.Request": validate,
  "ValidateDataResourceConfig.Response": onlyDiagnostics,
  "ValidateEphemeralResourceConfig.Request": validate,
  "ValidateEphemeralResourceConfig.Response": onlyDiagnostics,
  "UpgradeResourceState.Request": { ...named, version: [2, "int64"], raw_state: [3, "RawState"] },
  "UpgradeResourceState.Response": { upgraded_state: value(1), diagnostics: diagnostics(2) },
  "ConfigureProvider.Request": { terraform_version: [1, "string"], config: value(2), client_capabilities: client(3) },
  "ConfigureProvider.Response": onlyDiagnostics,
  "ReadResource.Request": { ...named, current_state: value(2), private: [3, "bytes"], client_capabilities: client(5) },
  "ReadResource.Response": { new_state: value(1), diagnostics: diagnostics(2), private: [3, "bytes"] },
  "PlanResourceChange.Request": {
    ...named,
    prior_state: value(2),
    proposed_new_state: value(3),
    config: value(4),
    prior_private: [5, "bytes"],
    client_capabilities: client(7),
  },
  "PlanResourceChange.Response": {
    planned_state: value(1),
    requires_replace: [2, "AttributePath", "many"],
    planned_private: [3, "bytes"],
    diagnostics: diagnostics(4),
  },
  "ApplyResourceChange.Request": {
    ...named,
    prior_state: value(2),
    planned_state: value(3),
    config: value(4),
    planned_private: [5, "bytes"],
  },
  "ApplyResourceChange.Response": { new_state: value(1), private: [2, "bytes"], diagnostics: diagnostics(3) },
  "ImportResourceState.Request": { ...named, id: [2, "string"] },
  "ImportResourceState.ImportedResource": { ...named, state: value(2), private: [3, "bytes"] },
  "ImportResourceState.Response": {
    imported_resources: [1, "ImportResourceState.ImportedResource", "many"],
    diagnostics: diagnostics(2),
  },
  "MoveResourceState.Request": {
    source_provider_address: [1, "string"],
    source_type_name: [2, "string"],
    target_type_name: [5, "string"],
  },
  "MoveResourceState.Response": { target_state: value(1), diagnostics: diagnostics(2) },
  "ReadDataSource.Request": { ...named, config: value(2), client_capabilities: client(4) },
  "ReadDataSource.Response": { state: value(1), diagnostics: diagnostics(2) },
  "OpenEphemeralResource.Request": { ...named, config: value(2), client_capabilities: client(3) },
  "OpenEphemeralResource.Response": {
    diagnostics: diagnostics(1),
    renew_at: [2, "Timestamp"],
    result: value(3),
    private: [4, "bytes", "optional"],
  },
  "RenewEphemeralResource.Request": { ...named, private: [2, "bytes"] },
  "RenewEphemeralResource.Response": {
    diagnostics: diagnostics(1),
    renew_at: [2, "Timestamp"],
    private: [3, "bytes", "optional"],
  },
  "CloseEphemeralResource.Request": { ...named, private: [2, "bytes"] },
  "CloseEphemeralResource.Response": onlyDiagnostics,
  "CallFunction.Request": { name: [1, "string"], arguments: [2, "DynamicValue", "many"] },
  "CallFunction.Response": { result: value(1), error: [2, "FunctionError"] },
  "StopProvider.Request": empty,
  "StopProvider.Response": { Error: [1, "string"] },
} as const satisfies Record<string, Record<string, FieldSpec>>;

type Messages = typeof messages;
export type MessageName = keyof Messages;

type Plain<K> = K extends "string"
  ? string
  : K extends "bytes"
    ? Buffer
    : K extends "bool"
      ? boolean
      : K extends "int64" | "enum"
        ? number
        : K extends MessageName
          ? Message<K>
          : never;
type FieldOf<F> = F extends readonly [number, infer K, infer O]
  ? O extends "many"
    ? Plain<K>[]
    : O extends "map"
      ? Map<string, Plain<K>>
      : Plain<K>
  : F extends readonly [number, infer K]
    ? Plain<K>
    : never;

/** A message as plain data; every field may be missing, as proto3 has it. */
export type Message<N extends MessageName> = {
  -readonly [F in keyof Messages[N]]?: FieldOf<Messages[N][F]> | undefined;
};
