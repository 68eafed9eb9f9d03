import { type Document, visit } from "yaml";
import { findInexact, isExact } from "../../base/json/json-numbers.ts";
import { readDocument, readJson } from "../../base/json/nesting.ts";
import { usage } from "./failure.ts";

/** A YAML or JSON text as a value. Syntax errors are thrown as the parser says them. */
export function parseExact(text: string, source: string): unknown {
  const document = readDocument(text);
  if (document.errors[0]) throw document.errors[0];
  checkExact(document, source);
  return document.toJS({ maxAliasCount: 100 });
}

/** Refuses a number that would reach the service as another one. */
export function checkExact(document: Document, source: string): void {
  visit(document, {
    Scalar(_, node) {
      if (
        typeof node.value !== "number" ||
        node.source === undefined ||
        !/^[-+]?[\d.]+([eE][-+]?\d+)?$/.test(node.source)
      )
        return;
      if (!isExact(node.source)) throw inexact(source, node.source);
    },
  });
}

/** The same for a value that is JSON. */
export function parseExactJson(text: string, source: string): unknown {
  const value: unknown = readJson(text);
  if (findInexact(text) !== undefined) throw inexact(source, text);
  return value;
}

const inexact = (source: string, text: string) =>
  usage(
    `${source}: the number ${text.slice(0, 40)} has more digits than 64-bit floating point keeps. Write it as a string, in quotes inside the value`,
  );
