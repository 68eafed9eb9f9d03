import { parseJq } from "../../../openapi/rules/jq/parse.ts";
import { type Jq, signature } from "../../../openapi/rules/jq/tree.ts";
import { type Call, CALLS as MAIN } from "./calls.ts";
import { CHANGES } from "./changes.ts";
import { FORMATS } from "./formats.ts";
import { LISTS } from "./lists.ts";
import { NUMBERS } from "./numbers.ts";
import { PATTERNS } from "./patterns.ts";
import { countText } from "./values.ts";

/** Every function of the language, by name and number of its parts. */
export const CALLS: Record<string, Call> = {
  ...MAIN,
  ...LISTS,
  ...CHANGES,
  ...PATTERNS,
  ...NUMBERS,
  ...Object.fromEntries(
    Object.entries(FORMATS).map(([name, text]): [string, Call] => [
      `${name}/0`,
      (run, { value }, emit) => {
        countText(value);
        emit({ value: run.made(text(value)) });
      },
    ]),
  ),
};

/** Reads an expression of the jq language and checks its functions; a text is its error. */
export function compileJq(text: string): Jq | string {
  try {
    const program = parseJq(text);
    const unknown = unknownCall(program);
    return unknown ? `the function ${unknown} is not supported` : program;
  } catch (error) {
    return (error as Error).message;
  }
}

/** A function that does not exist, anywhere in an expression. */
function unknownCall(node: Jq): string | undefined {
  if (node.is === "call" && !node.own && !Object.hasOwn(CALLS, signature(node.name, node.parts)))
    return signature(node.name, node.parts);
  for (const part of Object.values(node).flat(2)) {
    const found = typeof part === "object" && part !== null && "is" in part ? unknownCall(part as Jq) : undefined;
    if (found) return found;
  }
  return undefined;
}
