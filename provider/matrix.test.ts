import { appendFileSync } from "node:fs";
import { jest } from "@jest/globals";
import document from "../openapi/contract/openapi.json" with { type: "json" };
import type { Schemas } from "./generate/attribute.ts";
import { createOutpost } from "./outpost.ts";
import type { Noun } from "./resources/noun.ts";
import { snake } from "./schema/names.ts";
import { BASES, type Base, NOT_OF_A_SPEC, TASK } from "./testing/matrix/bases.ts";
import { type Case, dotted, isHard, Legal } from "./testing/matrix/legal.ts";
import { Matrix, putNeighbours, type Verdict } from "./testing/matrix/matrix.ts";
import { loadNouns } from "./testing/matrix/nouns.ts";
import { TaskMatrix } from "./testing/matrix/task.ts";
import { seeded } from "./testing/random.ts";
import { type RealService, startRealService } from "./testing/real.ts";

const schemas = document.components.schemas as unknown as Schemas;
/** All values of each field, and many pairs; else every field with the values that are most often lost, and a few pairs. */
const full = process.env.PROVE === "1";
const PAIRS = full ? 60 : 3;
const VALUES = full ? 1_000 : 2;
jest.setTimeout(full ? 3_600_000 : 900_000);

let service: RealService;
beforeAll(async () => {
  service = await startRealService();
  await putNeighbours(service);
});
afterAll(() => service?.stop());

interface Found {
  readonly one: Case;
  readonly verdict: Verdict;
}

/** Where a case starts: the usual spec of its noun, or the one for the longest beginning of its path. */
function startOf({ spec, instead = {} }: Base, one: Case): Base["spec"] {
  const prefixes = Object.keys(instead).filter((prefix) => dotted(one.path).startsWith(prefix));
  return instead[prefixes.sort((a, b) => b.length - a.length)[0] ?? ""] ?? spec;
}

/** Of each field the given number of cases, those that a conversion loses most easily first. */
function chosen(cases: readonly Case[], most: number): Case[] {
  const byField = grouped(cases);
  return byField.flatMap((some) =>
    [...some].sort((a, b) => Number(isHard(b.value)) - Number(isHard(a.value))).slice(0, most),
  );
}

function grouped(cases: readonly Case[]): Case[][] {
  const out = new Map<string, Case[]>();
  for (const one of cases) out.set(dotted(one.path), [...(out.get(dotted(one.path)) ?? []), one]);
  return [...out.values()];
}

const legalOf = ({ samples = {} }: Base): Legal =>
  new Legal(schemas, (path) => samples[path] ?? samples[`*.${path.split(".").pop()}`]);

async function judged(matrix: Matrix, base: object, wanted: object): Promise<Verdict> {
  try {
    return await matrix.change(base as never, wanted as never);
  } catch (error) {
    return { kind: "lie", what: (error as Error).message };
  }
}

/** Does something with each element, on every object of the noun at once, so that test and service each have a processor. */
async function shared<T>(
  list: readonly T[],
  matrices: readonly Matrix[],
  work: (one: T, matrix: Matrix) => Promise<void>,
): Promise<void> {
  const rest = list.values();
  await Promise.all(
    matrices.map(async (matrix) => {
      for (const one of rest) await work(one, matrix);
    }),
  );
}

async function singles(noun: Noun, base: Base, matrices: readonly Matrix[]): Promise<Found[]> {
  const legal = legalOf(base);
  const all = legal.casesOf(`${noun.name}Spec`, base.spec as never);
  const found: Found[] = [];
  const judge = async (one: Case, matrix: Matrix): Promise<boolean> => {
    const start = startOf(base, one);
    const along = base.along?.[`${dotted(one.path)}=${String(one.value)}`];
    const verdict = await judged(matrix, start, { ...legal.put(`${noun.name}Spec`, start as never, one), ...along });
    found.push({ one, verdict });
    if (process.env.MATRIX_LOG)
      appendFileSync(
        process.env.MATRIX_LOG,
        `${noun.name} ${dotted(one.path)} = ${JSON.stringify(one.value)}: ${JSON.stringify(verdict)}\n`,
      );
    return verdict.kind === "held";
  };
  const fields = base.only ? all.filter(({ path }) => base.only!.includes(dotted(path))) : all;
  await shared(grouped(fields), matrices, async (some, matrix) => {
    const first = chosen(some, VALUES);
    let held = false;
    for (const one of first) held = (await judge(one, matrix)) || held;
    // A field of which the service took none of these has another value that it takes.
    for (const one of some) if (!held && !first.includes(one)) held = await judge(one, matrix);
  });
  return found;
}

