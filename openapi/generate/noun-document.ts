import { type NounHead, pluralOf } from "./nouns.ts";
import { type Json, param, ref } from "./parts.ts";

/** The schemas and the five operations that every noun has. */
export function addNoun(doc: Json, noun: NounHead, tag: string): void {
  const { name, collection } = noun;
  const { schemas } = doc.components;
  schemas[`${name}Spec`].properties.labels ??= LABELS;
  Object.assign(schemas, nounSchemas(noun));
  const scope = scopeParameters(noun);
  doc.paths[`/v1/${collection}`] = { get: listOperation(noun, tag, scope) };
  doc.paths[`/v1/${collection}/{id}`] = itemOperations(noun, tag, [param("id"), ...scope]);
}

/** Every noun has labels; those that become labels of an object in a cluster say so themselves. */
const LABELS = {
  type: "object",
  "x-empty-counts": false,
  maxProperties: 64,
  additionalProperties: { type: "string", maxLength: 63 },
  description: "Labels, by which lists, counts and watches select: `filter=labels.team=shop`.",
};

function nounSchemas(noun: NounHead): Json {
  const { name } = noun;
  return {
    [`${name}Put`]: {
      type: "object",
      additionalProperties: false,
      required: ["spec"],
      properties: { spec: ref(`${name}Spec`) },
    },
    [`${name}Patch`]: {
      type: "object",
      description: "JSON merge patch (RFC 7396) of the object; null removes a field.",
      additionalProperties: false,
      required: ["spec"],
      properties: { spec: { type: "object", additionalProperties: true } },
    },
    [name]: objectSchema(noun),
    [`${name}List`]: {
      type: "object",
      additionalProperties: false,
      required: ["items"],
      properties: { items: { type: "array", items: ref(name) }, nextCursor: { type: "string" } },
    },
  };
}

const objectSchema = ({ name, about, discovered }: NounHead): Json => ({
  type: "object",
  description: about,
  additionalProperties: false,
  required: ["id", "uid", "generation", "version", "createdAt", "updatedAt", "spec", "status"],
  properties: {
    id: ref("Label"),
    org: ref("Label"),
    project: ref("Label"),
    uid: { type: "string" },
    ...(discovered ? discoveredFields() : {}),
    generation: { type: "integer", description: "Grows with every change of spec." },
    version: { type: "string", description: "Grows with every change; also the `ETag`." },
    createdAt: ref("Timestamp"),
    updatedAt: ref("Timestamp"),
    deletionRequestedAt: ref("Timestamp"),
    spec: ref(`${name}Spec`),
    status: ref(`${name}Status`),
  },
});

/** What an object of a noun shows that an agent can also find in its cluster. */
function discoveredFields(): Json {
  return {
    origin: ref("Origin"),
    owner: ref("Owner"),
    live: ref("Live"),
    inexpressible: {
      type: "array",
      description:
        "Discovered objects: fields of the live object that `spec` cannot express. `spec` leaves them out, even if it requires them.",
      items: { type: "string" },
    },
  };
}

function scopeParameters({ scopes }: NounHead): Json[] {
  const scope = [];
  if (scopes.includes("org") || scopes.includes("project")) scope.push(param("org"));
  if (scopes.includes("project")) scope.push(param("project"));
  return scope;
}

const PROBLEM = { "4XX": { $ref: "#/components/responses/Problem" } };
const ETAG = { ETag: { $ref: "#/components/headers/ETag" } };
const GONE = { description: "Gone, or released for the one that follows." };

const answer = (description: string, schema: string, headers?: Json) => ({
  description,
  ...(headers ? { headers } : {}),
  content: { "application/json": { schema: ref(schema) } },
});

const body = (schema: string, type = "application/json") => ({
  required: true,
  content: { [type]: { schema: ref(schema) } },
});

