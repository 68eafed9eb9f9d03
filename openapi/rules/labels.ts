import { type Fault, isObject, isText, type Json, objectIn, objectsIn, quoted, step } from "./fault.ts";
import { didYouMean } from "./suggest.ts";

const NAME = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist"];

export function labelKeyFault(key: string): string | undefined {
  const slash = key.indexOf("/");
  const fits = NAME.test(key.slice(slash + 1)) && (slash < 0 || PREFIX.test(key.slice(0, slash)));
  return fits
    ? undefined
    : `${quoted(key)} is not a label key: it has letters, digits, \`-\`, \`_\` and \`.\`, for example \`example.com/team\`.`;
}

export function labelValueFault(value: string): string | undefined {
  return value === "" || NAME.test(value)
    ? undefined
    : `${quoted(value)} is not a label value: it has at most 63 letters, digits, \`-\`, \`_\` and \`.\`, and begins and ends with a letter or digit.`;
}

/** Keys and values of labels; `templated` texts are known only when they are filled in. */
export function labelFaults(labels: Json, at: string, templated: (text: string) => boolean = () => false): Fault[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const detail =
      (templated(key) ? undefined : labelKeyFault(key)) ??
      (isText(value) && !templated(value) ? labelValueFault(value) : undefined);
    return detail === undefined ? [] : [{ pointer: `${at}${step(key)}`, detail }];
  });
}

/** By Outpost's own labels an object says whose it is. */
export const ownLabelFaults = (labels: Json, at: string): Fault[] =>
  Object.keys(labels)
    .filter((key) => key.startsWith("outpost.dev/"))
    .map((key) => ({
      pointer: `${at}${step(key)}`,
      detail: `${quoted(key)} is a label that only Outpost sets: leave it out.`,
    }));

/** A selector with `matchLabels` and `matchExpressions`. */
export function selectorFaults(selector: unknown, at: string, templated: (text: string) => boolean): Fault[] {
  if (!isObject(selector)) return [];
  const faults = labelFaults(objectIn(selector, "matchLabels"), `${at}/matchLabels`, templated);
  for (const name of Object.keys(selector))
    if (name !== "matchLabels" && name !== "matchExpressions")
      faults.push({
        pointer: `${at}${step(name)}`,
        detail: `A selector has no field \`${name.slice(0, 64)}\`: it has \`matchLabels\` and \`matchExpressions\`.${didYouMean(name, ["matchLabels", "matchExpressions"])}`,
      });
  for (const [one, here] of objectsIn(selector, "matchExpressions", at)) {
    const { key, operator, values } = one;
    if (isText(key) && !templated(key)) {
      const detail = labelKeyFault(key);
      if (detail) faults.push({ pointer: `${here}/key`, detail });
    }
    if (isText(operator) && !OPERATORS.includes(operator))
      faults.push({
        pointer: `${here}/operator`,
        detail: `There is no operator ${quoted(operator)}.${didYouMean(operator, OPERATORS) || " Use `In`, `NotIn`, `Exists` or `DoesNotExist`."}`,
      });
    const given = Array.isArray(values) && values.length > 0;
    if ((operator === "In" || operator === "NotIn") && !given)
      faults.push({ pointer: `${here}/values`, detail: `\`${operator}\` needs \`values\`.` });
    if ((operator === "Exists" || operator === "DoesNotExist") && given)
      faults.push({ pointer: `${here}/values`, detail: `\`${operator}\` takes no \`values\`.` });
  }
  return faults;
}

/** A selector as one text, as kubectl takes it: `app=web,tier in (a, b),!old`. */
export function selectorTextFault(text: string): string | undefined {
  const rest = text.trim();
  if (rest === "") return undefined;
  const terms = rest.match(/[^,(]*\([^)]*\)[^,]*|[^,]+/g) ?? [];
  const bad = terms.join(",") !== rest ? rest : terms.find((term) => !isTerm(term.trim()));
  return bad === undefined
    ? undefined
    : `The selector ${quoted(text)} cannot be read at ${quoted(bad.trim())}. Write it as \`app=web,tier in (front, back),!old\`.`;
}

function isTerm(term: string): boolean {
  const [, key, rest] = /^(!?\s*[A-Za-z0-9][\w./-]*)(.*)$/s.exec(term) ?? [];
  if (key === undefined || labelKeyFault(key.replace(/^!\s*/, "")) !== undefined) return false;
  if (rest!.trim() === "") return true;
  if (key.startsWith("!")) return false;
  const compared = /^\s*(?:=|==|!=)\s*([^\s()=!]*)$/.exec(rest!);
  if (compared) return true;
  const listed = /^\s+(?:in|notin)\s*\(([^()]+)\)$/.exec(rest!);
  return listed !== null || /^\s*[<>]\s*-?\d+$/.test(rest!);
}
