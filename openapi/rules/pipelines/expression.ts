/**
 * Values in texts of a pipeline.
 *
 *   ${inputs.NAME}                an input of the run
 *   ${steps.ID.outputs.NAME}      an output of a step that has ended; further names and list positions go deeper
 *   ${steps.ID.state}             Succeeded, Failed, Skipped or Cancelled
 *   ${steps.ID.task}              the id of its task, as `artifact` takes it
 *   ${run.id}                     the run itself
 *   ${secret:…}                   left to the delegate, as is its escape $${secret:…}
 *   ${HOME}, ${X:-y}              left to the shell: a name without a dot is not one of ours
 *   $${                           the two characters ${
 *
 * A script is no such text: see `splitParams`.
 */
export type Expression =
  | { of: "input"; name: string; text: string; at: number }
  | { of: "step"; step: string; field: "outputs" | "state" | "task"; path: string[]; text: string; at: number }
  | { of: "run"; text: string; at: number };

/** Literal parts and expressions. */
export type Piece = string | Expression;
export type Parsed = { pieces: Piece[] } | { fault: string };

const SECRET = "${secret:";
const LONGEST = 256;
const FORM = /^\$\{([A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_-]+){1,16})\}/;

/** Takes a text apart. A fault names the column and what to write instead. */
export function parseTemplate(text: string): Parsed {
  const pieces: Piece[] = [];
  let plain = "";
  let i = 0;
  while (i < text.length) {
    const next = text.indexOf("${", i);
    if (next < 0) break;
    plain += text.slice(i, next);
    const escaped = plain.endsWith("$");
    if (
      escaped ||
      text.startsWith(SECRET, next) ||
      !/^\$\{[A-Za-z][A-Za-z0-9_]*\./.test(text.slice(next, next + LONGEST))
    ) {
      // The delegate takes away the sign of its own escape.
      if (escaped && !text.startsWith(SECRET, next)) plain = plain.slice(0, -1);
      plain += "${";
      i = next + 2;
      continue;
    }
    const found = expressionAt(text, next);
    if (typeof found === "string") return { fault: found };
    if (plain) pieces.push(plain);
    plain = "";
    pieces.push(found);
    i = next + found.text.length;
  }
  plain += text.slice(i);
  if (plain || pieces.length === 0) pieces.push(plain);
  return { pieces };
}

/** The expression that begins at a place, or its error. */
export function expressionAt(text: string, at: number): Expression | string {
  const [whole, path] = FORM.exec(text.slice(at, at + LONGEST)) ?? [];
  const column = `column ${at + 1}`;
  if (!whole || !path)
    return `${column}: write an expression as \${inputs.NAME}, and $\${ for the characters \${ themselves`;
  const [head, name = "", field, ...rest] = path.split(".");
  if (head === "inputs" && field === undefined) return { of: "input", name, text: whole, at };
  if (head === "run" && name === "id" && field === undefined) return { of: "run", text: whole, at };
  if (head === "steps") {
    if ((field === "state" || field === "task") && rest.length === 0)
      return { of: "step", step: name, field, path: [], text: whole, at };
    if (field === "outputs" && rest.length > 0) return { of: "step", step: name, field, path: rest, text: whole, at };
    return `${column}: of a step there are \${steps.ID.outputs.NAME}, \${steps.ID.state} and \${steps.ID.task}, not ${whole}`;
  }
  if (head === "run") return `${column}: of a run there is \${run.id}, not ${whole}`;
  return `${column}: ${whole} is none of \${inputs.…}, \${steps.…} and \${run.id}; write $${whole} for the characters themselves`;
}

/** Kinds whose `script` is taken as it stands: with a value put in, the value could become a command. It gets values in `env`. */
const SCRIPTS: readonly string[] = ["shell.run", "powershell.run"];

/** The parameters of a task in which expressions are looked for, and those that are left alone. */
export function splitParams(kind: string, params: Readonly<Record<string, unknown>>) {
  if (!SCRIPTS.includes(kind) || !Object.hasOwn(params, "script")) return { templates: params, fixed: {} };
  const { script, ...templates } = params;
  return { templates, fixed: { script } };
}

/** Every expression of a text; none when it has a fault. */
export function expressionsOf(text: string): Expression[] {
  const parsed = parseTemplate(text);
  return "fault" in parsed ? [] : parsed.pieces.filter((p) => typeof p !== "string");
}
