import type { Origin } from "../../domain/discover.ts";
import { parseFilter } from "../../domain/lists/filter.ts";
import { matches } from "../../domain/lists/predicate.ts";
import { onBothStores } from "../../testing/database.ts";
import { writing } from "../database/writer.ts";
import { insertObjects, type NewObject, view } from "../objects/objects.ts";
import { ensureAccount } from "../store.ts";
import { listObjects } from "./list.ts";

const OBJECTS = 150;
const FILTERS = 700;

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

/** Random numbers that a seed repeats. */
function randomFrom(start: number) {
  let state = start + 1;
  const below = (n: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % n;
  };
  return { below, pick: <T>(of: readonly T[]): T => of[below(of.length)]!, maybe: () => below(2) === 0 };
}
type Random = ReturnType<typeof randomFrom>;

const TEXTS = [
  "",
  "prod",
  "Prod",
  "a,b",
  "(x)",
  'say "hi"',
  "back\\slash",
  "50%_",
  "Ünter",
  "über",
  "in (a)",
  "x=y",
  " spaced ",
  "🙂",
];
const KEYS = [
  "deploy.outpost.dev/service",
  "harness.io/serviceRef",
  "harness.io/envRef",
  "team",
  "app.kubernetes.io/part-of",
  "a.b/c",
  "constructor",
];

function randomObject(r: Random, n: number): NewObject {
  const labels = () => Object.fromEntries(KEYS.filter(r.maybe).map((key) => [key, r.pick(TEXTS)]));
  const found = r.maybe();
  return {
    account: "a",
    collection: "applications",
    org: r.pick(["", "o1", "o2"]),
    project: "",
    id: `x${n}`,
    spec: {
      ...(r.maybe() ? { agent: r.pick(TEXTS) } : {}),
      ...(r.maybe() ? { service: r.pick(TEXTS) } : {}),
      ...(r.maybe() ? { environment: r.pick(TEXTS) } : {}),
      ...(r.maybe() ? { destination: r.maybe() ? { cluster: r.pick(TEXTS) } : {} } : {}),
      ...(r.maybe() ? { source: r.maybe() ? { repository: r.pick(TEXTS) } : { repoUrl: r.pick(TEXTS) } } : {}),
      ...(r.maybe() ? { sources: r.maybe() ? [{ repoUrl: r.pick(TEXTS) }, { repository: "second" }] : [] } : {}),
      ...(r.maybe() ? { labels: labels(), annotations: labels() } : {}),
      ...(r.maybe() ? { revisionHistoryLimit: r.below(3), flag: r.maybe() } : {}),
    },
    status: {
      ...(r.maybe() ? { sync: { status: r.pick(["Synced", "OutOfSync", "Unknown"]) } } : {}),
      ...(r.maybe() ? { health: { status: r.pick(["Healthy", "Degraded"]) } } : {}),
    },
    origin: (found ? r.pick(["generated", "discovered"]) : "managed") as Origin,
    ...(found
      ? {
          found: {
            live: {
              namespace: "n",
              name: "n",
              uid: "u",
              ...(r.maybe() ? { labels: labels(), annotations: labels() } : {}),
              ...(r.maybe() ? { destination: { name: r.pick(TEXTS) } } : {}),
            },
            ...(r.maybe() ? { owner: { kind: "application" as const, name: r.pick(TEXTS) } } : {}),
          },
        }
      : {}),
  };
}

const FIELDS =
  "id origin org project agent cluster repository service environment sync health owner spec.revisionHistoryLimit spec.flag spec.sources.1.repository"
    .split(" ")
    .concat(KEYS.flatMap((key) => [`labels.${key}`, `annotations.${key}`]));
const VALUES = [...TEXTS, "x1", "X7", "o1", "managed", "discovered", "Synced", "Healthy", "second", "1", "true"];

interface Asked {
  field: string;
  operator: string;
  values: string[];
}

function randomTerms(r: Random): Asked[] {
  return Array.from({ length: 1 + r.below(3) }, () => {
    const operator = r.pick(["=", "!=", "~", "in", "not in", "exists", "missing"]);
    const many = { exists: 0, missing: 0, in: 1 + r.below(4), "not in": 1 + r.below(4) }[operator] ?? 1;
    return { field: r.pick(FIELDS), operator, values: Array.from({ length: many }, () => r.pick(VALUES)) };
  });
}

const quoted = (value: string) => `"${value.replace(/["\\]/g, "\\$&")}"`;

function written({ field, operator, values }: Asked): string {
  if (values.length === 0) return `${field} ${operator}`;
  return operator.endsWith("in")
    ? `${field} ${operator} (${values.map(quoted).join(",")})`
    : `${field}${operator}${quoted(values[0]!)}`;
}

const one = (text: unknown) => (text === undefined ? [] : [String(text)]);

