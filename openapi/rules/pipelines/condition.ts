import { type Expression, expressionAt } from "./expression.ts";

/**
 *   condition  = all { "||" all }
 *   all        = comparison { "&&" comparison }
 *   comparison = operand ( "==" | "!=" ) operand
 *   operand    = "text" | 'text' | ${…}
 *
 * Everything is compared as text; a missing value is the empty text.
 */
export interface Condition {
  /** Any of these lists of comparisons must hold as a whole. */
  any: Comparison[][];
}
interface Comparison {
  left: string | Expression;
  right: string | Expression;
  equal: boolean;
}
export type ParsedCondition = { condition: Condition } | { fault: string };

const OPERAND = `a text in quotes or \${…} is expected`;
type Token = { at: number; word: string; operand?: string | Expression };

/** Reads a condition. A fault names the column. */
export function parseCondition(text: string): ParsedCondition {
  const tokens = read(text);
  if (typeof tokens === "string") return { fault: tokens };
  const any: Comparison[][] = [[]];
  let i = 0;
  for (;;) {
    const [left, sign, right, join] = tokens.slice(i, i + 4);
    if (left?.operand === undefined) return fault(left, text, OPERAND);
    if (sign?.word !== "==" && sign?.word !== "!=") return fault(sign, text, "== or != is expected");
    if (right?.operand === undefined) return fault(right, text, OPERAND);
    any.at(-1)!.push({ left: left.operand, right: right.operand, equal: sign.word === "==" });
    if (!join) return { condition: { any } };
    if (join.word === "||") any.push([]);
    else if (join.word !== "&&") return fault(join, text, "&& or || is expected");
    i += 4;
  }
}

/** The expressions that a condition looks at. */
export function expressionsIn({ any }: Condition): Expression[] {
  return any.flatMap((all) => all.flatMap(({ left, right }) => [left, right].filter((o) => typeof o !== "string")));
}

function read(text: string): Token[] | string {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at);
    const space = /^\s+/.exec(rest);
    if (space) {
      at += space[0].length;
      continue;
    }
    const sign = /^(==|!=|&&|\|\|)/.exec(rest);
    if (sign) tokens.push({ at, word: sign[0] });
    else if (rest[0] === '"' || rest[0] === "'") {
      const end = text.indexOf(rest[0], at + 1);
      if (end < 0) return `column ${at + 1}: the quote ${rest[0]} is not closed`;
      tokens.push({ at, word: text.slice(at, end + 1), operand: text.slice(at + 1, end) });
    } else if (rest.startsWith("${")) {
      const found = expressionAt(text, at);
      if (typeof found === "string") return found;
      tokens.push({ at, word: found.text, operand: found });
    } else return `column ${at + 1}: ${JSON.stringify(rest.slice(0, 12))} is not understood; texts stand in quotes`;
    at += tokens.at(-1)!.word.length;
  }
  return tokens;
}

function fault(token: Token | undefined, text: string, expected: string): { fault: string } {
  return {
    fault: token ? `column ${token.at + 1}: ${expected}, not ${token.word}` : `column ${text.length + 1}: ${expected}`,
  };
}
