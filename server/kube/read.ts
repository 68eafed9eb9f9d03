import { isJsonTooDeep, MAX_NESTING } from "../base/json/nesting.ts";

// What is around an object: a list and its items, or a watch's event.
const AROUND = 3;
const MOST = MAX_NESTING + AROUND;

/**
 * An answer of the API server, which lets objects nest thousands of levels deep: whoever may write one must not stop a program that lists them
 * all. What lies deeper than any manifest may is left out, and the object differs then.
 */
export function readAnswer(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (isJsonTooDeep(text, MOST)) cut(value);
  return value;
}

function cut(root: unknown): void {
  const open: [value: unknown, depth: number][] = [[root, 1]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [value, depth] = next;
    if (value === null || typeof value !== "object") continue;
    const members = value as Record<string, unknown>;
    for (const [name, inner] of Object.entries(members)) {
      if (depth < MOST) open.push([inner, depth + 1]);
      else if (inner !== null && typeof inner === "object") members[name] = null;
    }
  }
}
