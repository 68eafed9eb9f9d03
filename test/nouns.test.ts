import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { operations } from "../openapi/contract/operations.ts";
import { type NounHead, pluralOf, readNouns } from "../openapi/generate/nouns.ts";
import { createOutpost } from "../provider/outpost.ts";
import { snake } from "../provider/schema/names.ts";
import { NOUNS as HELD } from "../server/agent/link/nouns.ts";
import { NOUNS as WORDS } from "../server/cli/objects/nouns.ts";
import { handlers } from "../server/control/api/handlers.ts";
import type { Services } from "../server/control/api/services.ts";
import { DELIVERY_ORDER, nouns as RULED } from "../server/control/domain/nouns.ts";
import { KINDS } from "../server/delegate/kinds/table.ts";

/** A noun is a file in `openapi/spec`, and a kind of task is a schema there. Every list that derives from them has them all, and nothing else. */
const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const nouns = readNouns(at("openapi/spec"));
const document = parse(readFileSync(at("openapi/contract/openapi.json"), "utf8"));
const names = (of: (noun: NounHead) => string, which: readonly NounHead[] = nouns) => which.map(of).sort();
const collections = names(({ collection }) => collection);
const delivered = names(
  ({ collection }) => collection,
  nouns.filter((noun) => noun.delivered !== undefined),
);
const types = names(({ name }) => `outpost${snake(name)}`);
const lists = names((noun) => `outpost${snake(pluralOf(noun))}`);
const fileOf = ({ name }: NounHead) => snake(name).slice(1).replaceAll("_", "-");

test("there are nouns, and some are delivered", () => {
  expect(nouns.length).toBeGreaterThan(10);
  expect(delivered).toContain("gnupgkeys");
});

test("the service serves every operation of every noun", () => {
  const wanted = nouns.flatMap((noun) => [
    `list${pluralOf(noun)}`,
    ...["get", "put", "patch", "delete"].map((verb) => verb + noun.name),
  ]);
  const served = Object.keys(handlers({} as Services));
  expect(served.sort()).toEqual(Object.keys(operations).sort());
  expect(wanted.filter((operation) => !served.includes(operation))).toEqual([]);
});

test("the service knows its schema, and delivers each in its turn", () => {
  expect(Object.keys(RULED).sort()).toEqual(collections);
  expect([...DELIVERY_ORDER].sort()).toEqual(delivered);
  const turns = nouns.flatMap((noun) => noun.delivered ?? []);
  expect(new Set(turns).size).toBe(turns.length);
});

test("workers and watchers name the same collections", () => {
  const { schemas } = document.components;
  for (const name of ["WorkerObject", "ObjectReport"])
    expect([...schemas[name].properties.collection.enum].sort()).toEqual(delivered);
  const watched = document.paths["/v1/watch/{collection}"].get.parameters.find(
    ({ name }: { name?: string }) => name === "collection",
  );
  expect([...watched.schema.enum].sort()).toEqual(collections);
});

test("the agent can put, delete and find every noun that is delivered to it", () => {
  expect(Object.keys(HELD).sort()).toEqual(delivered);
});

test("the command line has a word for each, and none twice", () => {
  expect(WORDS.map(({ collection }) => collection).sort()).toEqual(collections);
  const words = WORDS.flatMap(({ word, alias }) => [word, ...alias]);
  expect(words.filter((word, i) => words.indexOf(word) !== i)).toEqual([]);
});

test("Terraform has a resource, a data source, one that lists, and their pages", () => {
  const { resources, dataSources } = createOutpost({});
  expect(types.filter((type) => !resources[type] || !dataSources[type])).toEqual([]);
  expect(lists.filter((type) => !dataSources[type])).toEqual([]);
  const page = (folder: string) => (type: string) => `${folder}/${type.slice("outpost_".length)}.md`;
  const pages = [...types.map(page("resources")), ...[...types, ...lists].map(page("data-sources"))];
  expect(pages.filter((page) => !existsSync(at(`provider/generated/docs/${page}`)))).toEqual([]);
});

test("a construct of a noun has its name, and users can import it", () => {
  const files = nouns.map((noun) => `${fileOf(noun)}.ts`);
  const constructs = readdirSync(at("modules/constructs/nouns")).filter((name) => !name.endsWith(".test.ts"));
  expect(constructs.filter((file) => !files.includes(file))).toEqual([]);
  const exported = readFileSync(at("modules/constructs/bindings/constructs.ts"), "utf8");
  expect(constructs.filter((file) => !exported.includes(`"../nouns/${file}"`))).toEqual([]);
});

test("every kind of task has parameters, and the delegate runs it", () => {
  const kinds: string[] = document.components.schemas.TaskKind.enum;
  expect(Object.keys(KINDS).sort()).toEqual([...kinds].sort());
  const words = (kind: string) => kind.split(".").map((word) => word[0]!.toUpperCase() + word.slice(1));
  expect(kinds.filter((kind) => !document.components.schemas[`TaskParams${words(kind).join("")}`])).toEqual([]);
});
