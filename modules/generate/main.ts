/** Everything in `modules/` that is derived from something else. Running it twice changes nothing. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { HEADER, writeFolder } from "./files.ts";
import type { FindBlock } from "./hcl.ts";
import { findHelm } from "./helm.ts";
import type { ProviderSchema } from "./schema.ts";
import { settingsPage } from "./settings.ts";

const OWN = "registry.terraform.io/outpost/outpost";
const HELM = "registry.terraform.io/hashicorp/helm";
const modules = fileURLToPath(new URL("..", import.meta.url));
const root = join(modules, "..");

export interface GenerateOptions {
  /** Path of helm 3; default: as `findHelm` finds it. */
  helm?: string;
  /** Our provider's schema; default: the generated one. */
  schema?: string;
}

/** Copies the definitions into the chart, renders the manifests, writes bindings and HCL modules. */
export async function generateModules(options: GenerateOptions = {}): Promise<void> {
  writeFileSync(join(root, "SETTINGS.md"), settingsPage(readFileSync(join(root, "server/settings.yaml"), "utf8")));
  writeFolder(join(modules, "charts/outpost-agent/files/crds"), readCrds());
  const { generateManifests } = await import("./manifests.ts");
  writeFolder(
    join(modules, "install/generated"),
    generateManifests(options.helm ?? findHelm(), join(modules, "charts")),
  );
  const schema = readSchema(options.schema ?? join(root, "provider/generated/schema.json"), OWN);
  const { generateBindings } = await import("./bindings.ts");
  const bindings = Object.entries(generateBindings(schema, "outpost/outpost")).map(([name, text]) => [
    name,
    HEADER + text,
  ]);
  bindings.push(["constructs.ts", HEADER + constructsList()]);
  writeFolder(join(modules, "constructs/bindings"), Object.fromEntries(bindings));
  // Only now: the definitions stand on the bindings that were just written.
  const { generateHcl } = await import("./modules.ts");
  for (const [name, files] of Object.entries(generateHcl(finder(schema))))
    writeFolder(join(modules, "hcl", name), files);
}

/** Exports every construct of a noun, so that a new file is all that a new one needs. */
function constructsList(): string {
  const names = readdirSync(join(modules, "constructs/nouns")).filter(
    (name) => name.endsWith(".ts") && !name.endsWith(".test.ts"),
  );
  return `${names
    .sort()
    .map((name) => `export * from "../nouns/${name}";`)
    .join("\n")}\n`;
}

function readCrds(): Record<string, string> {
  const folder = join(root, "server/agent/crds");
  const names = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

function readSchema(file: string, source: string): ProviderSchema {
  if (!existsSync(file)) throw new Error(`${file} is missing: generate the provider's schema first`);
  const schema = JSON.parse(readFileSync(file, "utf8")).provider_schemas[source];
  if (!schema) throw new Error(`${file} has no schema of ${source}`);
  return schema;
}

/** Schemas of our provider and of those that the modules use. */
export function finder(own: ProviderSchema): FindBlock {
  const helm = readSchema(join(modules, "generate/helm-schema.json"), HELM);
  return (kind, type) => {
    const schema = type.startsWith("outpost_") ? own : helm;
    const key = { resource: "resource_schemas", data: "data_source_schemas", ephemeral: "ephemeral_resource_schemas" }[
      kind
    ] as "resource_schemas";
    const found = schema[key]?.[type];
    if (!found) throw new Error(`no schema of ${kind} ${type}`);
    return found.block;
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await generateModules();
