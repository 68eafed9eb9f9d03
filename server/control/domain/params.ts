import document from "../../../openapi/contract/openapi.json" with { type: "json" };
import type { Fault } from "../../../openapi/contract/validators.js";
import * as validators from "../../../openapi/contract/validators.js";
import { inWords } from "../../../openapi/rules/patterns.ts";
import { paramFaults } from "../../../openapi/rules/tasks/params.ts";
import { escapePointer } from "../../base/json/json.ts";
import { looksLikeReference, parseReferences } from "../../base/reference.ts";
import { deref, type Schemas } from "./nouns.ts";
import { invalid, Problem } from "./problem.ts";

type Kind = Schemas["TaskKind"];
type Check = ((value: unknown) => boolean) & { errors?: Fault[] | null };
type JsonSchema = Record<string, any>;
const schemas = document.components.schemas as JsonSchema;

/** `git.clone` → TaskParamsGitClone. */
const schemaName = (kind: Kind) =>
  `TaskParams${kind
    .split(".")
    .map((part) => part[0]!.toUpperCase() + part.slice(1))
    .join("")}`;

/** Refuses parameters that the kind cannot run with, before anything waits for them: schema, rules between fields, references. */
export function checkParams(kind: Kind, params: Record<string, unknown>, at = "/params"): void {
  const [said] = paramFaults(kind, params);
  if (said) throw invalid(`${at}${said.pointer}`, said.detail);
  const [fault] = schemaFaults(kind, params);
  if (fault) throw unfit(kind, fault, at);
  checkMeaning(kind, params, at);
}

/** What the kind's schema says of parameters. */
export function schemaFaults(kind: Kind, params: unknown): readonly Fault[] {
  const check = (validators as unknown as Record<string, Check>)[`validate${schemaName(kind)}`]!;
  return check(params) ? [] : (check.errors ?? []);
}

/** A fault with its place. */
export function unfit(kind: Kind, fault: Fault, at: string): Problem {
  const member = fault.params.missingProperty ?? fault.params.additionalProperty ?? fault.params.unevaluatedProperty;
  return new Problem("invalid_field", `The parameters do not fit ${kind}: ${inWords(fault.message ?? "see the contract")}.`, {
    pointer: `${at}${fault.instancePath}${typeof member === "string" ? `/${escapePointer(member)}` : ""}`,
  });
}

/** Where references to secrets may stand, which the contract cannot say. */
export function checkMeaning(kind: Kind, params: Record<string, unknown>, at: string): void {
  checkReferences(kind, [schemas[schemaName(kind)]], params, at);
}

const SCRIPTS: readonly Kind[] = ["shell.run", "powershell.run"];

/** References stand in free texts only: where a value has a form of its own, a reference cannot be checked against it. */
function checkReferences(kind: Kind, among: readonly JsonSchema[], value: unknown, at: string): void {
  const all = among.flatMap(whole);
  if (typeof value === "string") {
    if (looksLikeReference(value)) checkReference(kind, all, value, at);
  } else if (Array.isArray(value)) {
    const items = all.flatMap((s) => (s.items ? [s.items] : []));
    for (const [i, item] of value.entries()) checkReferences(kind, items, item, `${at}/${i}`);
  } else if (value !== null && typeof value === "object") {
    for (const [key, member] of Object.entries(value)) {
      const below = `${at}/${escapePointer(key)}`;
      if (looksLikeReference(key)) throw invalid(below, "A secret's reference stands in a value, never in a name.");
      const named = all.flatMap((s) => (s.properties?.[key] ? [s.properties[key]] : []));
      const others = all.flatMap((s) => (typeof s.additionalProperties === "object" ? [s.additionalProperties] : []));
      checkReferences(kind, named.length ? named : others, member, below);
    }
  }
}

function checkReference(kind: Kind, all: readonly JsonSchema[], text: string, at: string): void {
  if (SCRIPTS.includes(kind) && at.endsWith("/script"))
    throw invalid(at, "A script is not changed, so that no value can become a command: give the secret in `env` and use the variable.");
  const formed = all.some((s) => s.pattern !== undefined || s.format !== undefined || s.enum !== undefined);
  if (formed) throw invalid(at, "This field has a form of its own and takes no `${secret:…}`.");
  const parsed = parseReferences(text);
  if (parsed.kind !== "done") throw invalid(at, parsed.kind === "stop" ? parsed.message : "The secret's reference cannot be read.");
}

/** A schema with what it refers to and all it is made of. */
function whole(schema: JsonSchema): JsonSchema[] {
  const parts = [...(schema.allOf ?? []), ...(schema.oneOf ?? []), ...(schema.anyOf ?? []), ...(schema.$ref ? [deref(schema.$ref)] : [])];
  return [schema, ...parts.flatMap(whole)];
}
