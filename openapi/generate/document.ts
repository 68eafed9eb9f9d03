import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { collectionsOf, type NounHead, pluralOf, readNouns } from "./nouns.ts";

type Json = Record<string, any>;
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const param = (name: string) => ({ $ref: `#/components/parameters/${name}` });

/** Puts the files of `spec/` together into the one OpenAPI document. */
export function buildDocument(specDir: string): Json {
  const doc: Json = parse(readFileSync(join(specDir, "head.yaml"), "utf8"));
  doc.paths = {};
  doc.tags = [];
  const nouns = readNouns(specDir);
  const files = readdirSync(specDir).filter((f) => f.endsWith(".yaml") && !["head.yaml", "codes.yaml"].includes(f));
  for (const file of files.sort()) {
    const part: Json = withCollections(parse(readFileSync(join(specDir, file), "utf8")), nouns);
    if (part.schemas?.TaskKind?.["x-kinds"]) part.schemas.TaskKind = { type: "string", enum: taskKinds(specDir) };
    const tag = part.noun?.collection ?? file.replace(".yaml", "");
    doc.tags.push({ name: tag });
    Object.assign(doc.components.schemas, part.schemas);
    if (part.noun) addNoun(doc, part.noun, tag);
    for (const [path, methods] of Object.entries<Json>(part.paths ?? {})) {
      for (const [method, short] of Object.entries<Json>(methods)) {
        doc.paths[path] ??= {};
        doc.paths[path][method] = expand(path, short, tag);
      }
    }
  }
  return doc;
}

/** Every kind of task has its parameters in `kinds.yaml`: those of `helm.push` are TaskParamsHelmPush. */
export function taskKinds(specDir: string): string[] {
  const { schemas }: Json = parse(readFileSync(join(specDir, "kinds.yaml"), "utf8"));
  return Object.keys(schemas).flatMap((name) => {
    const [, family, verb] = /^TaskParams([A-Z][a-z]+)([A-Z]\w*)$/.exec(name) ?? [];
    return family && verb ? `${family.toLowerCase()}.${verb[0]!.toLowerCase()}${verb.slice(1)}` : [];
  });
}

/** Writes out the lists of collections: `x-nouns` becomes the `enum` of the same place. `x-words` is for `contract/patterns.ts` alone. */
function withCollections(part: Json, nouns: readonly NounHead[]): Json {
  return JSON.parse(JSON.stringify(part), (_, value) => {
    if (value?.["x-nouns"] === undefined && value?.["x-words"] === undefined) return value;
    const { "x-nouns": which, "x-words": __, ...schema } = value;
    return which === undefined ? schema : { ...schema, enum: collectionsOf(nouns, which) };
  });
}

/** Pattern → what it asks for, as the files of `spec/` say beside it. */
export function patternWords(specDir: string): Record<string, string> {
  const words: Record<string, string> = {};
  for (const file of readdirSync(specDir)
    .filter((name) => name.endsWith(".yaml"))
    .sort())
    JSON.stringify(parse(readFileSync(join(specDir, file), "utf8")), (_, value) => {
      if (value?.["x-words"] !== undefined) words[value.pattern] = value["x-words"];
      return value;
    });
  return words;
}

/** Every noun has labels; those that become labels of an object in a cluster say so themselves. */
const LABELS = {
  type: "object",
  "x-empty-counts": false,
  maxProperties: 64,
  additionalProperties: { type: "string", maxLength: 63 },
  description: "Labels, by which lists, counts and watches select: `filter=labels.team=shop`.",
};

