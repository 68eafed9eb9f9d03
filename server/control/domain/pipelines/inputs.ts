import { patternMatcher } from "../../../../openapi/pattern-match.ts";
import type { PipelineSpec } from "../../../../openapi/rules/pipelines/graph.ts";
import { Problem } from "../problem.ts";

/**
 * The inputs of a run: what was given, and the defaults of the rest.
 * @throws Problem that names the input
 */
export function inputsOf(
  { inputs = {} }: PipelineSpec,
  given: Readonly<Record<string, string>>,
): Record<string, string> {
  const known = Object.keys(inputs);
  const fitsPattern = patternMatcher();
  for (const name of Object.keys(given))
    if (!Object.hasOwn(inputs, name))
      throw refused(
        name,
        `The pipeline has no input \`${name}\`; it has ${known.map((k) => `\`${k}\``).join(", ") || "none"}.`,
      );
  return Object.fromEntries(
    Object.entries(inputs).map(([name, { default: standard, pattern }]) => {
      const value = Object.hasOwn(given, name) ? given[name] : standard;
      if (value === undefined) throw refused(name, `The pipeline needs the input \`${name}\`, which has no default.`);
      const fits = pattern === undefined || fitsPattern(pattern, value);
      if (fits === true) return [name, value];
      throw refused(
        name,
        fits === "slow" ? `Matching \`${name}\` with its pattern takes too long.` : `\`${name}\` must fit ${pattern}.`,
      );
    }),
  );
}

const refused = (name: string, detail: string) => new Problem("invalid_field", detail, { pointer: `/inputs/${name}` });
