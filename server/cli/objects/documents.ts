import { readDocuments as readYamlDocuments } from "../../base/json/nesting.ts";
import { checkExact } from "../output/exact.ts";
import { usage } from "../output/failure.ts";
import type { Scope } from "../session/api.ts";
import type { Json } from "../show.ts";
import { NOUNS, type Noun, nounOf } from "./nouns.ts";

/** One object of a file: what `-o yaml` writes. */
export interface Document {
  noun: Noun;
  id: string;
  scope: Scope;
  spec: Json;
}

// What the service adds; a file made with `-o yaml` may carry it and is taken as it is.
const READ_ONLY = [
  ...["uid", "generation", "version", "createdAt", "updatedAt", "deletionRequestedAt", "status"],
  ...["origin", "owner", "live", "inexpressible"],
];

/** An object as `-o yaml` and `-o json` write it: `apply -f` takes it back. */
export const withKind = (noun: Noun, object: Json): Json => ({ kind: noun.schema, ...object });

/** Every object in a YAML or JSON text, in the order in which they can be created. */
export function readDocuments(text: string, file: string, expected: Noun | undefined, fallback: Scope): Document[] {
  const found: Document[] = [];
  for (const parsed of readYamlDocuments(text)) {
    if (parsed.errors[0]) throw usage(`${file}: ${parsed.errors[0].message}`);
    checkExact(parsed, file);
    const value = parsed.toJS({ maxAliasCount: 100 }) as Json | null;
    if (value === null) continue;
    for (const item of Array.isArray(value.items) && !value.spec ? value.items : [value])
      found.push(document(item, file, expected, fallback));
  }
  if (found.length === 0) throw usage(`${file} holds no object`);
  return found.sort((a, b) => a.noun.order - b.noun.order);
}

function document(value: Json, file: string, expected: Noun | undefined, fallback: Scope): Document {
  if (typeof value !== "object" || value === null) throw usage(`${file}: an object is expected`);
  if (/^argoproj\.io\//.test(String(value.apiVersion))) throw ofArgo(value, file);
  const { kind, id, org, project, spec, ...rest } = value;
  const noun = kind === undefined ? expected : nounOf(String(kind));
  if (!noun)
    throw usage(
      kind === undefined
        ? `${file}: \`kind\` is missing (${NOUNS.map((n) => n.schema).join(", ")})`
        : `${file}: there is no kind ${JSON.stringify(kind)}`,
    );
  if (expected && noun !== expected) throw usage(`${file}: ${noun.schema} is not for \`outpost ${expected.word}\``);
  if (typeof id !== "string") throw usage(`${file}: \`id\` is missing`);
  if (typeof spec !== "object" || spec === null) throw usage(`${file}: \`spec\` of ${id} is missing`);
  const unknown = Object.keys(rest).find((key) => !READ_ONLY.includes(key));
  if (unknown) throw usage(`${file}: ${noun.schema} ${id} has no field ${JSON.stringify(unknown)}`);
  return { noun, id, scope: org === undefined && project === undefined ? fallback : { org, project }, spec };
}

/** An object of Argo CD goes into the cluster; the agent finds it there, and then it can be taken over. */
function ofArgo({ kind, metadata }: Json, file: string): Error {
  const words: Record<string, string> = { Application: "app", ApplicationSet: "appset", AppProject: "appproject" };
  const word = words[String(kind)];
  const name = typeof metadata?.name === "string" ? metadata.name : "NAME";
  const then = word ? ` The agent shows it from then on; \`outpost ${word} adopt ${name}\` takes it over.` : "";
  const own = word ? ` \`outpost admin import -f ${file} --agent AGENT\` makes it the service's own. Or put` : " Put";
  return usage(
    `${file}: ${String(kind)} is an object of Argo CD.${own} it into the agent's namespace with \`kubectl apply -n NAMESPACE -f ${file}\`.${then}`,
  );
}
