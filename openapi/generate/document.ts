import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { addNoun } from "./noun-document.ts";
import { collectionsOf, type NounHead, readNouns } from "./nouns.ts";
import { type Json, param, ref } from "./parts.ts";

/** Puts the files of `spec/` together into the one OpenAPI document. */
export function buildDocument(specDir: string): Json {
  const doc: Json = parse(readFileSync(join(specDir, "head.yaml"), "utf8"));
  doc.paths = {};
  doc.tags = [];
  const nouns = readNouns(specDir);
  const files = readdirSync(specDir).filter(
    (f) => f.endsWith(".yaml") && !["head.yaml", "codes.yaml", "patterns.yaml"].includes(f),
  );
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

/** Pattern → what it asks for, as the files of `spec/` say beside it. The words of `patterns.yaml` are for all, and win. */
export function patternWords(specDir: string): Record<string, string> {
  const words: Record<string, string> = {};
  const files = readdirSync(specDir).filter((name) => name.endsWith(".yaml") && name !== "patterns.yaml");
  for (const file of [...files.sort(), "patterns.yaml"])
    JSON.stringify(parse(readFileSync(join(specDir, file), "utf8")), (_, value) => {
      if (value?.["x-words"] !== undefined) words[value.pattern] = value["x-words"];
      return value;
    });
  return words;
}

/** A body that a foreign program writes: the handler reads its bytes, after it has looked at what signs them. */
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
