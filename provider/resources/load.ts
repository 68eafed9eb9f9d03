import type { Attribute } from "../schema/attribute.ts";
import type { Noun } from "./noun.ts";

/** The resource of a noun that needs no code of its own. One that an agent holds is waited for until the agent has it. */
export async function resource(noun: Noun) {
  const { createResource } = await import("./crud/resource.ts");
  return createResource(
    noun,
    noun.delivered ? { judge: (await import("../wait/delivered.ts")).judgeDelivered("agent") } : {},
  );
}

type Generated<K extends string> = Readonly<Record<K, Noun>> & { status(): Attribute | undefined };

export const list = async <K extends string>(generated: Readonly<Record<K, Noun>>, name: K) =>
  (await import("./data/many.ts")).createList(generated[name]);

export const dataSource = async <K extends string>(generated: Generated<K>, name: K) =>
  (await import("./data/one.ts")).createDataSource(generated[name], generated.status());
