import type { Schemas } from "../../generate/attribute.ts";
import type { Json } from "../../value/json.ts";
import type { RealService } from "../real.ts";
import type { Base } from "./bases.ts";
import { type Case, dotted, isHard, Legal } from "./legal.ts";

type Spec = { readonly [name: string]: Json };

/** How many values of a field are tried before it counts as excluded by what the object has by then. */
const TRIES = 6;

// Their values have rules beyond the schema.
const LABELS: Json[] = [{ k: "v", "k.l/m": "v" }];

/** Puts objects that together have a value for every field of a noun, each object with as many as the service takes at once. */
export class Fullest {
  readonly #service: RealService;
  readonly #schemas: Schemas;
  constructor(service: RealService, schemas: Schemas) {
    this.#service = service;
    this.#schemas = schemas;
  }

  /** The ids of the objects, and the fields that none of them has. `path` gives the address of an id. */
  async put(name: string, base: Base, path: (id: string) => string): Promise<{ ids: string[]; left: string[] }> {
    const starts = [base.spec, ...Object.values(base.instead ?? {})] as Spec[];
    const ids: string[] = [];
    let left: Set<string> | undefined;
    for (const start of starts) {
      const id = `full-${ids.length}`;
      const has = await this.#fill(name, base, start, path(id), left);
      const all: Iterable<string> = left ?? this.#fieldsOf(name, base, start).keys();
      left = new Set([...all].filter((field) => ![...has].some((one) => one === field || one.startsWith(`${field}.`))));
      ids.push(id);
    }
    return { ids, left: [...(left ?? [])] };
  }

  #legal({ samples = {} }: Base): Legal {
    const shared: Base["samples"] = { labels: LABELS };
    return new Legal(this.#schemas, (path) => samples[path] ?? samples[`*.${path.split(".").pop()}`] ?? shared[path]);
  }

  /** The values of each field, those with most in them first. */
  #fieldsOf(name: string, base: Base, start: Spec): Map<string, Case[]> {
    const out = new Map<string, Case[]>();
    // Terraform writes null for an empty text into the configuration that it generates.
    for (const one of this.#legal(base).casesOf(name, start))
      if (one.value !== undefined && one.value !== "")
        out.set(dotted(one.path), [...(out.get(dotted(one.path)) ?? []), one]);
    for (const [field, cases] of out)
      out.set(
        field,
        [...cases].sort((a, b) => Number(isHard(a.value)) - Number(isHard(b.value))),
      );
    return out;
  }

  async #fill(
    name: string,
    base: Base,
    start: Spec,
    path: string,
    wanted: ReadonlySet<string> | undefined,
  ): Promise<Set<string>> {
    const legal = this.#legal(base);
    const has = new Set<string>(fieldsIn(start));
    let spec = start;
    await this.#must(path, spec);
    for (const [field, cases] of this.#fieldsOf(name, base, start)) {
      if (wanted && !wanted.has(field)) continue;
      for (const one of cases.slice(0, TRIES)) {
        const along = base.along?.[`${field}=${String(one.value)}`] as Spec | undefined;
        const next = { ...legal.put(name, spec, one), ...along };
        const { status } = await this.#service.ask("PUT", path, { spec: next });
        if (status >= 500) throw new Error(`${path}: ${status} to ${JSON.stringify(next)}`);
        if (status >= 300) continue;
        spec = next;
        has.add(field);
        break;
      }
    }
    return has;
  }

  async #must(path: string, spec: Spec): Promise<void> {
    const { status, body } = await this.#service.ask("PUT", path, { spec });
    if (status >= 300) throw new Error(`${path}: ${JSON.stringify(body)}`);
  }
}

/** The fields that a spec has, at every depth. */
function fieldsIn(json: Json, at: readonly string[] = []): string[] {
  if (Array.isArray(json)) return json.flatMap((one) => fieldsIn(one, at));
  if (typeof json !== "object" || json === null) return [];
  return Object.entries(json).flatMap(([name, value]) => [
    dotted([...at, name]),
    ...fieldsIn(value as Json, [...at, name]),
  ]);
}
