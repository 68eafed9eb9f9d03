import { patternFault } from "../../openapi/rules/messages/patterns.ts";
import { didYouMean } from "../../openapi/rules/suggest.ts";
import { canonical, whollyKnown } from "../value/equal.ts";
import { type Json, parseJson } from "../value/json.ts";
import { asDouble, compare, type Numeric, print as printNumber } from "../value/number.ts";
import { attr, index, key, type Path, root } from "../value/path.ts";
import { Decimal, isMap, Unknown, type Value } from "../value/value.ts";
import type { Attribute, Attributes, Rules, Schema } from "./attribute.ts";
import type { Diagnostics } from "./diagnostics.ts";
import { parseDuration } from "./duration.ts";
import { inexact, jsonTextFaults } from "./json-text.ts";
import { checkElements, checkRequired } from "./nulls.ts";
import { planObject } from "./plan.ts";
import { objectOf } from "./type.ts";

/** Checks a configuration against the rules of its schema, with the path of each fault. Unknown parts are left for later. */
export function validate(schema: Schema, config: Value, diagnostics: Diagnostics, allow: { writeOnly: boolean }): void {
  validateObject(schema.attributes, config, root, diagnostics, allow);
}

function validateObject(
  attributes: Attributes,
  config: Value,
  path: Path,
  diagnostics: Diagnostics,
  allow: { writeOnly: boolean },
): void {
  if (!isMap(config)) return;
  for (const [name, a] of Object.entries(attributes)) {
    const value = config.get(name) ?? null;
    const here = attr(path, name);
    if (value === null) {
      checkRequired(name, a, here, diagnostics);
      continue;
    }
    if (a.deprecated)
      diagnostics.warning("Deprecated attribute", `\`${name}\` is deprecated. ${a.description ?? ""}`.trimEnd(), here);
    if (a.writeOnly && !allow.writeOnly)
      diagnostics.error(
        "Write-only arguments need Terraform 1.11",
        `\`${name}\` is never stored, which this version of Terraform cannot do. Use Terraform 1.11 or OpenTofu 1.11, or newer.`,
        here,
      );
    validateAttribute(a, value, here, diagnostics, allow);
  }
}

function validateAttribute(
  a: Attribute,
  value: Value,
  path: Path,
  diagnostics: Diagnostics,
  allow: { writeOnly: boolean },
): void {
  if (value === null || value instanceof Unknown) return;
  // Elements of a set have no path of their own.
  const isSet = a.nesting === "set" || (Array.isArray(a.type) && a.type[0] === "set");
  checkRules(a.rules ?? {}, value, path, diagnostics, a.sensitive === true, isSet);
  if (!a.attributes) {
    checkElements(value, path, diagnostics, isSet);
    return;
  }
  if (a.nesting === "set") distinct(a.attributes, value as Value[], path, diagnostics);
  if (a.nesting === "single") validateObject(a.attributes, value, path, diagnostics, allow);
  else if (isMap(value)) for (const [k, v] of value) validateElement(a.attributes, v, key(path, k), diagnostics, allow);
  else
    for (const [i, v] of (value as Value[]).entries())
      validateElement(a.attributes, v, a.nesting === "set" ? path : index(path, i), diagnostics, allow);
}

/**
 * Two elements of a set that differ only in a default written out would become one, which Terraform takes for a defect. Said here, it is
 * the user's to mend.
 */
function distinct(attributes: Attributes, elements: Value[], path: Path, diagnostics: Diagnostics): void {
  const seen = new Set<string>();
  for (const element of elements) {
    if (!isMap(element) || !whollyKnown(element)) continue;
    const identity = canonical(objectOf(attributes), planObject(attributes, element, undefined, false));
    if (seen.has(identity)) diagnostics.error("Duplicate element", "Two elements of this set are the same.", path);
    seen.add(identity);
  }
}

function validateElement(
  attributes: Attributes,
  value: Value,
  path: Path,
  diagnostics: Diagnostics,
  allow: { writeOnly: boolean },
): void {
  if (value === null) diagnostics.error("Missing element", "Elements of this attribute cannot be null.", path);
  else validateObject(attributes, value, path, diagnostics, allow);
}

