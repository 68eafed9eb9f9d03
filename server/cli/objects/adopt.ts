import type { Command } from "commander";
import contract from "../../../openapi/contract/openapi.json" with { type: "json" };
import type { OperationId } from "../../../openapi/contract/operations.ts";
import { usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import type { Api } from "../session/api.ts";
import { verb } from "../session/session.ts";
import { type Column, field, type Json, say, show } from "../show.ts";
import { listOf, NOUNS, type Noun } from "./nouns.ts";

const schemas = (contract as unknown as { components: { schemas: Record<string, Json> } }).components.schemas;

/** Whether agents report such objects that the service did not make. */
export const isDiscovered = (noun: Noun): boolean => schemas[noun.schema]?.properties?.origin !== undefined;

export const ORIGINS: readonly string[] = schemas.Origin!.enum;

const origin: Column = {
  head: "ORIGIN",
  text: (o, c) => (o.origin === "managed" ? "managed" : c.yellow(field(o, "origin"))),
};

/** The columns of a list, with the origin after the scope where there is more than what the service manages. */
export function columnsOf(noun: Noun, objects: readonly Json[]): Column[] {
  if (!objects.some((o) => (o.origin ?? "managed") !== "managed")) return noun.columns;
  return [...noun.columns.slice(0, 2), origin, ...noun.columns.slice(2)];
}

/** `adopt`: takes a discovered object over as it is. */
export function adoptVerb(parent: Command, io: Io, noun: Noun): void {
  parent
    .command("adopt <id>")
    .summary("take over a discovered object as it is; `apply --adopt` changes it at once")
    .action(
      verb(io, async (s, id: string) => {
        const api = await s.api();
        const found = await api.call<Json>(`get${noun.schema}` as OperationId, { path: { id } });
        const forPeople = s.format === "table" || s.format === "wide";
        if ((found.origin ?? "managed") === "managed") {
          if (forPeople)
            return say(
              s,
              `${s.e.green("✓")} ${noun.word} ${s.e.bold(id)} is managed already: there is nothing to take over`,
            );
          return show(s, [found], [], { one: true });
        }
        const spec = await withCluster(api, found);
        const call = {
          path: { id },
          query: { adopt: true },
          body: { spec },
          headers: { "if-match": `"${found.version}"` },
        };
        const taken = await api.call<Json>(`put${noun.schema}` as OperationId, call);
        if (forPeople) say(s, `${s.e.green("✓")} ${noun.word} ${s.e.bold(id)} taken over`);
        else show(s, [taken], [], { one: true });
      }),
    );
}

/** The shown specification, with the registered cluster that the live application deploys to. */
async function withCluster(api: Api, { spec, live }: Json): Promise<Json> {
  const { server, name } = live?.destination ?? {};
  if ((!server && !name) || server === "https://kubernetes.default.svc" || name === "in-cluster") return spec;
  const clusters = NOUNS.find((noun) => noun.collection === "clusters")!;
  const { items } = await api.call<{ items: Json[] }>(listOf(clusters), {
    query: { limit: 500, filter: `origin=managed,spec.agent=${spec.agent}` },
  });
  const cluster = items.find((one) =>
    server ? one.spec.server === server : one.id === name || one.live?.displayName === name,
  );
  if (!cluster)
    throw usage(
      `it deploys to the cluster ${server ?? name}, which is not registered in this scope: register it, or take it over first with \`outpost cluster adopt\``,
    );
  return { ...spec, destination: { ...spec.destination, cluster: cluster.id } };
}
