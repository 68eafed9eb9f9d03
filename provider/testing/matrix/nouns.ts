import { readdirSync } from "node:fs";
import type { Noun } from "../../resources/noun.ts";

const folder = new URL("../../generated/", import.meta.url);

/** Every noun of the contract, from the generated tables: a new one is there by itself. */
export async function loadNouns(): Promise<Noun[]> {
  // `nouns.ts` lists the others.
  const files = readdirSync(folder).filter((name) => /^(?!nouns\.ts$)(?!.*-request\.ts$).*\.ts$/.test(name));
  const modules = files
    .sort()
    .map(async (name) => (await import(new URL(name, folder).href)) as Record<string, unknown>);
  return (await Promise.all(modules)).map(
    (module) => Object.values(module).find((value): value is Noun => typeof value === "object")!,
  );
}
