/** The shape of `terraform providers schema -json`, as far as the generators read it. */
export type TypeExpression = string | [string, TypeExpression] | ["object", Record<string, TypeExpression>];

export interface Attribute {
  type?: TypeExpression;
  nested_type?: { nesting_mode: "single" | "list" | "set" | "map"; attributes: Record<string, Attribute> };
  description?: string;
  required?: boolean;
  optional?: boolean;
  computed?: boolean;
  sensitive?: boolean;
  write_only?: boolean;
  deprecated?: boolean;
}

export interface Block {
  attributes?: Record<string, Attribute>;
  block_types?: Record<string, { nesting_mode: "single" | "group" | "list" | "set" | "map"; block: Block }>;
  description?: string;
}

export interface ProviderSchema {
  provider: { block: Block };
  resource_schemas?: Record<string, { block: Block }>;
  data_source_schemas?: Record<string, { block: Block }>;
  ephemeral_resource_schemas?: Record<string, { block: Block }>;
}

/** `git_repository` → `gitRepository`. */
export const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
/** `git_repository` → `GitRepository`. */
export const pascal = (name: string) => camel(`_${name}`);