function addNoun(doc: Json, noun: NounHead, tag: string): void {
  const { name, collection } = noun;
  const plural = pluralOf(noun);
  const schemas = doc.components.schemas;
  schemas[`${name}Spec`].properties.labels ??= LABELS;
  schemas[`${name}Put`] = {
    type: "object",
    additionalProperties: false,
    required: ["spec"],
    properties: { spec: ref(`${name}Spec`) },
  };
  schemas[`${name}Patch`] = {
    type: "object",
    description: "JSON merge patch (RFC 7396) of the object; null removes a field.",
    additionalProperties: false,
    required: ["spec"],
    properties: { spec: { type: "object", additionalProperties: true } },
  };
  schemas[name] = {
    type: "object",
    description: noun.about,
    additionalProperties: false,
    required: ["id", "uid", "generation", "version", "createdAt", "updatedAt", "spec", "status"],
    properties: {
      id: ref("Label"),
      org: ref("Label"),
      project: ref("Label"),
      uid: { type: "string" },
      ...(noun.discovered ? discoveredFields() : {}),
      generation: { type: "integer", description: "Grows with every change of spec." },
      version: { type: "string", description: "Grows with every change; also the `ETag`." },
      createdAt: ref("Timestamp"),
      updatedAt: ref("Timestamp"),
      deletionRequestedAt: ref("Timestamp"),
      spec: ref(`${name}Spec`),
      status: ref(`${name}Status`),
    },
  };
  schemas[`${name}List`] = {
    type: "object",
    additionalProperties: false,
    required: ["items"],
    properties: { items: { type: "array", items: ref(name) }, nextCursor: { type: "string" } },
  };
  const scope = [];
  if (noun.scopes.includes("org") || noun.scopes.includes("project")) scope.push(param("org"));
  if (noun.scopes.includes("project")) scope.push(param("project"));
  const item = [param("id"), ...scope];
  const etag = { ETag: { $ref: "#/components/headers/ETag" } };
  const answer = (description: string, schema: string, headers?: Json) => ({
    description,
    ...(headers ? { headers } : {}),
    content: { "application/json": { schema: ref(schema) } },
  });
  const problem = { "4XX": { $ref: "#/components/responses/Problem" } };
  const body = (schema: string, type = "application/json") => ({
    required: true,
    content: { [type]: { schema: ref(schema) } },
  });
  const common = (operationId: string, summary: string, access: string) => ({
    operationId,
    summary,
    tags: [tag],
    "x-access": access,
    ...(noun.task && access === "viewer" ? { "x-task": true } : {}),
    "x-collection": collection,
    "x-scopes": noun.scopes,
  });
  const deleteParameters: Json[] = [...item, param("ifMatch")];
  if (noun.cascade)
    deleteParameters.push({
      name: "cascade",
      in: "query",
      description: "What becomes of the objects in the cluster.",
      schema: { type: "string", enum: ["foreground", "background", "orphan"], default: "foreground" },
    });
  if (noun.delivered || collection === "agents")
    deleteParameters.push({
      name: "force",
      in: "query",
      description: "Forget the object without waiting for the agent; what is in the cluster stays.",
      schema: { type: "boolean", default: false },
    });
  deleteParameters.push(
    {
      name: "replace",
      in: "query",
      description:
        "An object of the same id follows. One that others refer to is then released and not deleted: it stays until `PUT` with `If-None-Match: *` puts a new one, with a new `uid`, in its place, and the references go to that.",
      schema: { type: "boolean", default: false },
    },
    {
      name: "uid",
      in: "query",
      description: "Delete only the object with this `uid`; another one of the same id is `not_found`.",
      schema: { type: "string", minLength: 1, maxLength: 64 },
    },
  );
  const move = {
    name: "move",
    in: "query",
    description:
      "Allow another `agent`. The agent before gives the object up and deletes nothing in a cluster; references to the object stay; its `uid` is new.",
    schema: { type: "boolean", default: false },
  };
  const writeParameters = [
    ...item,
    param("ifMatch"),
    ...(noun.delivered ? [move] : []),
    ...(noun.discovered ? [param("adopt")] : []),
  ];
  doc.paths[`/v1/${collection}`] = {
    get: {
      ...common(`list${plural}`, `List ${collection}`, "viewer"),
      parameters: [...scope, ...["limit", "cursor", "filter", "sort", "view", "inherited"].map(param)],
      responses: {
        200: {
          description: "One page, ordered by scope and id unless `sort` says otherwise.",
          content: { "application/json": { schema: { anyOf: [ref(`${name}List`), ref("SummaryList")] } } },
        },
        ...problem,
      },
    },
  };
  doc.paths[`/v1/${collection}/{id}`] = {
    get: {
      ...common(`get${name}`, `Get one ${name.toLowerCase()}`, "viewer"),
      parameters: [...item, param("ifNoneMatch")],
      responses: { 200: answer("The object.", name, etag), 304: { description: "Not changed." }, ...problem },
    },
    put: {
      ...common(`put${name}`, `Create or replace one ${name.toLowerCase()}`, noun.write),
      parameters: [...writeParameters, param("ifNoneMatch")],
      requestBody: body(`${name}Put`),
      responses: { 200: answer("Replaced.", name, etag), 201: answer("Created.", name, etag), ...problem },
    },
    patch: {
      ...common(`patch${name}`, `Change fields of one ${name.toLowerCase()}`, noun.write),
      parameters: writeParameters,
      requestBody: body(`${name}Patch`, "application/merge-patch+json"),
      responses: { 200: answer("Changed.", name, etag), ...problem },
    },
    delete: {
      ...common(`delete${name}`, `Delete one ${name.toLowerCase()}`, noun.write),
      parameters: deleteParameters,
      responses: noun.delivered
        ? {
            202: answer("The agent deletes it; the object is gone once it has.", name),
            204: { description: "Gone, or released for the one that follows." },
            ...problem,
          }
        : { 204: { description: "Gone, or released for the one that follows." }, ...problem },
    },
  };
}

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