/** What all operations of a noun say of themselves. */
const head = (noun: NounHead, tag: string) => (operationId: string, summary: string, access: string) => ({
  operationId,
  summary,
  tags: [tag],
  "x-access": access,
  ...(noun.task && access === "viewer" ? { "x-task": true } : {}),
  "x-collection": noun.collection,
  "x-scopes": noun.scopes,
});

const listOperation = (noun: NounHead, tag: string, scope: Json[]): Json => ({
  ...head(noun, tag)(`list${pluralOf(noun)}`, `List ${noun.collection}`, "viewer"),
  parameters: [...scope, ...["limit", "cursor", "filter", "sort", "view", "inherited"].map(param)],
  responses: {
    200: {
      description: "One page, ordered by scope and id unless `sort` says otherwise.",
      content: { "application/json": { schema: { anyOf: [ref(`${noun.name}List`), ref("SummaryList")] } } },
    },
    ...PROBLEM,
  },
});

function itemOperations(noun: NounHead, tag: string, item: Json[]): Json {
  const { name } = noun;
  const said = head(noun, tag);
  const writeParameters = writing(noun, item);
  return {
    get: {
      ...said(`get${name}`, `Get one ${name.toLowerCase()}`, "viewer"),
      parameters: [...item, param("ifNoneMatch")],
      responses: { 200: answer("The object.", name, ETAG), 304: { description: "Not changed." }, ...PROBLEM },
    },
    put: {
      ...said(`put${name}`, `Create or replace one ${name.toLowerCase()}`, noun.write),
      parameters: [...writeParameters, param("ifNoneMatch")],
      requestBody: body(`${name}Put`),
      responses: { 200: answer("Replaced.", name, ETAG), 201: answer("Created.", name, ETAG), ...PROBLEM },
    },
    patch: {
      ...said(`patch${name}`, `Change fields of one ${name.toLowerCase()}`, noun.write),
      parameters: writeParameters,
      requestBody: body(`${name}Patch`, "application/merge-patch+json"),
      responses: { 200: answer("Changed.", name, ETAG), ...PROBLEM },
    },
    delete: {
      ...said(`delete${name}`, `Delete one ${name.toLowerCase()}`, noun.write),
      parameters: deleting(noun, item),
      responses: noun.delivered
        ? { 202: answer("The agent deletes it; the object is gone once it has.", name), 204: GONE, ...PROBLEM }
        : { 204: GONE, ...PROBLEM },
    },
  };
}

const writing = ({ delivered, discovered }: NounHead, item: Json[]): Json[] => [
  ...item,
  param("ifMatch"),
  ...(delivered ? [MOVE] : []),
  ...(discovered ? [param("adopt")] : []),
];

const deleting = ({ cascade, delivered, collection }: NounHead, item: Json[]): Json[] => [
  ...item,
  param("ifMatch"),
  ...(cascade ? [CASCADE] : []),
  ...(delivered || collection === "agents" ? [FORCE] : []),
  REPLACE,
  UID,
];

const MOVE = {
  name: "move",
  in: "query",
  description:
    "Allow another `agent`. The agent before gives the object up and deletes nothing in a cluster; references to the object stay; its `uid` is new.",
  schema: { type: "boolean", default: false },
};
const CASCADE = {
  name: "cascade",
  in: "query",
  description: "What becomes of the objects in the cluster.",
  schema: { type: "string", enum: ["foreground", "background", "orphan"], default: "foreground" },
};
const FORCE = {
  name: "force",
  in: "query",
  description: "Forget the object without waiting for the agent; what is in the cluster stays.",
  schema: { type: "boolean", default: false },
};
const REPLACE = {
  name: "replace",
  in: "query",
  description:
    "An object of the same id follows. One that others refer to is then released and not deleted: it stays until `PUT` with `If-None-Match: *` puts a new one, with a new `uid`, in its place, and the references go to that.",
  schema: { type: "boolean", default: false },
};
const UID = {
  name: "uid",
  in: "query",
  description: "Delete only the object with this `uid`; another one of the same id is `not_found`.",
  schema: { type: "string", minLength: 1, maxLength: 64 },
};
