/** One expression of the jq language, as far as it names places in a document. */
export type Jq =
  | { is: "identity" | "recurse" }
  | { is: "literal"; value: unknown }
  | { is: "index"; of: Jq; key: Jq }
  | { is: "slice"; of: Jq; from?: Jq; to?: Jq }
  | { is: "each"; of: Jq }
  | { is: "maybe"; of: Jq }
  | { is: "pipe" | "comma" | "and" | "or" | "else"; left: Jq; right: Jq }
  | { is: "compare" | "compute"; operator: string; left: Jq; right: Jq }
  /** `left |= right` and its like; the operator is what stands before the equals sign, `|` or nothing among them. */
  | { is: "update"; operator: string; left: Jq; right: Jq }
  | { is: "list"; of?: Jq }
  | { is: "if"; condition: Jq; then: Jq; otherwise: Jq }
  /** A function of the language, or where `own` one that the expression defines. */
  | { is: "call"; name: string; parts: Jq[]; own?: true; made?: Made }
  /** `def name(params): body; rest`, and how much it costs to put its parts in. */
  | { is: "def"; name: string; params: string[]; body: Jq; rest: Jq; size: number }
  | { is: "try"; of: Jq; handler?: Jq | undefined }
  | { is: "variable"; name: string }
  | { is: "object"; entries: [key: Jq, value: Jq][] }
  /** Text with values in it, each written as the format says: a text, a value, a text, and so on. */
  | { is: "text"; format: string; parts: Jq[] }
  /** `update` makes the next state of the last one for each value of `of`; `foreach` gives `extract` of each state. */
  | { is: "reduce"; name: string; of: Jq; init: Jq; update: Jq; size: number }
  | { is: "foreach"; name: string; of: Jq; init: Jq; update: Jq; extract: Jq; size: number }
  /** `of as $name | body`, and how much it costs to put a value in. */
  | { is: "bind"; name: string; of: Jq; body: Jq; size: number }
  /** `as $a ?// [$b] | body`: the first choice without an error counts. */
  | { is: "choices"; of: Jq[] }
  | { is: "label"; name: string; body: Jq; size: number }
  | { is: "break"; name: string; label?: unknown };

/** A function that was defined, with the values of all variables around it put in; `params` are names with the number of their parts. */
export interface Made {
  params: readonly string[];
  body: Jq;
  size: number;
}

/** A value for a variable, a mark for a label, or what a name of a function stands for (`name/0`). */
type Binding = { name: string; value: unknown } | { label: string; value: unknown } | { calls: string; value: Made };

/** The name under which a function is known: others may have the same name with another number of parts. */
export const signature = (name: string, parts: readonly unknown[]): string => `${name}/${parts.length}`;

/** The expression with a binding put in; inner ones of the same name are left alone. */
export function bound(node: Jq, binding: Binding): Jq {
  if (node.is === "literal") return node;
  const inner = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inner);
    return typeof value === "object" && value !== null && "is" in value ? bound(value as Jq, binding) : value;
  };
  const all = (others: Partial<Record<string, unknown>> = {}): Jq =>
    ({
      ...Object.fromEntries(
        Object.entries(node).map(([field, value]) => [field, field === "label" ? value : inner(value)]),
      ),
      ...others,
    }) as Jq;
  if ("name" in binding) {
    if (node.is === "variable") return node.name === binding.name ? { is: "literal", value: binding.value } : node;
    if (node.is === "bind" && node.name === binding.name) return { ...node, of: bound(node.of, binding) };
    if ((node.is === "reduce" || node.is === "foreach") && node.name === binding.name)
      return { ...node, of: bound(node.of, binding), init: bound(node.init, binding) };
  } else if ("label" in binding) {
    if (node.is === "break") return node.name === binding.label ? { ...node, label: binding.value } : node;
    if (node.is === "label" && node.name === binding.label) return node;
  } else {
    if (node.is === "call" && node.own && !node.made && signature(node.name, node.parts) === binding.calls)
      return all({ made: binding.value });
    if (node.is === "def" && signature(node.name, node.params) === binding.calls) return node;
    if (node.is === "def" && node.params.includes(binding.calls)) return { ...node, rest: bound(node.rest, binding) };
  }
  return all();
}
