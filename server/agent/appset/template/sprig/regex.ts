import {
  findAll as find,
  type Match,
  PatternFault,
  PatternTooMuch as TooMuch,
} from "../../../../base/lang/go-pattern.ts";
import { TemplateError } from "../value.ts";

export { expand, type Match } from "../../../../base/lang/go-pattern.ts";

/** An expression beyond the bounds. It is an error, and must not be taken for one that does not match. */
export class PatternTooMuch extends TemplateError {}

/** Every match of an expression in Go's syntax; what is wrong with it is an error of the template. */
export function findAll(pattern: string, text: string): Match[] {
  try {
    return find(pattern, text);
  } catch (error) {
    if (error instanceof TooMuch) throw new PatternTooMuch(error.message);
    if (error instanceof PatternFault) throw new TemplateError(error.message);
    throw error;
  }
}
