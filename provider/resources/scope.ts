import type { Place, Stored } from "../client/client.ts";
import { stringField, type ValueMap } from "../value/value.ts";
import type { Noun } from "./noun.ts";

/** Where the object of a configuration, plan or state is. */
export function placeOf(noun: Noun, value: ValueMap): Place {
  return {
    collection: noun.collection,
    id: stringField(value, "id") ?? "",
    org: stringField(value, "org"),
    project: stringField(value, "project"),
  };
}

/** `org/project/id`, as an import takes it. */
export const printPlace = ({ org, project, id }: Place): string => [org, project, id].filter(Boolean).join("/");

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** The place of an import id `[org/[project/]]id`; undefined when this noun cannot be there. */
export function parseImportId(noun: Noun, text: string): Place | undefined {
  const parts = text.split("/");
  const id = parts.pop()!;
  const [org, project] = parts;
  const outer = org !== undefined ? "org" : "account";
  const scope = project !== undefined ? "project" : outer;
  if (parts.length > 2 || !noun.scopes.includes(scope) || ![id, ...parts].every((part) => label.test(part)))
    return undefined;
  return { collection: noun.collection, id, org, project };
}

/** The import ids that a noun takes, for messages. */
export function importForm(noun: Noun): string {
  if (!noun.scopes.includes("account")) return noun.scopes.includes("project") ? "org/[project/]id" : "org/id";
  if (noun.scopes.includes("project")) return "[org/[project/]]id";
  return noun.scopes.includes("org") ? "[org/]id" : "id";
}

/** The error for an import id that `parseImportId` refuses, with a correct example. */
export function importFault(noun: Noun, text: string): string {
  const wrong = text.split("/").find((part) => !label.test(part));
  const form = importForm(noun);
  const example = form.replace("org", "team").replace("project", "shop").replace("id", "example").replace(/[[\]]/g, "");
  const why =
    wrong === undefined
      ? ""
      : ` ${JSON.stringify(wrong)} is not an id: small letters, digits and \`-\`, with a letter or digit at both ends.`;
  return `The import id of ${noun.type} is \`${form}\`, for example \`${example}\`, got ${JSON.stringify(text)}.${why}`;
}

/** The place that a reference means, seen from an object: `id` beside it, `org.id` or `account.id` above it. */
export function resolveReference(collection: string, reference: string, from: Place): Place {
  const [head, tail] = reference.split(".");
  if (tail === undefined) return { collection, id: reference, org: from.org, project: from.project };
  return { collection, id: tail, org: head === "org" ? from.org : undefined };
}

/** The noun as Terraform spells it: `app_project`. */
export const printNoun = (noun: Noun): string => noun.type.replace(/^outpost_/, "");

export const printStored = (noun: Noun, stored: Stored | Place): string => `${printNoun(noun)} ${stored.id}`;