/** A body that somebody else's program writes: the handler reads its bytes, after it has looked at what signs them. */
function rawContent(types: string[]): Json {
  return Object.fromEntries(types.map((type) => [type, { schema: { type: "object", additionalProperties: true } }]));
}

/** Writes out one operation given in the short form of the noun files. */
function expand(path: string, short: Json, tag: string): Json {
  const parameters: Json[] = [];
  for (const [, name] of path.matchAll(/\{(\w+)\}/g)) {
    if (name === "id") parameters.push(param("id"));
    else
      parameters.push({
        name,
        in: "path",
        required: true,
        schema: short.path?.[name!] ?? { type: "string", minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9_-]+$" },
      });
  }
  if (short.scoped) parameters.push(param("org"), param("project"));
  if (short.paged) parameters.push(param("limit"), param("cursor"));
  parameters.push(...(short.named ?? []).map(param));
  if (short.idempotent) parameters.push(param("idempotencyKey"));
  for (const [name, { required, ...schema }] of Object.entries<Json>(short.query ?? {})) {
    parameters.push({ name, in: "query", ...(required ? { required: true } : {}), schema });
  }
  const { status, type = "application/json", types = [type], schema } = short.answer;
  const answer = (of: string) =>
    schema ? ref(schema) : { type: "string", ...(of === "application/octet-stream" ? { format: "binary" } : {}) };
  const content =
    status === 204 ? {} : { content: Object.fromEntries(types.map((of: string) => [of, { schema: answer(of) }])) };
  const security = SECURITY[short["x-access"]];
  return {
    operationId: short.operationId,
    summary: short.summary,
    tags: [tag],
    "x-access": short["x-access"],
    ...(short["x-task"] ? { "x-task": true } : {}),
    ...(short["x-waits"] ? { "x-waits": true } : {}),
    ...(security ? { security } : {}),
    ...(parameters.length ? { parameters } : {}),
    ...bodyOf(short),
    responses: {
      [status]: { description: status === 204 ? "Done." : "The answer.", ...content },
      "4XX": { $ref: "#/components/responses/Problem" },
      ...(path === "/readyz"
        ? { 503: { description: "Not ready.", content: { "text/plain": { schema: { type: "string" } } } } }
        : {}),
    },
  };
}

/** Of operations that need another sign-in than the usual one, or none. */
const SECURITY: Readonly<Record<string, Json[]>> = { public: [], worker: [{ workerSession: [] }] };

function bodyOf(short: Json): Json {
  if (short.body)
    return {
      requestBody: {
        required: short.bodyRequired ?? false,
        content: { "application/json": { schema: ref(short.body) } },
      },
    };
  if (short.bodyType)
    return {
      requestBody: { required: true, content: { [short.bodyType]: { schema: { type: "string", format: "binary" } } } },
    };
  return short.rawTypes ? { "x-raw": true, requestBody: { required: true, content: rawContent(short.rawTypes) } } : {};
}
