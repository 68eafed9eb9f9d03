import { hasExpression } from "../../../../openapi/rules/pipelines/check.ts";
import { expressionsOf } from "../../../../openapi/rules/pipelines/expression.ts";
import { paramFaults as shapeFaults } from "../../../../openapi/rules/tasks/params.ts";
import type { Schemas } from "../nouns.ts";
import { checkParams, schemaFaults, unfit } from "../params.ts";
import { Problem } from "../problem.ts";

type Kind = Schemas["TaskKind"];

/**
 * What does not fit a kind. Texts with an expression are passed over: their values are not known here, and everything is checked again
 * when the step starts.
 */
export function paramFaults(
  kind: Kind,
  params: Record<string, unknown>,
  at: string,
): { pointer: string; detail: string }[] {
  const said = shapeFaults(kind, params, hasExpression);
  if (said.length > 0) return said.map(({ pointer, detail }) => ({ pointer: `${at}${pointer}`, detail }));
  const all = schemaFaults(kind, params);
  const sure = all.filter(({ instancePath }) => !isTemplate(valueAt(params, instancePath)));
  return sure.map((fault) => toFault(unfit(kind, fault, at)));
}

/** What does not fit a kind, with every value known. */
export function valueFaults(kind: Kind, params: Record<string, unknown>): { pointer: string; detail: string }[] {
  return caught(() => checkParams(kind, params, ""));
}

function caught(check: () => void): { pointer: string; detail: string }[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof Problem) return [toFault(error)];
    throw error;
  }
}

const toFault = (problem: Problem) => ({ pointer: problem.details.pointer ?? "", detail: problem.message });

/**
 * Turns texts into the numbers and booleans that the kind wants at their place: inputs and the outputs of scripts are texts, and no
 * pipeline could pass a number on otherwise. Only where the pipeline has one expression as the whole value.
 */
export function fitTypes(kind: Kind, template: unknown, params: Record<string, unknown>): Record<string, unknown> {
  const wanted = schemaFaults(kind, params).filter(
    (e) => e.keyword === "type" && isTemplate(valueAt(template, e.instancePath)),
  );
  if (wanted.length === 0) return params;
  const fitted = structuredClone(params);
  for (const { instancePath, params: want } of wanted) {
    const text = valueAt(fitted, instancePath);
    const value = typeof text === "string" ? typed(text, String(want.type)) : undefined;
    if (value !== undefined) put(fitted, instancePath, value);
  }
  return fitted;
}

function typed(text: string, type: string): number | boolean | undefined {
  if (type === "boolean") return text === "true" || text === "false" ? text === "true" : undefined;
  if (type === "integer" && /^-?(0|[1-9][0-9]{0,14})$/.test(text)) return Number(text);
  if (type === "number" && /^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$/.test(text)) return Number(text);
  return undefined;
}

const isTemplate = (value: unknown) => typeof value === "string" && expressionsOf(value).length > 0;

const segments = (pointer: string) =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

function valueAt(value: unknown, pointer: string): unknown {
  return segments(pointer).reduce<unknown>(
    (at, part) =>
      at !== null && typeof at === "object" && Object.hasOwn(at, part)
        ? (at as Record<string, unknown>)[part]
        : undefined,
    value,
  );
}

function put(root: Record<string, unknown>, pointer: string, value: unknown): void {
  const path = segments(pointer);
  const parent = valueAt(root, pointer.slice(0, pointer.lastIndexOf("/"))) as Record<string, unknown>;
  parent[path.at(-1)!] = value;
}
