import { jest } from "@jest/globals";
import document from "../openapi/contract/openapi.json" with { type: "json" };
import type { Schemas } from "./generate/attribute.ts";
import { createOutpost } from "./outpost.ts";
import type { Noun } from "./resources/noun.ts";
import { BASES } from "./testing/matrix/bases.ts";
import { type Case, dotted, Legal } from "./testing/matrix/legal.ts";
import { Matrix, putNeighbours, type Verdict } from "./testing/matrix/matrix.ts";
import { type RealService, startRealService } from "./testing/real.ts";

const schemas = document.components.schemas as unknown as Schemas;
jest.setTimeout(3_600_000);

let service: RealService;
beforeAll(async () => {
  service = await startRealService();
});
afterAll(() => service?.stop());

interface Found {
  readonly noun: Noun;
  readonly one: Case;
  readonly verdict: Verdict;
}

const nouns = async (): Promise<Noun[]> => {
  const modules = Object.keys(BASES).map(async (name) => {
    const file = name.replace(/(?<=.)[A-Z]/g, (c) => `-${c}`).toLowerCase();
    const generated = (await import(`./generated/${file}.ts`)) as Record<string, unknown>;
    return Object.values(generated).find((value): value is Noun => typeof value === "object") as Noun;
  });
  return Promise.all(modules);
};

test("every value of every attribute, set behind Terraform's back, is shown, restored and imported", async () => {
  await putNeighbours(service);
  const provider = createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: service.key });
  const found: Found[] = [];
  for (const noun of await nouns()) {
    const { spec, instead = {}, samples = {} } = BASES[noun.name]!;
    const legal = new Legal(schemas, (path) => samples[path] ?? samples[`*.${path.split(".").pop()}`]);
    const matrix = await Matrix.open(service, noun, provider, schemas);
    for (const one of legal.casesOf(`${noun.name}Spec`, spec)) {
      const at = dotted(one.path);
      const base = Object.entries(instead).find(([prefix]) => at.startsWith(prefix))?.[1] ?? spec;
      let verdict: Verdict;
      try {
        verdict = await matrix.change(base, legal.put(`${noun.name}Spec`, base, one));
      } catch (error) {
        verdict = { kind: "lie", what: (error as Error).message };
      }
      found.push({ noun, one, verdict });
      if (process.env.MATRIX_LOG)
        (await import("node:fs")).appendFileSync(
          process.env.MATRIX_LOG,
          `${noun.name} ${at} = ${JSON.stringify(one.value)}: ${JSON.stringify(verdict)}\n`,
        );
    }
    matrix.close();
  }
  const text = found.map(
    ({ noun, one, verdict }) => `${noun.name} ${dotted(one.path)} = ${JSON.stringify(one.value)}: ${JSON.stringify(verdict)}`,
  );
  expect(text.filter((line) => line.includes('"kind":"lie"'))).toEqual([]);
});
