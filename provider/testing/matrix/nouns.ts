import { readdirSync } from "node:fs";
import type { Noun } from "../../resources/noun.ts";

const folder = new URL("../../generated/", import.meta.url);

/** Every noun of the contract, from the generated tables: a new one is there by itself. Other tables are of no collection. */
export async function loadNouns(): Promise<Noun[]> {
  const files = readdirSync(folder).filter((name) => name.endsWith(".ts"));
  const modules = files
    .sort()
    .map(async (name) => (await import(new URL(name, folder).href)) as Record<string, unknown>);
  return (await Promise.all(modules)).flatMap((module) => Object.values(module).filter(isNoun));
}

const isNoun = (value: unknown): value is Noun => typeof value === "object" && value !== null && "collection" in value;
