import { Misfit, typeOf } from "./values.ts";

/** A value as jq writes it: fields in the order of their names. */
export function toJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([key, one]) => `${JSON.stringify(key)}:${toJson(one)}`).join(",")}}`;
  }
  // JSON has no number without end.
  if (Math.abs(value as number) === Number.POSITIVE_INFINITY)
    return String(Math.sign(value as number) * Number.MAX_VALUE);
  return JSON.stringify(value ?? null);
}

export const toText = (value: unknown): string => (typeof value === "string" ? value : toJson(value));

const HTML: Record<string, string> = { "<": "&lt;", ">": "&gt;", "&": "&amp;", "'": "&#39;", '"': "&quot;" };

/** A list of plain values, each written by `text`. */
function row(value: unknown, name: string, text: (one: unknown) => string): string[] {
  if (!Array.isArray(value)) throw new Misfit(`${typeOf(value)} cannot be written as ${name}`);
  return value.map((one) => {
    if (typeof one === "object" && one !== null) throw new Misfit(`${typeOf(one)} cannot be in ${name}`);
    return text(one);
  });
}

function shell(value: unknown): string {
  if (typeof value === "object" && value !== null) throw new Misfit(`${typeOf(value)} cannot be quoted for a shell`);
  return typeof value === "string" ? `'${value.replaceAll("'", "'\\''")}'` : toText(value);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Misfit("it is no encoded text");
  }
}

/** The formats of jq, by name: a value as text. */
export const FORMATS: Record<string, (value: unknown) => string> = {
  "@text": toText,
  "@json": toJson,
  "@html": (value) => toText(value).replace(/[<>&'"]/g, (sign) => HTML[sign]!),
  "@uri": (value) =>
    encodeURIComponent(toText(value)).replace(
      /[!'()*]/g,
      (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
  "@urid": (value) => decoded(toText(value)),
  "@csv": (value) =>
    row(
      value,
      "CSV",
      (one) => (typeof one === "string" ? `"${one.replaceAll('"', '""')}"` : toText(one ?? "")) || "",
    ).join(","),
  "@tsv": (value) =>
    row(value, "TSV", (one) =>
      toText(one ?? "").replace(
        /[\\\t\n\r]/g,
        (sign) => ({ "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" })[sign]!,
      ),
    ).join("\t"),
  "@sh": (value) => (Array.isArray(value) ? value.map(shell).join(" ") : shell(value)),
  "@base64": (value) => Buffer.from(toText(value)).toString("base64"),
  "@base64d": (value) => {
    const text = toText(value).replace(/[\r\n]/g, "");
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.replace(/=+$/, "").length % 4 === 1)
      throw new Misfit("it is not base64");
    return Buffer.from(text, "base64").toString("utf8");
  },
};