const TEXTS_OF: Record<string, (shown: any) => string[]> = {
  id: ({ id }) => [id],
  origin: ({ origin }) => [origin],
  org: ({ org }) => [org ?? ""],
  project: ({ project }) => [project ?? ""],
  agent: ({ spec }) => one(spec.agent),
  cluster: ({ spec, live }) => one(spec.destination?.cluster ?? live?.destination?.name),
  repository: ({ spec: { source, sources } }) =>
    one(source?.repository ?? source?.repoUrl ?? sources?.[0]?.repository ?? sources?.[0]?.repoUrl),
  service: ({ spec, live }) =>
    one(spec.service ?? firstLabel({ spec, live }, ["deploy.outpost.dev/service", "harness.io/serviceRef"])),
  environment: ({ spec, live }) =>
    one(spec.environment ?? firstLabel({ spec, live }, ["deploy.outpost.dev/environment", "harness.io/envRef"])),
  sync: ({ status }) => one(status.sync?.status),
  health: ({ status }) => one(status.health?.status),
  owner: ({ owner }) => one(owner?.name),
  "spec.revisionHistoryLimit": ({ spec }) => one(spec.revisionHistoryLimit),
  "spec.flag": ({ spec }) => one(spec.flag),
  "spec.sources.1.repository": ({ spec }) => one(spec.sources?.[1]?.repository),
};

/** The first label that there is, of the specification before the live object. */
function firstLabel({ spec, live }: any, keys: string[]): unknown {
  return keys.flatMap((key) => [spec.labels?.[key], live?.labels?.[key]]).find((text) => text !== undefined);
}

/** What stands in the spec or, where it does not, in the live object under a key of labels or annotations. */
function ofMap(field: string, { spec, live }: any): string[] {
  const [map, ...key] = field.split(".");
  return [spec[map!], live?.[map!]].flatMap((m) =>
    m && Object.keys(m).includes(key.join(".")) ? [m[key.join(".")]] : [],
  );
}

/** The oracle: what a term means of an object as a get shows it, said without the code that is tested. */
function holds({ field, operator, values }: Asked, shown: any): boolean {
  const texts = TEXTS_OF[field]?.(shown) ?? ofMap(field, shown);
  const [text] = texts;
  const ascii = (s: string) => [...s].map((c) => (c >= "A" && c <= "Z" ? c.toLowerCase() : c)).join("");
  switch (operator) {
    case "exists":
      return text !== undefined;
    case "missing":
      return text === undefined;
    case "~":
      return text !== undefined && ascii(text).indexOf(ascii(values[0]!)) >= 0;
    case "=":
    case "in":
      return text !== undefined && values.some((v) => v === text);
    default:
      return !(text !== undefined && values.some((v) => v === text));
  }
}

onBothStores("filters", (stores) => {
  test(`SQL, memory and an oracle agree on ${OBJECTS * FILTERS} random questions`, async () => {
    const r = randomFrom(seed);
    const db = await stores().open();
    await ensureAccount(db, "a");
    const objects = await writing(db, "a", (w) =>
      insertObjects(
        w,
        Array.from({ length: OBJECTS }, (_, n) => randomObject(r, n)),
      ),
    );
    const shown = objects.map((o) => ({ object: o, id: o.id, view: view(o) }));
    const account = { account: "a", org: "", project: "" };
    let some = 0;
    for (let i = 0; i < FILTERS; i++) {
      const terms = randomTerms(r);
      const text = terms.map(written).join(",");
      const filter = parseFilter(text);
      const want = shown.filter(({ view }) => terms.every((term) => holds(term, view))).map(({ id }) => id);
      const inMemory = shown.filter(({ object }) => matches(filter, object)).map(({ id }) => id);
      const inSql = await listObjects(db, "applications", account, { inherited: true, limit: OBJECTS, filter });
      expect({ seed, text, ids: inMemory.sort() }).toEqual({ seed, text, ids: want.sort() });
      expect({ seed, text, ids: inSql.map(({ id }) => id).sort() }).toEqual({ seed, text, ids: want.sort() });
      if (want.length > 0 && want.length < OBJECTS) some++;
    }
    // Filters that find all or nothing would prove little.
    expect(some).toBeGreaterThan(FILTERS / 3);
  }, 120_000);

  test("SQL and memory agree on values that are no texts", async () => {
    const db = await stores().open();
    await ensureAccount(db, "a");
    const values = [
      { b: 1, aa: [1.5, 1e21, 1e-7, -2.5e-9, 0], a: "\u0001\n é\u007f🙂" },
      [],
      {},
      null,
      false,
      12,
      1.25e25,
    ];
    const place = { account: "a", collection: "applications" as const, org: "", project: "" };
    const objects = await writing(db, "a", (w) =>
      insertObjects(
        w,
        values.map((value, n) => ({ ...place, id: `v${n}`, spec: { value, list: [value] }, status: {} })),
      ),
    );
    for (const field of [
      "spec.value",
      "spec.list",
      "spec.list.0",
      "spec.list.00",
      "spec.value.aa",
      "spec.list.99999999999",
    ]) {
      const rows = await db.query("select id, spec #>> $1::text[] as text from objects order by id", [
        field.split(".").slice(1),
      ]);
      for (const { id, text } of rows) {
        const object = objects.find((o) => o.id === id)!;
        const [term] = parseFilter(text === null ? `${field} missing` : `${field}=${quoted(text)}`);
        expect([field, id, text, matches([term!], object)]).toEqual([field, id, text, true]);
      }
    }
  });
});
