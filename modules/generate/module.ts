/** A module is written once, as a construct whose properties are Terraform variables. */
import {
  App,
  type ITerraformDependable,
  TerraformOutput,
  TerraformStack,
  TerraformVariable,
  type TerraformVariableConfig,
  Testing,
} from "cdktf";

/** A synthesised stack: kind of block → type or name → … */
export type StackJson = Record<string, Record<string, Record<string, object>>>;

export interface ModuleDefinition {
  /** Folder below `modules/hcl`. */
  name: string;
  title: string;
  /** What it is and how it behaves, for the README. */
  about: string;
  /** Example call, HCL. */
  example: string;
  /** Declares variables, constructs and outputs. */
  build(stack: ModuleStack): void;
  /** Comments in `main.tf`, by address. */
  comments: Record<string, string>;
}

/** A stack that remembers what it declared. */
export class ModuleStack extends TerraformStack {
  readonly variables: { name: string; config: TerraformVariableConfig }[] = [];
  readonly outputs: { name: string; description: string }[] = [];

  /** A required variable has no default; `null` is a default. */
  variable(name: string, config: TerraformVariableConfig): TerraformVariable {
    const { default: value, ...rest } = config;
    const variable = new TerraformVariable(this, `variable-${name}`, value === null ? rest : config);
    variable.overrideLogicalId(name);
    if (value === null) variable.addOverride("default", null);
    this.variables.push({ name, config });
    return variable;
  }

  output(name: string, config: { value: string; description: string; dependsOn?: ITerraformDependable[] }): void {
    new TerraformOutput(this, `output-${name}`, config).overrideLogicalId(name);
    this.outputs.push({ name, description: config.description });
  }
}

/** Synthesises a definition to Terraform's JSON. */
export function synthesize(definition: ModuleDefinition): { stack: ModuleStack; json: StackJson } {
  // Not `Testing.app()`, which leaves a folder behind.
  const stack = new ModuleStack(new App({ stackTraces: false }), definition.name);
  definition.build(stack);
  return { stack, json: plainNames(JSON.parse(Testing.synth(stack)) as StackJson, definition.name) };
}

/** An object that is the only one of its type takes the module's name instead of the one with a hash. */
function plainNames(json: StackJson, name: string): StackJson {
  let text = JSON.stringify(json);
  for (const kind of ["resource", "data", "ephemeral"]) {
    for (const [type, named] of Object.entries(json[kind] ?? {})) {
      const [only, ...others] = Object.keys(named);
      if (others.length > 0 || only === name) continue;
      // The hash makes it unlike any other text, so that references change with it and nothing else does.
      if (!/_[0-9A-F]{8}$/.test(only!)) throw new Error(`${type}.${only} has no hash to find its references by`);
      text = text.replaceAll(only!, name);
    }
  }
  return JSON.parse(text) as StackJson;
}