/** Two fields at once, each with a value that it may have. */
async function pairs(noun: Noun, base: Base, matrices: readonly Matrix[], found: readonly Found[]): Promise<string[]> {
  const random = seeded(Number(process.env.RANDOM_SEED ?? 20_26));
  const legal = legalOf(base);
  const alone = (one: Case) =>
    startOf(base, one) === base.spec && !base.along?.[`${dotted(one.path)}=${String(one.value)}`];
  const held = found.filter(({ one, verdict }) => verdict.kind === "held" && alone(one)).map(({ one }) => one);
  const lies: string[] = [];
  const any = () => held[Math.floor(random() * held.length)]!;
  const both = Array.from({ length: held.length > 1 ? PAIRS : 0 }, () => [any(), any()] as const);
  await shared(both, matrices, async ([a, b], matrix) => {
    const [x, y] = [dotted(a.path), dotted(b.path)];
    if (x.startsWith(y) || y.startsWith(x)) return;
    const name = `${noun.name}Spec`;
    const verdict = await judged(matrix, base.spec, legal.put(name, legal.put(name, base.spec as never, a), b));
    if (verdict.kind === "lie")
      lies.push(`${x} = ${JSON.stringify(a.value)} with ${y} = ${JSON.stringify(b.value)}: ${verdict.what}`);
  });
  return lies;
}

/** Fields of which no value was set and restored, neither of themselves nor of what is in them. */
function unreached(found: readonly Found[], fixed: Readonly<Record<string, string>> = {}): string[] {
  const held = found.filter(({ verdict }) => verdict.kind === "held").map(({ one }) => dotted(one.path));
  const fields = new Set(found.map(({ one }) => dotted(one.path)));
  const isFixed = (field: string) => Object.keys(fixed).some((name) => field === name || field.startsWith(`${name}.`));
  return [...fields].filter(
    (field) => !isFixed(field) && !held.some((one) => one === field || one.startsWith(`${field}.`)),
  );
}

const names = Object.keys(BASES);
test("the matrix has every resource of the contract", async () => {
  const covered = Object.entries(BASES).map(([name, { noun = name }]) => noun);
  expect([...new Set(covered)].sort()).toEqual((await loadNouns()).map(({ name }) => name).sort());
});

test("every attribute of every resource is in the matrix, is only shown, or is named with the reason why not", async () => {
  const nouns = new Map(
    (await loadNouns()).map((noun) => [noun.type, { name: `${noun.name}Spec`, base: BASES[noun.name]! }]),
  );
  nouns.set("outpost_task", { name: "TaskRequest", base: TASK });
  const used = new Set<string>();
  const missing: string[] = [];
  for (const [type, load] of Object.entries(createOutpost({}).resources)) {
    const { schema } = await load();
    const one = nouns.get(type);
    if (!one) missing.push(type);
    const tried = new Set(
      one &&
        legalOf(one.base)
          .casesOf(one.name, one.base.spec as never)
          .map(({ path }) => snake(String(path[0]))),
    );
    for (const [name, a] of Object.entries(schema.attributes)) {
      if (a.presence === "computed") continue;
      const key = a.json ? snake(a.json) : name;
      if (tried.has(key)) continue;
      if (NOT_OF_A_SPEC[name]) used.add(name);
      else missing.push(`${type}.${name}`);
    }
  }
  expect(missing).toEqual([]);
  expect(Object.keys(NOT_OF_A_SPEC).filter((name) => !used.has(name))).toEqual([]);
});

test("Task: every value of every attribute is what the service runs, and the next plan is empty", async () => {
  const provider = createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: service.key });
  const matrix = await TaskMatrix.open(service, provider, schemas);
  const legal = legalOf(TASK);
  const found: Found[] = [];
  try {
    for (const one of chosen(legal.casesOf("TaskRequest", TASK.spec as never), VALUES)) {
      const along = TASK.along?.[`${dotted(one.path)}=${String(one.value)}`];
      const verdict = await matrix.run({ ...legal.put("TaskRequest", TASK.spec as never, one), ...along } as never);
      found.push({ one, verdict });
    }
  } finally {
    matrix.close();
  }
  const lies = found.flatMap(({ one, verdict }) =>
    verdict.kind === "lie" ? [`${dotted(one.path)}: ${verdict.what}`] : [],
  );
  expect(lies).toEqual([]);
  expect(unreached(found)).toEqual([]);
});

test.each(names)(
  "%s: every value of every attribute, set behind Terraform's back, is shown, restored and imported",
  async (name) => {
    const base = BASES[name]!;
    const noun = (await loadNouns()).find((one) => one.name === (base.noun ?? name))!;
    const provider = createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: service.key });
    const ids = base.many ? ["matrix", "matrix-2", "matrix-3"] : ["matrix"];
    const matrices = await Promise.all(
      ids.map((id) => Matrix.open(service, noun, provider, schemas, { org: base.org, id })),
    );
    try {
      const found = await singles(noun, base, matrices);
      const lies = found.flatMap(({ one, verdict }) =>
        verdict.kind === "lie" ? [`${dotted(one.path)} = ${JSON.stringify(one.value)}: ${verdict.what}`] : [],
      );
      expect([...lies, ...(await pairs(noun, base, matrices, found))]).toEqual([]);
      expect(unreached(found, base.fixed)).toEqual([]);
    } finally {
      for (const matrix of matrices) matrix.close();
    }
  },
);
