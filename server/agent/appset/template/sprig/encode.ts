import { createCipheriv, createDecipheriv, createHash, randomBytes, randomInt, randomUUID } from "node:crypto";
import { readJson as parseJson, readDocument } from "../../../../base/json/nesting.ts";
import { customTags } from "../../../../kube/yaml.ts";
import { queryEscape } from "../builtins.ts";
import { type Callable, fn } from "../function.ts";
import { fromJson, isMap, TemplateError, toJson, typeName, type Value, type ValueMap } from "../value.ts";
import { normalize, slugify } from "./names.ts";
import { yamlText } from "./yaml-text.ts";

const MAX = 1_048_576;
const hash = (name: string) => fn("s", ([s]) => createHash(name).update(s).digest("hex"));
const html = (json: string) =>
  json.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
const json = fn("a", ([value]) => html(JSON.stringify(toJson(value))));
const pretty = fn("a", ([value]) => html(JSON.stringify(toJson(value), null, 2)));
const raw = fn("a", ([value]) => JSON.stringify(toJson(value)));

function readJson(text: string, strict: boolean): Value {
  try {
    return fromJson(parseJson(text));
  } catch (error) {
    if (!strict) return null;
    throw new TemplateError((error as Error).message);
  }
}

const finite = (_: string, value: unknown): unknown => {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new TemplateError("a number without end has no place in JSON");
  return value;
};

/** YAML as the ecosystem reads it: by way of JSON, without dates, with `yes` as a word for true, and the first document alone. */
export function readYaml(text: string): unknown {
  if (text.length > MAX) throw new TemplateError("YAML of more than 1 MiB");
  try {
    const document = readDocument(text, {
      version: "1.1",
      customTags,
      uniqueKeys: false,
      logLevel: "silent",
      prettyErrors: false,
    });
    if (document.errors[0]) throw document.errors[0];
    return JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: 200 }) ?? null, finite));
  } catch (error) {
    throw new TemplateError(`error converting YAML to JSON: ${(error as Error).message}`);
  }
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
function base32(text: string): string {
  let bits = "";
  for (const byte of Buffer.from(text)) bits += byte.toString(2).padStart(8, "0");
  let out = "";
  for (let i = 0; i < bits.length; i += 5) out += BASE32[Number.parseInt(bits.slice(i, i + 5).padEnd(5, "0"), 2)];
  return out.padEnd(Math.ceil(out.length / 8) * 8, "=");
}
function unbase32(text: string): string {
  const plain = text.replace(/(?<!=)=+$/, "");
  if (!/^[A-Z2-7]*$/.test(plain) || text.length % 8)
    return `illegal base32 data at input byte ${plain.search(/[^A-Z2-7]/) < 0 ? plain.length : plain.search(/[^A-Z2-7]/)}`;
  let bits = "";
  for (const char of plain) bits += BASE32.indexOf(char).toString(2).padStart(5, "0");
  return Buffer.from((bits.match(/[01]{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2))).toString("utf8");
}
function unbase64(text: string): string {
  const plain = text.replace(/[\r\n]/g, "");
  const bad = plain.search(/[^A-Za-z0-9+/=]/);
  if (bad >= 0 || plain.length % 4 || !/^[^=]*={0,2}$/.test(plain))
    return `illegal base64 data at input byte ${bad >= 0 ? bad : Math.floor(plain.length / 4) * 4}`;
  return Buffer.from(plain, "base64").toString("utf8");
}

function adler32(text: string): string {
  let a = 1;
  let b = 0;
  for (const byte of Buffer.from(text)) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return String(b * 65_536 + a);
}

const random = (letters: string) =>
  fn("i", ([count]) => {
    if (count < 0n || count > 10_000n) throw new TemplateError("between 0 and 10000 characters");
    return Array.from({ length: Number(count) }, () => letters[randomInt(letters.length)]).join("");
  });
const ALPHA = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ASCII = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join("");

const secretKey = (password: string) => {
  const key = Buffer.alloc(32);
  Buffer.from(password).copy(key);
  return key;
};

function urlParse(text: string): ValueMap {
  const found = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(text);
  const [, scheme = "", authority = "", path = "", query = "", fragment = ""] = found ?? [];
  const colonFirst = !scheme && !authority && /^[^/]*:/.test(path);
  // Blanks are read in a path, not in a host.
  if (!found || /\s/.test(authority) || colonFirst || /\p{Cc}/u.test(text))
    throw new TemplateError(`unable to parse url: parse ${JSON.stringify(text)}`);
  const at = authority.lastIndexOf("@");
  const host = authority.slice(at + 1);
  const opaque = scheme && !text.startsWith(`${scheme}://`) && !path.startsWith("/") ? path : "";
  return new Map<string, Value>([
    ["scheme", scheme.toLowerCase()],
    ["host", host],
    ["hostname", host.replace(/:\d*$/, "").replace(/^\[|\]$/g, "")],
    ["path", opaque ? "" : decode(path)],
    ["query", query],
    ["opaque", opaque],
    ["fragment", decode(fragment)],
    ["userinfo", at < 0 ? "" : authority.slice(0, at)],
  ]);
}
const decode = (text: string) => {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new TemplateError(`invalid URL escape in ${JSON.stringify(text)}`);
  }
};
function urlJoin(map: ValueMap): string {
  const part = (name: string) => {
    const value = map.get(name) ?? "";
    if (typeof value !== "string")
      throw new TemplateError(`unable to parse ${name} key, must be of type string, but ${typeName(value)} found`);
    return value;
  };
  const [scheme, user, host, query, fragment, opaque] = [
    "scheme",
    "userinfo",
    "host",
    "query",
    "fragment",
    "opaque",
  ].map(part) as [string, string, string, string, string, string];
  const path = encodeURI(part("path"));
  const none = scheme && path.startsWith("//") ? "//" : "";
  const authority = host || user ? `//${user ? `${user}@` : ""}${host}` : none;
  const slash = authority && path && !path.startsWith("/") ? "/" : "";
  return `${scheme ? `${scheme}:` : ""}${opaque || authority + slash + path}${query ? `?${query}` : ""}${fragment ? `#${queryEscape(fragment).replaceAll("+", "%20")}` : ""}`;
}

