import { parse, type Template } from "../../../../openapi/rules/template/template-parse.ts";
import { BUILTINS } from "./builtins.ts";
import { execute, type MissingKey } from "./exec.ts";
import type { FunctionTable } from "./function.ts";
import { CRYPTO } from "./sprig/crypto.ts";
import { DATES } from "./sprig/dates.ts";
import { ENCODE } from "./sprig/encode.ts";
import { LISTS } from "./sprig/lists.ts";
import { MATH } from "./sprig/math.ts";
import { PATHS } from "./sprig/paths.ts";
import { STRINGS } from "./sprig/strings.ts";
import { TemplateError, type ValueMap } from "./value.ts";

/** Every function of a Go template here, by name. Nothing of this program's surroundings can be asked with them. */
export const FUNCTIONS: FunctionTable = new Map(
  Object.entries({ ...BUILTINS, ...STRINGS, ...LISTS, ...MATH, ...ENCODE, ...CRYPTO, ...PATHS, ...DATES }),
);

const MISSING: Record<string, MissingKey> = {
  "missingkey=default": "default",
  "missingkey=invalid": "default",
  "missingkey=zero": "zero",
  "missingkey=error": "error",
};

export interface Rendering {
  goTemplate: boolean;
  options?: string[];
  /** What all texts of one set may take together. */
  work?: { charge(ms: number): void };
}

const KEPT = 500;
const parsed = new Map<string, Template>();

/** One text with its parameters filled in. Errors are a `TemplateError` in the words of the ecosystem's engine. */
export function render(text: string, params: ValueMap, how: Rendering): string {
  const begun = performance.now();
  const filled = fill(text, params, how);
  how.work?.charge(performance.now() - begun);
  return filled;
}

function fill(text: string, params: ValueMap, { goTemplate, options = [] }: Rendering): string {
  if (!goTemplate) return fast(text, params);
  let missing: MissingKey = "default";
  for (const option of options) {
    if (!Object.hasOwn(MISSING, option)) throw new TemplateError(`unrecognized option: ${option}`);
    missing = MISSING[option]!;
  }
  // Nothing to fill in, as in most fields.
  if (!text.includes("{{")) return text;
  let template = parsed.get(text);
  if (!template) {
    try {
      template = parse(text, (name) => FUNCTIONS.has(name));
    } catch (error) {
      if (error instanceof TemplateError) throw new TemplateError(`failed to parse template ${text}: ${error.message}`);
      throw error;
    }
    if (parsed.size >= KEPT) parsed.clear();
    if (text.length < 10_000) parsed.set(text, template);
  }
  try {
    return execute(template, params, FUNCTIONS, missing);
  } catch (error) {
    if (error instanceof TemplateError)
      throw new TemplateError(`failed to execute go template ${text}: ${error.message}`);
    throw error;
  }
}

/** `{{ a.b }}` by name; what names no text stays as it is. */
function fast(text: string, params: ValueMap): string {
  if (!/\{\{.*\}\}/.test(text)) return text;
  let out = "";
  let at = 0;
  for (;;) {
    const open = text.indexOf("{{", at);
    if (open < 0) return out + text.slice(at);
    const close = text.indexOf("}}", open + 2);
    if (close < 0)
      throw new TemplateError(`invalid template: cannot find end tag="}}" in the template=${JSON.stringify(text)}`);
    const tag = text.slice(open + 2, close);
    const value = params.get(tag.trim());
    out += text.slice(at, open) + (typeof value === "string" && tag.trim() !== "" ? value : `{{${tag}}}`);
    at = close + 2;
  }
}
