import {
  type CST,
  Document,
  type DocumentOptions,
  Lexer,
  type ParseOptions,
  Parser,
  parseAllDocuments,
  parseDocument,
  type SchemaOptions,
  type ToJSOptions,
  YAMLParseError,
} from "yaml";
import { MAX_NESTING, TOO_DEEP } from "./nesting.ts";
import { collectionKey } from "./yaml-keys.ts";

// The parser's own.
const MAX_ALIASES = 100;
type Options = ParseOptions & DocumentOptions & SchemaOptions;

/** The tokens of a YAML text, from which documents are composed; a RangeError where it is nested too deeply. This pass does not recurse. */
export function* yamlTokens(text: string, lexer = new Lexer()): Generator<CST.Token, void> {
  const parser = new Parser();
  for (const lexeme of lexer.lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > MAX_NESTING) throw new RangeError(TOO_DEEP);
  }
  yield* parser.end();
}

export function isYamlTooDeep(text: string): boolean {
  if (text.length <= MAX_NESTING) return false;
  try {
    for (const _ of yamlTokens(text));
    return false;
  } catch {
    return true;
  }
}

/** What the parser would say of it. */
function refused(): Document.Parsed {
  const document = new Document();
  document.errors.push(new YAMLParseError([0, 1], "IMPOSSIBLE", TOO_DEEP));
  return document as Document.Parsed;
}

/** A key that is a map or a list is an error too: to make a text of one takes minutes, or the process. */
function checked(document: Document.Parsed): Document.Parsed {
  const key = document.errors.length ? undefined : collectionKey(document.contents);
  if (key) {
    const at = key.range?.[0] ?? 0;
    document.errors.push(new YAMLParseError([at, at + 1], "IMPOSSIBLE", "a map or a list is not a key"));
  }
  return document;
}

/** `parseDocument` for a text from outside; too deep nesting is one of its errors. */
export const readDocument = (text: string, options?: Options): Document.Parsed =>
  isYamlTooDeep(text) ? refused() : checked(parseDocument(text, options));

/** `parseAllDocuments` in the same way. */
export const readDocuments = (text: string, options?: Options): Document.Parsed[] =>
  isYamlTooDeep(text) ? [refused()] : ([...parseAllDocuments(text, options)] as Document.Parsed[]).map(checked);

/** `parse` in the same way; this and other errors are thrown. */
// biome-ignore lint/suspicious/noExplicitAny: as the parser's own.
export function readYaml(text: string, options?: Options & ToJSOptions): any {
  const document = readDocument(text, options);
  if (document.errors[0]) throw document.errors[0];
  return document.toJS({ maxAliasCount: options?.maxAliasCount ?? MAX_ALIASES });
}
