import { Document, Scalar, stringify, visit as visitNodes } from "yaml";

// Read as something else than a text by Go, and by no other.
const OCTAL = /^[-+]?0[oO][0-7_]+$/;
/** What Go takes for unprintable, a tab too. */
const SPECIAL = /[^\n\x20-\x7e\x85\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u;
const LAYOUT = { indentSeq: false, lineWidth: 0, doubleQuotedAsJSON: true };

/** A value as Go's library writes it: texts that would be read as another type are in double quotes, others that need quotes in single ones. */
export function yamlText(value: unknown): string {
  const document = new Document(value, { version: "1.1", aliasDuplicateObjects: false });
  visitNodes(document, {
    Scalar(place, node) {
      if (typeof node.value === "string") node.type = styleOf(node.value, place === "key");
    },
  });
  const written = document.toString(LAYOUT);
  // A text by itself is indented as one in a map is.
  const indented = typeof value === "string" && value.includes("\n") && /^[|>]/.test(written);
  return (indented ? written.replace(/\n(?=[^\n])/g, "\n  ") : written).replace(/\n$/, "");
}

function styleOf(text: string, isKey: boolean): Scalar.Type {
  if (SPECIAL.test(text)) return Scalar.QUOTE_DOUBLE;
  if (text.includes("\n")) return isKey || / (\n|$)/.test(text) ? Scalar.QUOTE_DOUBLE : Scalar.BLOCK_LITERAL;
  const stands = (schema: object) => stringify(text, { ...LAYOUT, ...schema }) === `${text}\n`;
  if (text !== "" && !stands({ schema: "failsafe" })) return Scalar.QUOTE_SINGLE;
  return OCTAL.test(text) || !stands({ version: "1.1" }) ? Scalar.QUOTE_DOUBLE : Scalar.PLAIN;
}
