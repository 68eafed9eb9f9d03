import type { Json } from "../value/json.ts";
import type { TypeJson } from "../value/type.ts";

/**
 * Who gives an attribute its value: the user (`required`, `optional`), the service (`computed`),
 * or the service unless the user does (`either`).
 */
export type Presence = "required" | "optional" | "computed" | "either";

/** What a value must satisfy, checked without any network. */
export interface Rules {
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly integer?: boolean;
  /** The text is JSON; two texts with the same meaning are the same value. */
  readonly json?: "object" | "any";
  /** The text is a duration such as `10m`. */
  readonly duration?: boolean;
  /** The rules of each element, or of each value of a map. */
  readonly each?: Rules;
}

export interface Attribute {
  /** The type of a plain attribute, in its JSON form. A nested attribute has `nesting` and `attributes` instead. */
  readonly type?: TypeJson;
  readonly nesting?: "single" | "list" | "set" | "map";
  readonly attributes?: Attributes;
  readonly presence: Presence;
  readonly description?: string;
  /** The value when the user gives none; needs `either`. */
  readonly default?: Json;
  readonly sensitive?: boolean;
  /** The value exists only in the configuration: never in plan or state. */
  readonly writeOnly?: boolean;
  /** A change of this attribute replaces the object. */
  readonly replace?: boolean;
  /** A change of this attribute moves the object to another agent: it gets another uid, and what refers to it stays. */
  readonly moves?: boolean;
  /** A computed value that an update never changes, so that a plan keeps it. */
  readonly stable?: boolean;
  /** A computed value that changes only when this attribute of the resource changes, so that other updates keep it. */
  readonly follows?: string;
  /** The default holds only while this other attribute of the resource is not set: the two exclude each other. */
  readonly defaultUnless?: string;
  /** The text names an object of this collection: `id` in the same scope, `org.id` or `account.id` above it. */
  readonly refers?: string;
  /** The attribute steers the provider only; changing it alone is no change of the object. */
  readonly local?: boolean;
  readonly deprecated?: boolean;
  readonly rules?: Rules;
  /** The name in the service's JSON, when it is not the camel-case form of the attribute's name. */
  readonly json?: string;
}

export type Attributes = { readonly [name: string]: Attribute };

/** The description of one resource, data source, ephemeral resource, or of the provider's own configuration. */
export interface Schema {
  readonly version?: number;
  readonly description?: string;
  readonly attributes: Attributes;
  readonly deprecated?: boolean;
}
