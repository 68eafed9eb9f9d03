import type { Schema } from "../schema/attribute.ts";

/** What the generator knows about a noun of the contract; `provider/generated/<noun>.ts` holds one each. */
export interface Noun {
  /** As in the contract: `Application`. */
  readonly name: string;
  /** As in Terraform: `outpost_application`. */
  readonly type: string;
  /** The data source that lists them: `outpost_applications`. */
  readonly many?: string;
  readonly collection: string;
  readonly scopes: readonly string[];
  /** An agent has to get it: there is a delivery to wait for. */
  readonly delivered?: boolean;
  /** A delete says what becomes of the objects in the cluster. */
  readonly cascade?: boolean;
  /** Agents report such objects that the service did not make; `adopt` takes one over. */
  readonly discovered?: boolean;
  /** The attributes that make up the spec. */
  readonly spec: readonly string[];
  readonly schema: Schema;
}
