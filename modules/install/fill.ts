import { type Slot, slots } from "./slots.ts";

/** A value for each slot; undefined drops what holds it. */
export type Filling = { [slot in Slot]?: string };

// Longer texts first: one slot's text may begin another's.
const ORDER = (Object.keys(slots) as Slot[]).sort((a, b) => slots[b].length - slots[a].length);
const PATTERN = new RegExp(ORDER.map((slot) => slots[slot].replace(/[.\\/]/g, "\\$&")).join("|"), "g");
const slotOf = new Map(ORDER.map((slot) => [slots[slot] as string, slot]));
const DROP = Symbol("drop");

/**
 * Puts the values into a copy of the tree. A string whose slot has no value goes, and with it the nearest item of a list,
 * or else its key; a list that becomes empty goes too. Values only ever become parts of strings, never structure.
 */
export function fill<T>(tree: T, filling: Filling): T {
  const filled = walk(tree, filling);
  if (filled === DROP) throw new Error("a manifest cannot be dropped as a whole");
  return filled as T;
}

function walk(node: unknown, filling: Filling): unknown {
  if (typeof node === "string") return text(node, filling);
  if (Array.isArray(node)) {
    const items = node.map((item) => walk(item, filling)).filter((item) => item !== DROP);
    return items.length === 0 && node.length > 0 ? DROP : items;
  }
  if (node === null || typeof node !== "object") return node;
  const pairs = Object.entries(node).map(([key, value]) => [text(key, filling), walk(value, filling)] as const);
  // In an environment entry or a reference the value is the point: without it the whole entry goes.
  if ("name" in node && pairs.some(([key, value]) => value === DROP && (key === "name" || key === "value")))
    return DROP;
  return Object.fromEntries(pairs.filter(([, value]) => value !== DROP));
}

function text(source: string, filling: Filling): string | typeof DROP {
  let dropped = false;
  const filled = source.replace(PATTERN, (found) => {
    const value = filling[slotOf.get(found)!];
    dropped ||= value === undefined;
    return value ?? "";
  });
  return dropped ? DROP : filled;
}
