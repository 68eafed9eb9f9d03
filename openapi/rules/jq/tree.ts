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
  | { is: "list"; of?: Jq }
  | { is: "if"; condition: Jq; then: Jq; otherwise: Jq }
  | { is: "call"; name: string; parts: Jq[] }
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
  | { is: "label"; name: string; body: Jq; size: number }
  | { is: "break"; name: string; label?: unknown };

/** A value for a variable, or a mark for a label. */
type Binding = { name: string; value: unknown } | { label: string; value: unknown };

/** The expression with a value in place of a variable, or with a mark on the breaks of a label; inner ones of the same name are left alone. */
export function bound(node: Jq, binding: Binding): Jq {
  if (node.is === "literal") return node;
  if ("name" in binding) {
    if (node.is === "variable") return node.name === binding.name ? { is: "literal", value: binding.value } : node;
    if (node.is === "bind" && node.name === binding.name) return { ...node, of: bound(node.of, binding) };
    if ((node.is === "reduce" || node.is === "foreach") && node.name === binding.name)
      return { ...node, of: bound(node.of, binding), init: bound(node.init, binding) };
  } else {
    if (node.is === "break") return node.name === binding.label ? { ...node, label: binding.value } : node;
    if (node.is === "label" && node.name === binding.label) return node;
  }
  const inner = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inner);
    return typeof value === "object" && value !== null && "is" in value ? bound(value as Jq, binding) : value;
  };
  return Object.fromEntries(
    Object.entries(node).map(([field, value]) => [field, field === "label" ? value : inner(value)]),
  ) as Jq;
}
