import { patternMatcher } from "../../pattern-match.ts";
import { type Fault, step as segment } from "../fault.ts";
import type { PipelineSpec } from "./graph.ts";

/** Errors in the patterns of inputs, and defaults that do not fit them. */
export function inputFaults({ inputs = {} }: PipelineSpec): Fault[] {
  const fitsPattern = patternMatcher();
  return Object.entries(inputs).flatMap(([name, input]) => {
    if (input.pattern === undefined) return [];
    const at = `/inputs${segment(name)}`;
    const fits = fitsPattern(input.pattern, input.default ?? "");
    if (fits === "invalid")
      return [{ pointer: `${at}/pattern`, detail: "This is not a regular expression that JavaScript knows." }];
    if (input.default === undefined) return [];
    if (fits === "slow")
      return [{ pointer: `${at}/pattern`, detail: "Matching the default takes too long: avoid nested repetition." }];
    return fits ? [] : [{ pointer: `${at}/default`, detail: "The default does not fit `pattern`." }];
  });
}
