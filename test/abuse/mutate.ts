import document from "../../openapi/contract/openapi.json" with { type: "json" };
import { pick } from "./random.ts";

type Json = Record<string, any>;
type Dice = () => number;

export interface Request {
  operation: string;
  method: string;
  path: string;
  key: string | undefined;
  headers: Record<string, string>;
  raw: string | Uint8Array | undefined;
}

const components = document.components as Json;
const deref = (node: Json): Json => {
  if (!node.$ref) return node;
  const [, , group, name] = node.$ref.split("/");
  return deref({
    ...components[group][name],
    ...Object.fromEntries(Object.entries(node).filter(([k]) => k !== "$ref")),
  });
};

/** Values that have broken services before: bounds, encodings, names of prototypes, templates, numbers beyond their types. */
export const NASTY: unknown[] = [
  "",
  " ",
  "\0",
  "\ud800",
  "\uffff",
  "'; drop table objects; --",
  "../../etc/passwd",
  "%00",
  "%s%n",
  "__proto__",
  "constructor",
  "toString",
  "x".repeat(300),
  "x".repeat(70_000),
  "\r\nSet-Cookie: a=b",
  "{{7*7}}",
  "$" + "{jndi:x}",
  "<script>",
  "null",
  "-1",
  "1e999",
  "\u202e",
  "a\u0300".repeat(50),
  "opk_default_canary",
  0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  2 ** 63,
  -(2 ** 63),
  1e300,
  Number.MIN_VALUE,
  true,
  false,
  null,
  [],
  {},
  [[]],
  [null],
  { a: 1 },
  { constructor: 1 },
  { toJSON: 1 },
  { length: -1 },
  Array.from({ length: 300 }, () => "a"),
];

/** Names that exist in the service under test, so that many requests get far. */
const KNOWN: Record<string, string[]> = {
  id: ["a", "offline", "d", "r", "c", "x", "o", "p", "new", "n-1"],
  org: ["o", "o", "nobody"],
  project: ["p"],
  collection: ["agents", "applications", "repositories"],
  task: ["t-1", "missing"],
  token: ["default-1"],
};
const TEXTS: Record<string, string[]> = {
  agent: ["offline", "offline", "account.offline", "org.a"],
  repository: ["r", "account.r"],
  cluster: ["c", "account.c"],
  url: ["https://h/x"],
  repoUrl: ["https://h/x"],
  server: ["https://h"],
  path: [".", "a/b"],
  values: ["a: 1", "a: [", "- 1"],
  password: ["canary-password"],
  bearerToken: ["canary-token"],
  sshPrivateKey: ["canary-key"],
};

/** A value that fits a schema, mostly. */
function draw(schema: Json, dice: Dice, name = "", depth = 0): unknown {
  const s = deref(schema);
  if (s.enum) return pick(s.enum, dice);
  const type = Array.isArray(s.type) ? pick(s.type as string[], dice) : s.type;
  if (type === "object" || s.properties) {
    const result: Json = {};
    for (const [key, member] of Object.entries<Json>(s.properties ?? {})) {
      if ((s.required ?? []).includes(key) || (depth < 5 && dice() < 0.3))
        result[key] = draw(member, dice, key, depth + 1);
    }
    if (s.additionalProperties && dice() < 0.3)
      result[pick(["k", "a.b", "x/y", "é"], dice)] =
        s.additionalProperties === true ? pick(NASTY, dice) : draw(s.additionalProperties, dice, "", depth + 1);
    return result;
  }
  if (type === "array")
    return Array.from({ length: (s.minItems ?? 0) + Math.floor(dice() * 3) }, () =>
      draw(s.items ?? {}, dice, name, depth + 1),
    );
  if (type === "integer" || type === "number")
    return pick([s.minimum ?? 0, s.maximum ?? 10, (s.minimum ?? 0) + 1, s.default ?? 1], dice);
  if (type === "boolean") return dice() < 0.5;
  if (type === "null") return null;
  if (TEXTS[name]) return pick(TEXTS[name]!, dice);
  if (s.format === "uri") return "https://h/x";
  return pick(["a", "b-1", "30s", "n0", "main"], dice);
}

/** Gives sound requests for all operations in turn, with the credential each needs. */
export function requestsFor(dice: Dice, session: string, admin: string): () => Request {
  const all = Object.entries<Json>(document.paths as Json).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, op]) => ({ path, method: method.toUpperCase(), op })),
  );
  // Taking away what the others need, or waiting for an agent that is not there, would make most requests say the same.
  const skip = new Set(["deleteApiKey", "deleteAgent", "deleteOrganization", "deleteProject"]);
  const list = all.filter(({ op }) => !skip.has(op.operationId));
  let next = 0;
  return () => {
    const { path, method, op } = list[next++ % list.length]!;
    const query: string[] = [];
    const headers: Record<string, string> = {};
    let filled = path;
    for (const p of (op.parameters ?? []).map(deref) as Json[]) {
      const known = KNOWN[p.name];
      if (p.in === "path") filled = filled.replace(`{${p.name}}`, encodeURIComponent(known ? pick(known, dice) : "x"));
      else if (p.name === "wait") query.push("wait=0");
      else if (p.name === "timeoutSeconds") query.push("timeoutSeconds=1");
      else if (p.required || dice() < 0.2) {
        const fixed = { nonce: "0123456789abcdef", filter: "spec.agent=a" }[p.name as string];
        const drawn = () =>
          p.name === "org" || p.name === "project" ? pick(known!, dice) : String(draw(p.schema, dice, p.name));
        const value = fixed ?? drawn();
        if (p.in === "query") query.push(`${p.name}=${encodeURIComponent(value)}`);
        else headers[p.name.toLowerCase()] = p.name === "Idempotency-Key" ? `k${Math.floor(dice() * 5)}` : '"1"';
      }
    }
    if (op.operationId === "watch" && !query.includes("timeoutSeconds=1")) query.push("timeoutSeconds=1");
    const [type, media] = Object.entries<Json>(op.requestBody?.content ?? {})[0] ?? [];
    let body = media ? (draw(media.schema, dice) as Json) : undefined;
    if (op.operationId === "exchange") body = { ...body, wait: 0 };
    if (type) headers["content-type"] = type;
    const usual = op["x-access"] === "public" ? undefined : admin;
    const key = op["x-access"] === "worker" ? session : usual;
    return {
      operation: op.operationId,
      method,
      path: filled + (query.length ? `?${query.join("&")}` : ""),
      key,
      headers,
      raw: body === undefined ? undefined : JSON.stringify(body),
    };
  };
}

