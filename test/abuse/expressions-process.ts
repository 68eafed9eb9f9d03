import { patternMatcher } from "../../openapi/pattern-match.ts";
import { matchPath } from "../../server/agent/appset/parameters/path.ts";
import { render } from "../../server/agent/appset/template/render.ts";
import { fromJson, type ValueMap } from "../../server/agent/appset/template/value.ts";
import { found } from "../../server/agent/appset/world/scm.ts";
import { compileJq, pathsOf } from "../../server/base/jq/jq.ts";
import { matchGlob } from "../../server/base/lang/glob.ts";

// An expression of a user, evaluated as the programs do it; what comes back is what a person would be told.
type Ask = { id: number; kind: string; expression: string; input: unknown };
const evaluate: Record<string, (expression: string, input: unknown) => string> = {
  jq: (expression, input) => {
    const program = compileJq(expression);
    const paths = typeof program === "string" ? program : pathsOf(program, input);
    return typeof paths === "string" ? paths : `${paths.length} paths`;
  },
  template: (expression, input) =>
    `${render(expression, fromJson(input) as ValueMap, { goTemplate: true, options: [] }).length} characters`,
  regex: (expression, input) => String(found(expression, input as string)),
  pattern: (expression, input) => String(patternMatcher()(expression, input as string)),
  glob: (expression, input) => String(matchGlob(expression, input as string, "/")),
  path: (expression, input) => String(matchPath(expression, input as string)),
};
process.on("message", ({ id, kind, expression, input }: Ask) => {
  const began = process.cpuUsage();
  let said: string;
  try {
    said = evaluate[kind]!(expression, input);
  } catch (error) {
    said = `refused: ${(error as Error).message}`;
  }
  // Its own time, not that of a busy machine.
  const { user, system } = process.cpuUsage(began);
  process.send!({ id, said, ms: (user + system) / 1_000 });
});
process.send!({ id: 0, said: "ready", ms: 0 });
