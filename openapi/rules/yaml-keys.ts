import { isCollection, isPair, type Node } from "yaml";

/**
 * The first key that is itself a map or list. The ecosystem's parsers refuse it. Ours would make a text of it, and of some hundred within
 * each other one of megabytes, for minutes: V8 may even end the whole process over it. So it is looked for before values are made.
 */
export function collectionKey(node: unknown): Node | undefined {
  if (isPair(node)) return isCollection(node.key) ? node.key : collectionKey(node.value);
  if (!isCollection(node)) return undefined;
  for (const item of node.items) {
    const found = collectionKey(item);
    if (found) return found;
  }
  return undefined;
}
