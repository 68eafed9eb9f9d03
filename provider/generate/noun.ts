import type { Noun } from "../resources/noun.ts";
import type { Attribute, Attributes, Schema } from "../schema/attribute.ts";
import { snake } from "../schema/names.ts";
import { attributesOf, compact, type JsonSchema, resolve, type Schemas } from "./attribute.ts";

/** The part of the contract that matters here. */
export interface Contract {
  readonly info: { readonly version: string };
  readonly components: {
    readonly schemas: Schemas;
    readonly parameters: Readonly<Record<string, { readonly description?: string; readonly schema: JsonSchema }>>;
  };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}
interface Operation {
  readonly operationId: string;
  readonly "x-collection"?: string;
  readonly "x-scopes"?: readonly string[];
  readonly parameters?: readonly { name?: string; $ref?: string }[];
}

/** Names that Terraform keeps for itself at the top of a resource. */
const reserved = new Set([
  "count",
  "for_each",
  "provider",
  "providers",
  "lifecycle",
  "depends_on",
  "connection",
  "provisioner",
]);

/** Every noun of the contract that has a spec and can be put. */
export function nounsOf(contract: Contract): Noun[] {
  const { schemas } = contract.components;
  return Object.keys(schemas)
    .filter((name) => name.endsWith("Spec") && schemas[`${name.slice(0, -4)}Put`])
    .map((name) => nounOf(contract, name.slice(0, -4)))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function nounOf(contract: Contract, name: string): Noun {
  const { schemas } = contract.components;
  const operations = Object.values(contract.paths).flatMap((methods) => Object.values(methods));
  const put = operations.find((o) => o.operationId === `put${name}`);
  const remove = operations.find((o) => o.operationId === `delete${name}`);
  const collection = put?.["x-collection"];
  if (!put || !remove || !collection) throw new Error(`the contract has no put and delete for ${name}`);
  const list = operations.find((o) => o["x-collection"] === collection && o.operationId.startsWith("list"));
  const spec = attributesOf(schemas, schemas[`${name}Spec`]!, false);
  for (const attribute of Object.keys(spec))
    if (reserved.has(attribute))
      throw new Error(`${name}.spec has a name that Terraform keeps for itself: ${attribute}`);
  const status = resolve(schemas, schemas[`${name}Status`] ?? {});
  const delivered = status.properties?.delivery !== undefined;
  const cascade = remove.parameters?.some((p) => p.name === "cascade") === true;
  const discovered = put.parameters?.some((p) => p.$ref === "#/components/parameters/adopt") === true;
  const scopes = put["x-scopes"] ?? ["account", "org", "project"];
  const attributes: Attributes = {
    ...scopeAttributes(scopes),
    ...spec,
    ...ownAttributes({ name, delivered, cascade, discovered }),
    ...lastingStatus(schemas, status),
  };
  const clash = Object.keys(spec).find((n) => attributes[n] !== spec[n] || n in scopeAttributes(scopes));
  if (clash) throw new Error(`${name}.spec has a name that the provider uses itself: ${clash}`);
  const more =
    Object.keys(status.properties ?? {}).length > 0
      ? ` What it is doing now is in the data source \`${typeOf(name)}\`.`
      : "";
  const schema: Schema = { version: 0, description: `${schemas[name]!.description}${more}`, attributes };
  return compact({
    name,
    type: typeOf(name),
    many: list && typeOf(list.operationId.slice("list".length)),
    collection,
    scopes,
    delivered: delivered || undefined,
    cascade: cascade || undefined,
    discovered: discovered || undefined,
    spec: Object.keys(spec),
    schema,
  });
}

const typeOf = (name: string): string => `outpost_${snake(name).slice(1)}`;

const label = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";

function scopeAttributes(scopes: readonly string[]): Attributes {
  const id = (description: string, presence: Attribute["presence"]): Attribute => ({
    type: "string",
    presence,
    description: `${description} Changing it replaces the object.`,
    replace: true,
    rules: { pattern: label, maxLength: 63 },
  });
  return {
    id: id("The id, chosen by the user: lower-case letters, digits and hyphens.", "required"),
    ...(scopes.includes("org") || scopes.includes("project")
      ? {
          org: id(
            "The organisation it is in; none means the account itself.",
            scopes.includes("account") ? "optional" : "required",
          ),
        }
      : {}),
    ...(scopes.includes("project") ? { project: id("The project within `org`.", "optional") } : {}),
  };
}

const duration = (description: string): Attribute => ({
  type: "string",
  presence: "optional",
  description,
  local: true,
  rules: { duration: true },
});

interface Own {
  name: string;
  delivered: boolean;
  cascade: boolean;
  discovered: boolean;
}

/** Until when a write waits, for messages. */
const UNTIL: Readonly<Record<string, string>> = {
  Application: "it is Synced and Healthy for this very configuration (without automated sync: compared with Git)",
  ApplicationSet:
    "its applications are made for this very configuration, Synced and Healthy (without automated sync: compared with Git)",
};

function ownAttributes({ name, delivered, cascade, discovered }: Own): Attributes {
  const flag = (description: string, preset: boolean): Attribute => ({
    type: "bool",
    presence: "either",
    default: preset,
    local: true,
    description,
  });
  const until = UNTIL[name] ?? "the agent has it";
  return {
    uid: {
      type: "string",
      presence: "computed",
      stable: true,
      description: "A unique id that the service gives; another object with the same `id` has another one.",
    },
    generation: { type: "number", presence: "computed", description: "Grows with every change of the configuration." },
    adopt: flag(
      `Take over an object that exists already, instead of refusing to create it.${discovered ? " Also take over a discovered object, one that the service found in the agent's cluster and did not make: when it is created here, or after an import." : ""} Default: \`false\`.`,
      false,
    ),
    ...(delivered
      ? {
          wait: flag(
            `Wait until ${until}. A create that is not ready in time ends with a warning, and the next apply waits again. Default: \`true\`.`,
            true,
          ),
        }
      : {}),
    ...(cascade
      ? {
          cascade: {
            type: "string",
            presence: "either",
            default: "foreground",
            local: true,
            description:
              "What becomes of the objects in the cluster when this is destroyed: `foreground` deletes them first, `background` deletes them afterwards, `orphan` leaves them. Default: `foreground`.",
            rules: { enum: ["foreground", "background", "orphan"] },
          } satisfies Attribute,
        }
      : {}),
    timeouts: {
      nesting: "single",
      presence: "optional",
      local: true,
      description: "How long to wait, as durations such as `90s` or `10m`.",
      attributes: {
        create: duration("Default: `10m`."),
        update: duration("Default: `10m`."),
        delete: duration("Default: `10m`."),
      },
    },
  };
}

/** Everything that the service and the agent say about an object, for its data source; undefined when they say nothing. */
export function statusOf({ components: { schemas } }: Contract, name: string): Attribute | undefined {
  const status = resolve(schemas, schemas[`${name}Status`] ?? {});
  return Object.keys(status.properties ?? {}).length > 0
    ? statusAttribute(attributesOf(schemas, status, true))
    : undefined;
}

/**
 * The part of the status that a resource keeps: what changes only with the configuration. A state file is no place for heartbeats, and
 * an attribute that changes by itself makes every plan of what depends on it a change.
 */
function lastingStatus(schemas: Schemas, status: JsonSchema): { status?: Attribute } {
  const lasting = Object.entries(status.properties ?? {}).filter(([, property]) => property["x-follows"] !== undefined);
  if (lasting.length === 0) return {};
  const leaders = new Set(lasting.map(([, property]) => snake(property["x-follows"]!)));
  if (leaders.size > 1)
    throw new Error(`the fields of one status follow several fields of the spec: ${[...leaders].join(", ")}`);
  const attributes = attributesOf(schemas, { ...status, properties: Object.fromEntries(lasting) }, true);
  return { status: { ...statusAttribute(attributes), follows: [...leaders][0]! } };
}

const statusAttribute = (attributes: Attributes): Attribute => ({
  nesting: "single",
  presence: "computed",
  description: "What the service and the agent say about it.",
  attributes,
});