/** Checks one value. `hide` keeps the value itself out of the message. */
export function checkRules(
  rules: Rules,
  value: Value,
  path: Path,
  diagnostics: Diagnostics,
  hide: boolean,
  isSet = false,
): void {
  if (value === null || value instanceof Unknown) return;
  const fault: Fault = (wanted, got) =>
    diagnostics.error("Invalid value", sentence(wanted, hide ? undefined : got), path);
  // The request around an attribute has two levels, `{"spec": …}`, and one more for each step of its path but the first.
  if (typeof value === "string") checkText(rules, value, fault, { depth: path.length + 1, hide });
  else if (typeof value === "number" || typeof value === "bigint" || value instanceof Decimal)
    checkNumber(rules, value, fault);
  else if (Array.isArray(value) || isMap(value)) {
    const size = isMap(value) ? value.size : value.length;
    if (rules.minItems !== undefined && size < rules.minItems)
      fault(`At least ${rules.minItems} elements are wanted`, String(size));
    if (rules.maxItems !== undefined && size > rules.maxItems)
      fault(`At most ${rules.maxItems} elements are allowed`, String(size));
    const { each } = rules;
    if (!each) return;
    if (isMap(value)) for (const [k, v] of value) checkRules(each, v, key(path, k), diagnostics, hide);
    else for (const [i, v] of value.entries()) checkRules(each, v, isSet ? path : index(path, i), diagnostics, hide);
  }
}

const patterns = new Map<string, RegExp>();
function pattern(source: string): RegExp {
  let found = patterns.get(source);
  if (!found) {
    found = new RegExp(source, "u");
    patterns.set(source, found);
  }
  return found;
}

type Fault = (wanted: string, got?: string) => void;

const sentence = (wanted: string, got?: string): string =>
  got === undefined ? `${wanted}${/[.?]$/.test(wanted) ? "" : "."}` : `${wanted}, got ${got}.`;

/**
 * What a message shows of a text: nothing of one that may hold a secret. Terraform does not tell a provider which values are sensitive, so
 * these are JSON, texts of several lines or of any length, and addresses with a user.
 */
function shownOf(rules: Rules, value: string): string | undefined {
  if (rules.json || (rules.maxLength ?? 0) > 4096 || /\n|:\/\/[^/\s]*@/.test(value)) return undefined;
  return JSON.stringify(value.length > 80 ? `${value.slice(0, 77)}...` : value);
}

function checkText(rules: Rules, value: string, fault: Fault, { depth, hide }: { depth: number; hide: boolean }): void {
  const shown = shownOf(rules, value);
  const length = [...value].length;
  if (rules.enum && !rules.enum.includes(value)) {
    const hint = didYouMean(value, rules.enum, (found) => JSON.stringify(found));
    const wanted = `One of ${rules.enum.map((v) => JSON.stringify(v)).join(", ")} is wanted`;
    if (hint) fault(`${sentence(wanted, hide ? undefined : shown)}${hint}`);
    else fault(wanted, shown);
    return;
  }
  if (rules.minLength !== undefined && length < rules.minLength)
    fault(`At least ${rules.minLength} characters are wanted`, `${length}`);
  if (rules.maxLength !== undefined && length > rules.maxLength) {
    // A pattern is not tried on a text that is too long anyway.
    fault(`At most ${rules.maxLength} characters are allowed`, `${length}`);
    return;
  }
  if (rules.pattern !== undefined && !pattern(rules.pattern).test(value))
    fault(`The text ${patternFault(rules.pattern)}`, shown);
  if (rules.duration && parseDuration(value) === undefined)
    fault(
      "The text must be a duration longer than zero and at most a year, for example `90s`, `10m` or `1h30m`",
      shown,
    );
  if (rules.json) checkJson(rules.json, value, fault, { depth, hide });
}

function checkJson(kind: "object" | "any", text: string, fault: Fault, about: { depth: number; hide: boolean }): void {
  let json: Json;
  try {
    json = parseJson(text);
  } catch {
    fault("The text must be JSON, as `jsonencode(...)` gives");
    return;
  }
  if (
    kind === "object" &&
    (typeof json !== "object" || json === null || Array.isArray(json) || json instanceof Decimal)
  ) {
    fault("It must be a JSON object, as `jsonencode({...})` gives");
    return;
  }
  for (const one of jsonTextFaults(json, about.depth))
    fault(about.hide ? "The JSON holds a number, text or depth that cannot be stored." : one);
}

function checkNumber(rules: Rules, value: Numeric, fault: Fault): void {
  const shown = printNumber(value);
  if (asDouble(value) === undefined) {
    fault(inexact(value));
    return;
  }
  if (rules.integer && shown.includes(".")) fault("It must be a whole number", shown);
  if (rules.minimum !== undefined && compare(value, rules.minimum) < 0)
    fault(`At least ${rules.minimum} is wanted`, shown);
  if (rules.maximum !== undefined && compare(value, rules.maximum) > 0)
    fault(`At most ${rules.maximum} is allowed`, shown);
}
