import type { Condition } from "../../../../openapi/rules/pipelines/condition.ts";
import type { Expression } from "../../../../openapi/rules/pipelines/expression.ts";
import { asText, lookUp, type Values } from "./resolve.ts";

/** Whether a condition holds. Everything is compared as text; what has no value is the empty text. */
export function holds({ any }: Condition, values: Values): boolean {
  const text = (operand: string | Expression) =>
    typeof operand === "string" ? operand : asText(lookUp(operand, values));
  return any.some((all) => all.every(({ left, right, equal }) => (text(left) === text(right)) === equal));
}