/** Breaks a request in some places: its body's members, its path, query, header fields, method or bytes. A fifth is left as it is. */
export function mutate(request: Request, dice: Dice): Request {
  let result = { ...request, headers: { ...request.headers } };
  const count = pick([0, 1, 1, 2, 4], dice);
  for (let i = 0; i < count; i++) result = pick(MUTATIONS, dice)(result, dice);
  return result;
}

const MUTATIONS: ((r: Request, dice: Dice) => Request)[] = [
  inBody,
  inBody,
  inBody,
  inBody,
  inBody,
  (r, dice) => ({ ...r, path: r.path.replace(/[^/?&=]+(?=$|\?|\/)/, () => encodeText(pick(NASTY, dice))) }),
  (r, dice) => ({
    ...r,
    path: `${r.path}${r.path.includes("?") ? "&" : "?"}${pick(["org", "project", "limit", "cursor", "filter", "inherited", "since", "force", "x", "__proto__", "org[]"], dice)}=${encodeText(pick(NASTY, dice))}`,
  }),
  (r, dice) => ({
    ...r,
    path: r.path + pick(["/", "//", "/..", "/%2e%2e", "%ff", "%", "?", "?&&==", "#x", ";x"], dice),
  }),
  (r, dice) => ({
    ...r,
    method: pick(["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS"], dice),
    ...(r.raw !== undefined ? {} : {}),
  }),
  (r, dice) => ({
    ...r,
    headers: {
      ...r.headers,
      [pick(
        [
          "content-type",
          "accept",
          "if-match",
          "if-none-match",
          "idempotency-key",
          "last-event-id",
          "content-encoding",
          "accept-encoding",
          "x-forwarded-for",
          "range",
        ],
        dice,
      )]: pick(
        [
          "",
          "*",
          "*/*",
          "text/html",
          "application/json; charset=utf-16",
          '"',
          '""',
          'W/"1"',
          "1, 2, 3",
          "-1",
          "99999999999999999999",
          "é".repeat(40),
          "x".repeat(4_000),
          "multipart/form-data; boundary=x",
          "application/xml",
        ],
        dice,
      ),
    },
  }),
  (r, dice) => ({
    ...r,
    key: pick([undefined, "", "opk_default_x", `opk_default_${"A".repeat(43)}`, "opk__", "x".repeat(5_000)], dice),
  }),
  (r, dice) =>
    r.raw === undefined
      ? r
      : {
          ...r,
          raw: pick(
            [
              "",
              "{",
              "null",
              "[]",
              '""',
              "1",
              "nan",
              '{"spec":null}',
              '{"spec":[]}',
              "[".repeat(5_000),
              `{"a":${"[".repeat(60)}${"]".repeat(60)}}`,
              '{"spec":{"__proto__":{}}}',
              '{"a":1,"a":2}',
              "\ufeff{}",
              Buffer.from([0xff, 0xfe, 0x00]),
            ],
            dice,
          ),
        },
  (r, dice) => {
    if (typeof r.raw !== "string") return r;
    const bytes = Buffer.from(r.raw);
    if (bytes.length > 0) bytes[Math.floor(dice() * bytes.length)] = Math.floor(dice() * 256);
    return { ...r, raw: bytes };
  },
];

function inBody(r: Request, dice: Dice): Request {
  if (typeof r.raw !== "string") return r;
  let value: unknown;
  try {
    value = JSON.parse(r.raw);
  } catch {
    return r;
  }
  const places: [Json, string][] = [];
  collect(value, places);
  if (places.length === 0) return r;
  const [holder, key] = pick(places, dice);
  const what = dice();
  if (what < 0.15) delete holder[key];
  else if (what < 0.3) holder[`${key}x`] = holder[key];
  else holder[key] = pick(NASTY, dice);
  // Lone surrogates must reach the service as escapes: JSON.stringify writes them so.
  return {
    ...r,
    raw:
      r.operation === "exchange" ? JSON.stringify(value).replace(/"wait":[0-9]+/, '"wait":0') : JSON.stringify(value),
  };
}

export function collect(value: unknown, places: [Json, string][]): void {
  if (value === null || typeof value !== "object") return;
  for (const key of Object.keys(value)) {
    places.push([value as Json, key]);
    collect((value as Json)[key], places);
  }
}

function encodeText(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return encodeURIComponent(text.replace(/[\ud800-\udfff]/g, "\ufffd")).slice(0, 6_000);
}
