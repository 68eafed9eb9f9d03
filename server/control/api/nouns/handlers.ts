import { type Collection, type NounOperation, type NounRow, nouns } from "../../../../openapi/contract/nouns.ts";
import type { Services } from "../services.ts";
import type { Handlers } from "../typed.ts";
import { remove, removeDelivered } from "./delete.ts";
import { getObject } from "./get.ts";
import { list } from "./list.ts";
import { patch } from "./patch.ts";
import { put } from "./put.ts";

type NounHandlers = Pick<Handlers, NounOperation>;

/** The five operations of every noun of the contract. A test compares them with the contract's operations. */
export function nounHandlers(s: Services): NounHandlers {
  const handlers: Record<string, unknown> = {};
  for (const [key, { name, plural, delivered }] of Object.entries<NounRow>(nouns)) {
    const collection = key as Collection;
    handlers[`list${plural}`] = list(s, collection);
    handlers[`get${name}`] = getObject(s, collection);
    handlers[`put${name}`] = put(s, collection);
    handlers[`patch${name}`] = patch(s, collection);
    handlers[`delete${name}`] = delivered === undefined ? remove(s, collection) : removeDelivered(s, collection);
  }
  return handlers as NounHandlers;
}
