import { type Collection, type NounRow, nouns } from "../../../openapi/contract/nouns.ts";
import { type OperationId, operations } from "../../../openapi/contract/operations.ts";
import type { View } from "./views/columns.ts";
import { VIEWS } from "./views/table.ts";

export { application, type Readiness, resourceName } from "./views/readiness.ts";
export { revisionText, shortRevision } from "./views/table.ts";

export interface Noun extends View {
  /** The word on the command line. */
  word: string;
  alias: readonly string[];
  /** `Application` of getApplication and ApplicationSpec. */
  schema: string;
  collection: string;
  /** Several of them, in a sentence; the collection where that is a word. */
  many?: string;
  summary: string;
  /** The objects that must be there before this kind's: `apply` of a file with several goes in this order. */
  order: number;
  /** The service can forget it without its agent. */
  force: boolean;
  cascade: boolean;
}

/** What the contract says of each noun, and how it is shown. */
export const NOUNS: readonly Noun[] = (Object.keys(VIEWS) as Collection[]).map((collection) => {
  const { name, delivered, cascade = false, cli }: NounRow = nouns[collection];
  return {
    ...cli,
    ...VIEWS[collection],
    collection,
    schema: name,
    cascade,
    force: delivered !== undefined || collection === "agents",
  };
});

export const manyOf = (noun: Noun): string => noun.many ?? noun.collection;

/** The operation that lists a collection. */
export const listOf = ({ collection }: Noun): OperationId =>
  (Object.keys(operations) as OperationId[]).find(
    (id) => operations[id].method === "GET" && operations[id].path === `/v1/${collection}`,
  )!;

export const nounOf = (word: string): Noun | undefined =>
  NOUNS.find((n) => [n.word, ...n.alias, n.schema, n.collection].some((w) => w.toLowerCase() === word.toLowerCase()));
