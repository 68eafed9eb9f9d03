/** What the generated bindings stand on: how a typed configuration becomes Terraform's JSON, and ephemeral resources. */
import {
  type IInterpolatingParent,
  type ITerraformDependable,
  ref,
  TerraformElement,
  type TerraformMetaArguments,
  type TerraformProvider,
  type TerraformResourceLifecycle,
  Token,
} from "cdktf";
import type { Construct } from "constructs";

/** Name of an attribute in Terraform, and those inside it. `map`: the keys are the user's own. */
export interface Field {
  readonly name: string;
  readonly fields?: Fields;
  readonly map?: boolean;
}
export type Fields = { readonly [property: string]: Field };

/** Renames properties to attributes, at every depth. Tokens pass as they are, undefined is left out. */
export function toTerraform(config: object, fields: Fields): Record<string, unknown> {
  const attributes: Record<string, unknown> = {};
  for (const [property, field] of Object.entries(fields)) {
    const value = (config as Record<string, unknown>)[property];
    if (value !== undefined) attributes[field.name] = convert(value, field);
  }
  return attributes;
}

function convert(value: unknown, field: Field): unknown {
  if (!field.fields || value === null || typeof value !== "object" || Token.isUnresolved(value)) return value;
  const { fields, map } = field;
  if (Array.isArray(value)) return value.map((item) => convert(item, field));
  if (map)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, convert(item, { name: key, fields })]));
  return toTerraform(value, fields);
}

/** The arguments that Terraform itself understands, out of a configuration that also has the provider's. */
export function metaOf(config: TerraformMetaArguments): TerraformMetaArguments {
  const { dependsOn, connection, count, provider, lifecycle, provisioners, forEach } = config;
  return { dependsOn, connection, count, provider, lifecycle, provisioners, forEach };
}

/** Arguments that every ephemeral resource takes. */
export interface EphemeralMetaArguments {
  readonly dependsOn?: ITerraformDependable[];
  readonly provider?: TerraformProvider;
  readonly lifecycle?: Pick<TerraformResourceLifecycle, "precondition" | "postcondition">;
}

/** An ephemeral resource: opened when Terraform needs its value, never written to plan or state. cdktf 0.21 has no class for it. */
export abstract class TerraformEphemeral extends TerraformElement implements IInterpolatingParent {
  protected constructor(
    scope: Construct,
    id: string,
    readonly terraformResourceType: string,
    private readonly meta: EphemeralMetaArguments,
  ) {
    super(scope, id, `ephemeral.${terraformResourceType}`);
  }

  interpolationForAttribute(attribute: string) {
    return ref(`ephemeral.${this.terraformResourceType}.${this.friendlyUniqueId}.${attribute}`, this.cdktfStack);
  }

  protected getStringAttribute(attribute: string): string {
    return Token.asString(this.interpolationForAttribute(attribute));
  }

  protected getNumberAttribute(attribute: string): number {
    return Token.asNumber(this.interpolationForAttribute(attribute));
  }

  protected getBooleanAttribute(attribute: string) {
    return this.interpolationForAttribute(attribute);
  }

  protected abstract synthesizeAttributes(): Record<string, unknown>;

  override toTerraform(): object {
    const { dependsOn, provider, lifecycle } = this.meta;
    const body = {
      ...this.synthesizeAttributes(),
      ...(dependsOn && { depends_on: dependsOn.map((it) => it.fqn) }),
      ...(provider && { provider: provider.fqn }),
      ...(lifecycle && { lifecycle }),
    };
    return { ephemeral: { [this.terraformResourceType]: { [this.friendlyUniqueId]: body } } };
  }
}
