import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

type Level = "account" | "org" | "project";

/** Head of a noun's file in `spec/`: everything that the lists of nouns in all rooms derive from. */
export interface NounHead {
  name: string;
  collection: string;
  /** Of the operation that lists; by default the collection with a capital. */
  plural?: string;
  scopes: Level[];
  write: "admin" | "editor";
  /** The object is handed to an agent, so a delete waits for the agent. The number is its order: objects that others use come first. */
  delivered?: number;
  cascade?: boolean;
  /** Agents report such objects of their namespaces too, also those that this service did not make. */
  discovered?: boolean;
  /** A running task may read it with its own token. */
  task?: boolean;
  /** What it is, for people: description of its schema and of its Terraform resource. */
  about: string;
  cli: { word: string; alias: string[]; many?: string; summary: string; order: number };
  /** How to declare one with Terraform. */
  example?: string;
}

/** The heads of all nouns, in the order of their files. */
export function readNouns(specDir: string): NounHead[] {
  const files = readdirSync(specDir).filter((file) => file.endsWith(".yaml"));
  return files
    .sort()
    .flatMap((file) => (parse(readFileSync(join(specDir, file), "utf8")) as { noun?: NounHead }).noun ?? []);
}

/** The name of the operation that lists a noun, without `list`. */
export const pluralOf = ({ plural, collection }: NounHead): string =>
  plural ?? collection[0]!.toUpperCase() + collection.slice(1);

/** `x-nouns` of a schema: which collections its `enum` has. */
export function collectionsOf(nouns: readonly NounHead[], which: string): string[] {
  if (which !== "all" && which !== "delivered") throw new Error(`x-nouns is \`all\` or \`delivered\`, not ${which}`);
  return nouns.filter((noun) => which === "all" || noun.delivered !== undefined).map((noun) => noun.collection);
}

/** `contract/nouns.ts`: one row for each noun. */
export function nounsTable(nouns: readonly NounHead[]): string {
  const rows = nouns.map((noun) => {
    const { write: _, task: __, about: ___, example: ____, ...kept } = noun;
    return `  ${noun.collection}: ${JSON.stringify({ ...kept, plural: pluralOf(noun) })},`;
  });
  return [
    "export interface NounRow {",
    '  name: string; collection: string; plural: string; scopes: readonly ("account" | "org" | "project")[]; delivered?: number; discovered?: boolean; cascade?: boolean;',
    "  cli: { word: string; alias: readonly string[]; many?: string; summary: string; order: number };",
    "}",
    "export const nouns = {",
    ...rows,
    "} as const satisfies Record<string, NounRow>;",
    "type Nouns = typeof nouns;",
    "export type Collection = keyof Nouns;",
    "/** The schema name of each collection. */",
    'export type NounOf = { [C in Collection]: Nouns[C]["name"] };',
    "type With<Mark> = { [C in Collection]: Nouns[C] extends Mark ? C : never }[Collection];",
    "/** Collections whose objects an agent holds. */",
    "export type DeliveredCollection = With<{ delivered: number }>;",
    "/** Collections of which an agent also reports objects that this service did not make. */",
    "export type DiscoveredCollection = With<{ discovered: true }>;",
    "/** The operations that every noun has. */",
    'export type NounOperation = { [C in Collection]: `list${Nouns[C]["plural"]}` | `${"get" | "put" | "patch" | "delete"}${Nouns[C]["name"]}` }[Collection];',
    "",
  ].join("\n");
}
