import document from "../../../openapi/contract/openapi.json" with { type: "json" };
import type { components } from "../../../openapi/contract/types.ts";
import type { Fault } from "../../../openapi/contract/validators.js";
import * as validators from "../../../openapi/contract/validators.js";
import type { Level } from "./scope.ts";

export type Schemas = components["schemas"];

/** The schema names of each collection. */
export interface NounOf {
  organizations: "Organization";
  projects: "Project";
  agents: "Agent";
  delegates: "Delegate";
  repositories: "Repository";
  clusters: "Cluster";
  applications: "Application";
  applicationsets: "ApplicationSet";
  appprojects: "AppProject";
  repositorycredentials: "RepositoryCredential";
  repositorycertificates: "RepositoryCertificate";
  gnupgkeys: "GnupgKey";
  webhooks: "Webhook";
  pipelines: "Pipeline";
  argoprojectmappings: "ArgoProjectMapping";
}
export type Collection = keyof NounOf;
/** An object of a collection as the contract shows it. */
export type ObjectOf<C extends Collection> = Schemas[NounOf[C]];

/** Collections whose objects an agent holds. */
const DELIVERED = [
  "repositories",
  "repositorycredentials",
  "repositorycertificates",
  "gnupgkeys",
  "clusters",
  "appprojects",
  "applicationsets",
  "applications",
] as const;
export type DeliveredCollection = (typeof DELIVERED)[number];

/** Collections of which an agent also reports objects that this service did not make. */
const DISCOVERED = ["repositories", "clusters", "appprojects", "applicationsets", "applications"] as const;
export type DiscoveredCollection = (typeof DISCOVERED)[number];

type Check = ((value: unknown) => boolean) & { errors?: Fault[] | null };
type JsonSchema = Record<string, any>;

/** What the contract says of a noun, read once from its document. */
export interface Noun {
  collection: Collection;
  scopes: readonly Level[];
  validateSpec: Check;
  validateStatus: Check;
  /** Defaults, references and the fields that move an object come from here. */
  specSchema: JsonSchema;
  /** Its objects may have credentials, which are sealed to their agent. */
  credentials: boolean;
  /** Top-level fields of spec whose change moves the object to another agent. */
  moves: readonly string[];
  /** References by path; `*` stands for each element of a list. */
  references: readonly { path: readonly string[]; to: Collection }[];
}

const schemas = document.components.schemas as JsonSchema;

function noun(collection: Collection, name: string, scopes: readonly Level[]): Noun {
  const specSchema = schemas[`${name}Spec`];
  const properties: [string, JsonSchema][] = Object.entries(specSchema.properties ?? {});
  const table = validators as unknown as Record<string, Check>;
  return {
    collection,
    scopes,
    validateSpec: table[`validate${name}Spec`]!,
    validateStatus: table[`validate${name}Status`]!,
    specSchema,
    credentials: specSchema.properties?.sealedCredentials !== undefined,
    moves: properties.filter(([, schema]) => schema["x-moves"]).map(([key]) => key),
    references: findReferences(specSchema, []),
  };
}

function findReferences(schema: JsonSchema, path: string[]): { path: string[]; to: Collection }[] {
  const { $ref, ...own } = schema;
  const whole = $ref ? { ...deref($ref), ...own } : schema;
  if (whole["x-reference"]) return [{ path, to: whole["x-reference"] }];
  const found = Object.entries<JsonSchema>(whole.properties ?? {}).flatMap(([key, member]) => findReferences(member, [...path, key]));
  return whole.items ? [...found, ...findReferences(whole.items, [...path, "*"])] : found;
}

/** The schema a `$ref` of the document names. */
export function deref(ref: string): JsonSchema {
  return schemas[ref.slice(ref.lastIndexOf("/") + 1)];
}

const everywhere: readonly Level[] = ["account", "org", "project"];

export const nouns: { readonly [C in Collection]: Noun } = {
  organizations: noun("organizations", "Organization", ["account"]),
  projects: noun("projects", "Project", ["org"]),
  agents: noun("agents", "Agent", everywhere),
  delegates: noun("delegates", "Delegate", everywhere),
  repositories: noun("repositories", "Repository", everywhere),
  clusters: noun("clusters", "Cluster", everywhere),
  applications: noun("applications", "Application", everywhere),
  applicationsets: noun("applicationsets", "ApplicationSet", everywhere),
  appprojects: noun("appprojects", "AppProject", everywhere),
  repositorycredentials: noun("repositorycredentials", "RepositoryCredential", everywhere),
  repositorycertificates: noun("repositorycertificates", "RepositoryCertificate", everywhere),
  gnupgkeys: noun("gnupgkeys", "GnupgKey", everywhere),
  webhooks: noun("webhooks", "Webhook", everywhere),
  pipelines: noun("pipelines", "Pipeline", everywhere),
  argoprojectmappings: noun("argoprojectmappings", "ArgoProjectMapping", everywhere),
};

export function isDelivered(collection: string): collection is DeliveredCollection {
  return (DELIVERED as readonly string[]).includes(collection);
}

export function isDiscovered(collection: string): collection is DiscoveredCollection {
  return (DISCOVERED as readonly string[]).includes(collection);
}