export const ENCODE: Record<string, Callable> = {
  toJson: json,
  mustToJson: json,
  toPrettyJson: pretty,
  mustToPrettyJson: pretty,
  toRawJson: raw,
  mustToRawJson: raw,
  fromJson: fn("s", ([s]) => readJson(s, false)),
  mustFromJson: fn("s", ([s]) => readJson(s, true)),
  toYaml: fn("a", ([value]) => yamlText(toJson(value))),
  fromYaml: fn("s", ([s]) => {
    const value = fromJson(readYaml(s) ?? {});
    if (!isMap(value))
      throw new TemplateError(`error unmarshaling JSON: json: cannot unmarshal ${typeName(value)} into a map`);
    return value;
  }),
  fromYamlArray: fn("s", ([s]) => {
    const value = fromJson(readYaml(s) ?? []);
    if (!Array.isArray(value))
      throw new TemplateError(`error unmarshaling JSON: json: cannot unmarshal ${typeName(value)} into a list`);
    return value;
  }),
  b64enc: fn("s", ([s]) => Buffer.from(s).toString("base64")),
  b64dec: fn("s", ([s]) => unbase64(s)),
  b32enc: fn("s", ([s]) => base32(s)),
  b32dec: fn("s", ([s]) => unbase32(s)),
  sha1sum: hash("sha1"),
  sha256sum: hash("sha256"),
  sha512sum: hash("sha512"),
  adler32sum: fn("s", ([s]) => adler32(s)),
  encryptAES: fn("ss", ([password, s]) => {
    const iv = randomBytes(16);
    const cipher = createCipheriv("aes-256-cbc", secretKey(password), iv);
    return Buffer.concat([iv, cipher.update(s, "utf8"), cipher.final()]).toString("base64");
  }),
  decryptAES: fn("ss", ([password, s]) => {
    try {
      const all = Buffer.from(s, "base64");
      const cipher = createDecipheriv("aes-256-cbc", secretKey(password), all.subarray(0, 16));
      return Buffer.concat([cipher.update(all.subarray(16)), cipher.final()]).toString("utf8");
    } catch {
      throw new TemplateError("cannot be decrypted with this password");
    }
  }),
  randAlpha: random(ALPHA),
  randNumeric: random("0123456789"),
  randAlphaNum: random(`${ALPHA}0123456789`),
  randAscii: random(ASCII),
  randBytes: fn("i", ([count]) => randomBytes(Math.min(10_000, Math.max(0, Number(count)))).toString("base64")),
  shuffle: fn("s", ([s]) => {
    const chars = [...(s as string)];
    for (let i = chars.length - 1; i > 0; i--) {
      const j = randomInt(i + 1);
      [chars[i], chars[j]] = [chars[j]!, chars[i]!];
    }
    return chars.join("");
  }),
  uuidv4: fn("", () => randomUUID()),
  urlParse: fn("s", ([s]) => urlParse(s)),
  urlJoin: fn("m", ([map]) => urlJoin(map)),
  normalize: fn("s", ([s]) => normalize(s)),
  slugify: fn("a*", (args) => {
    const name = args.at(-1);
    if (typeof name !== "string") throw new TemplateError("slugify takes a text last");
    const [limit = 50n, whole = true] = args.slice(0, -1);
    if (typeof limit !== "bigint" || typeof whole !== "boolean")
      throw new TemplateError("slugify takes an int and a bool before the text");
    return slugify(name, Number(limit), whole);
  }),
};
