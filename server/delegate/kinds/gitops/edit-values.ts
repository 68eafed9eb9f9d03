import { type Document, isCollection, isMap, isSeq } from "yaml";
import { readDocuments } from "../../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";

/** A step of a dotted path: a member's name or the index of a list. */
type Step = string | number;

const MAX_DEPTH = 64;

/**
 * `image.tag`, `list[0].name`, `a["dotted.name"]` as steps.
 * A number after a dot is a name; only brackets are indices.
 */
export function parsePath(path: string): Step[] | undefined {
  const steps: Step[] = [];
  // A first name has no dot before it; every other one has.
  let rest = /^[.[]/.test(path) ? path : `.${path}`;
  if (path.startsWith(".")) return undefined;
  while (rest !== "") {
    const found = /^(?:\.([^.[\]"]+)|\[([0-9]{1,6})\]|\["((?:[^"\\]|\\.)*)"\])/.exec(rest);
    if (!found || steps.length >= MAX_DEPTH) return undefined;
    const [whole, name, index, quoted] = found;
    steps.push(name ?? (index === undefined ? quoted!.replace(/\\(.)/g, "$1") : Number(index)));
    rest = rest.slice(whole.length);
  }
  return steps;
}

/**
 * Sets values in a YAML or JSON text. YAML keeps its comments and order. Maps on the way are made; an index must exist, as a list does
 * not say what its missing elements would be. An empty string leaves its value as it is.
 */
export function editValues(file: string, text: string, values: Readonly<Record<string, unknown>>): Outcome<string> {
  const wanted = Object.entries(values).filter(([, value]) => value !== "");
  const json = /\.json$/i.test(file);
  const documents = readDocuments(text.trim() === "" ? "{}" : text, { logLevel: "silent" }) as Document[];
  const document = documents[0];
  if (!document || documents.length > 1)
    return stop("FileInvalid", `${file} must hold one document; it has ${documents.length}`);
  const [fault] = document.errors;
  if (fault) return stop("FileInvalid", `${file} is no ${json ? "JSON" : "YAML"}: ${fault.message.split("\n")[0]}`);
  if (document.contents !== null && !isCollection(document.contents))
    return stop("FileInvalid", `${file} holds a single value, no map`);
  let changed = false;
  for (const [path, value] of wanted) {
    const steps = parsePath(path);
    if (!steps) return stop("PathInvalid", `${JSON.stringify(path)} is not a path, as image.tag or list[0].name`);
    const missing = missingIndex(document.contents, steps);
    if (missing !== undefined) return stop("PathInvalid", `${file}: ${path}: there is no element ${missing} to change`);
    if (JSON.stringify(document.getIn(steps)) === JSON.stringify(value)) continue;
    try {
      document.setIn(steps, value);
    } catch (error) {
      return stop("PathInvalid", `${file}: ${path}: ${(error as Error).message}`);
    }
    changed = true;
  }
  if (!changed) return done(text);
  if (!json) return done(document.toString({ lineWidth: 0, flowCollectionPadding: false }));
  const indent = /^\s*[[{]\r?\n([ \t]+)/.exec(text)?.[1] ?? "  ";
  return done(`${JSON.stringify(document.toJS(), null, indent)}${text.endsWith("\n") ? "\n" : ""}`);
}

/** The first index on the way that the document does not have. */
function missingIndex(node: unknown, steps: readonly Step[]): number | undefined {
  let at: unknown = node;
  for (const step of steps) {
    if (typeof step === "number") {
      if (!isSeq(at) || step >= at.items.length) return step;
      at = at.items[step];
    } else at = isMap(at) ? at.get(step, true) : undefined;
  }
  return undefined;
}
