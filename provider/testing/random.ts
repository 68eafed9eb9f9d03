import type { Attribute, Attributes } from "../schema/attribute.ts";

/** Numbers from a seed, so that a failing run can be repeated. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export interface Choices {
  readonly random: () => number;
  /** Expressions for an attribute, by its dotted path; undefined lets the rules decide, an empty list leaves it out. */
  samples(path: string): readonly string[] | undefined;
}

const words = ["a", "b-1", "Zoë", "x y", "1", "true", "", '\\"q\\"', "$${x}", "日本"];

/** A random object of a schema as HCL text: `{ name = expression, … }`, or the body of a resource. */
export function randomBody(attributes: Attributes, choices: Choices, path = ""): string {
  return randomEntries(attributes, choices, path).join("\n");
}

function randomEntries(attributes: Attributes, choices: Choices, path: string): string[] {
  const { random } = choices;
  const out: string[] = [];
  for (const [name, a] of Object.entries(attributes)) {
    if (a.presence === "computed") continue;
    const here = path ? `${path}.${name}` : name;
    const samples = choices.samples(here);
    if (samples?.length === 0 || (a.presence !== "required" && random() < 0.55)) continue;
    if (a.presence !== "required" && random() < 0.05) out.push(`${name} = null`);
    else out.push(`${name} = ${samples ? pick(random, samples) : randomExpression(a, choices, here)}`);
  }
  return out;
}

const pick = <T>(random: () => number, list: readonly T[]): T => list[Math.floor(random() * list.length)]!;

function randomExpression(a: Attribute, choices: Choices, path: string): string {
  const { random } = choices;
  const many = <T>(make: (i: number) => T): T[] => Array.from({ length: Math.floor(random() * 4) }, (_, i) => make(i));
  if (a.attributes) {
    const element = () => `{ ${randomEntries(a.attributes!, choices, path).join(", ")} }`;
    if (a.nesting === "single") return element();
    if (a.nesting === "map") return `{ ${many((i) => `k${i} = ${element()}`).join(", ")} }`;
    return `[${many(element).join(", ")}]`;
  }
  const rules = a.rules ?? {};
  const [kind, of] = Array.isArray(a.type) ? a.type : [a.type];
  const scalar = (type: unknown): string => {
    if (type === "bool") return String(random() < 0.5);
    if (type === "number")
      return randomNumber(rules.integer === true, rules.minimum ?? -50, rules.maximum ?? 50, random);
    if (rules.enum) return JSON.stringify(pick(random, rules.enum));
    if (rules.json) return `jsonencode({ a = ${pick(random, ["1", "[1, null]", '"x"', "{ b = 1.5 }"])} })`;
    if (rules.duration) return pick(random, ['"90s"', '"10m"', '"1h30m"']);
    const { minLength = 0 } = rules.each ?? rules;
    return `"${pick(random, minLength > 0 ? words.filter(Boolean) : words)}"`;
  };
  if (kind === "dynamic") return pick(random, ['"x"', "5", "[1, true]", "{ a = null, b = [] }", "null"]);
  if (kind === "list" || kind === "set") return `[${many(() => scalar(of)).join(", ")}]`;
  if (kind === "map") return `{ ${many((i) => `"k ${i}" = ${scalar(of)}`).join(", ")} }`;
  return scalar(kind);
}

function randomNumber(integer: boolean, minimum: number, maximum: number, random: () => number): string {
  const whole = Math.floor(minimum + random() * (maximum - minimum + 1));
  if (integer) return String(whole);
  return pick(random, [String(whole), `${whole}.5`, "0.1", "1e3", "12345678901234567000", "0.30000000000000004"]);
}
