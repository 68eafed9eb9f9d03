import { equal, whollyKnown } from "../value/equal.ts";
import { attr, index, key, type Path, print, root } from "../value/path.ts";
import { isMap, Unknown, type Value } from "../value/value.ts";
import type { Attribute, Attributes, Schema } from "./attribute.ts";
import type { Diagnostics } from "./diagnostics.ts";
import { isMove } from "./plan.ts";
import { same } from "./same.ts";
import { defaultOf, typeOf } from "./type.ts";

type Report = (path: Path, text: string) => void;
const reporter =
  (subject: string, diagnostics: Diagnostics): Report =>
  (path, text) =>
    diagnostics.defect(subject, `${path.length > 0 ? `\`${print(path)}\` ` : "it "}${text}`, path);

/** Checks a schema against what Terraform accepts; one bad attribute makes a whole provider unusable there. */
export function guardSchema(subject: string, schema: Schema, diagnostics: Diagnostics): void {
  guardAttributes(schema.attributes, root, reporter(subject, diagnostics), {
    inSet: false,
    inCollection: false,
    writeOnly: false,
  });
}

function guardAttributes(
  attributes: Attributes,
  path: Path,
  report: Report,
  within: { inSet: boolean; inCollection: boolean; writeOnly: boolean },
): void {
  for (const [name, a] of Object.entries(attributes)) {
    const here = attr(path, name);
    if (!/^[a-z_][a-z0-9_]*$/.test(name)) report(here, "is not a lower-case name.");
    if ((a.type === undefined) === (a.attributes === undefined))
      report(here, "needs a type or nested attributes, and not both.");
    if ((a.attributes === undefined) !== (a.nesting === undefined))
      report(here, "needs nesting and nested attributes together.");
    if (a.default !== undefined && a.presence !== "either")
      report(here, "has a default, which only a value that the user may leave out can have.");
    if (a.writeOnly && (a.presence === "computed" || a.presence === "either"))
      report(here, "is write-only and cannot be computed.");
    if (a.writeOnly && within.inSet) report(here, "is write-only and cannot be inside a set.");
    if (within.writeOnly && !a.writeOnly) report(here, "is inside a write-only attribute and must be write-only too.");
    if (a.replace && a.presence === "computed") report(here, "is computed and cannot force a replacement.");
    if (a.attributes) {
      const collection = a.nesting !== "single";
      guardAttributes(a.attributes, here, report, {
        inSet: within.inSet || a.nesting === "set",
        inCollection: within.inCollection || collection,
        writeOnly: a.writeOnly === true,
      });
    } else if (a.type !== undefined) {
      try {
        if (within.inCollection && JSON.stringify(a.type).includes('"dynamic"'))
          report(here, "is dynamic and cannot be inside a collection.");
        typeOf(a);
        defaultOf(a);
      } catch (error) {
        report(here, `has no valid type: ${(error as Error).message}.`);
      }
    }
  }
}

/** Checks a plan: rules 2 to 5, 9 and 12 of what core asks of a provider. */
export function guardPlan(
  subject: string,
  schema: Schema,
  config: Value,
  prior: Value,
  planned: Value,
  diagnostics: Diagnostics,
): void {
  const report = reporter(subject, diagnostics);
  if (!isMap(planned)) {
    report(root, "was planned for absence although the configuration wants it.");
    return;
  }
  // A move gives the object another identity: nothing of the one before is stable then.
  const moved = isMap(prior) && isMove(schema.attributes, planned, prior);
  const before = moved ? new Map([...prior].filter(([name]) => !schema.attributes[name]?.stable)) : prior;
  planObject(schema.attributes, config, before, planned, root, report);
}

function planObject(
  attributes: Attributes,
  config: Value,
  prior: Value,
  planned: Value,
  path: Path,
  report: Report,
): void {
  if (!isMap(planned) || !isMap(config)) return;
  for (const name of planned.keys())
    if (!Object.hasOwn(attributes, name)) report(attr(path, name), "is not in the schema.");
  for (const [name, a] of Object.entries(attributes)) {
    const here = attr(path, name);
    const [wanted, got] = [config.get(name) ?? null, planned.get(name)];
    const before = isMap(prior) ? (prior.get(name) ?? null) : null;
    if (got === undefined) report(here, "is missing in the plan.");
    else if (a.writeOnly) {
      if (got !== null) report(here, "is write-only and must be null in the plan.");
    } else if (wanted === null) planUnset(a, prior, before, got, here, report);
    else planSet(a, wanted, before, got, here, report);
  }
}

function planUnset(a: Attribute, prior: Value, before: Value, got: Value, path: Path, report: Report): void {
  if ((a.presence === "optional" || a.presence === "required") && got !== null)
    report(path, "is not configured, has no computed value, and was planned all the same.");
  else if (a.presence === "computed" && got === null && !isMap(prior))
    report(path, "is computed and was planned as null for a new object; it must be unknown or final.");
  else if (a.stable && before !== null && got instanceof Unknown) report(path, "is stable and was planned as unknown.");
}

function planSet(a: Attribute, wanted: Value, before: Value, got: Value, path: Path, report: Report): void {
  if (!a.attributes || wanted instanceof Unknown || got === null || got instanceof Unknown) {
    const kept = same(a, wanted, got) || (before !== null && same(a, before, got) && same(a, wanted, before));
    if (!kept) report(path, "was planned with another value than the configured one.");
    return;
  }
  if (a.nesting === "single") planObject(a.attributes, wanted, before, got, path, report);
  else if (isMap(wanted) && isMap(got)) {
    if (wanted.size !== got.size) report(path, "was planned with other elements than the configured ones.");
    for (const [k, v] of wanted)
      planObject(
        a.attributes,
        v,
        isMap(before) ? (before.get(k) ?? null) : null,
        got.get(k) ?? null,
        key(path, k),
        report,
      );
  } else if (Array.isArray(wanted) && Array.isArray(got)) {
    if (wanted.length !== got.length)
      report(path, "was planned with another number of elements than the configuration has.");
    else if (a.nesting === "list")
      for (const [i, v] of wanted.entries())
        planObject(
          a.attributes,
          v,
          Array.isArray(before) ? (before[i] ?? null) : null,
          got[i]!,
          index(path, i),
          report,
        );
  }
}

/** Checks the result of an apply: rules 6, 7 and 9. Only what was unknown may have changed. */
export function guardApply(
  subject: string,
  schema: Schema,
  planned: Value,
  state: Value,
  diagnostics: Diagnostics,
): void {
  const report = reporter(subject, diagnostics);
  if (planned === null) {
    if (state !== null) report(root, "was deleted and still has a state.");
    return;
  }
  if (state === null) report(root, "was created or updated and has no state.");
  else applyObject(schema.attributes, planned, state, root, report);
}

function applyObject(attributes: Attributes, planned: Value, state: Value, path: Path, report: Report): void {
  if (!isMap(state)) return;
  for (const name of state.keys())
    if (!Object.hasOwn(attributes, name)) report(attr(path, name), "is not in the schema.");
  for (const [name, a] of Object.entries(attributes)) {
    const here = attr(path, name);
    const [wanted, got] = [isMap(planned) ? (planned.get(name) ?? null) : planned, state.get(name)];
    if (got === undefined) report(here, "is missing in the state.");
    else if (a.writeOnly) {
      if (got !== null) report(here, "is write-only and must be null in the state.");
    } else if (!whollyKnown(got)) report(here, "is still unknown after apply.");
    else applyAttribute(a, wanted, got, here, report);
  }
}

function applyAttribute(a: Attribute, wanted: Value, got: Value, path: Path, report: Report): void {
  if (wanted instanceof Unknown) {
    const { notNull, prefix } = wanted.refinement ?? {};
    if (notNull && got === null) report(path, "was promised not to be null and is null.");
    if (prefix && (typeof got !== "string" || !got.startsWith(prefix)))
      report(path, "was promised to start with another text.");
    return;
  }
  const differs = () => report(path, "has another value after apply than was planned.");
  if (wanted === null || got === null || !a.attributes) {
    // A planned value with unknown parts (a list, a map) is compared only where it is known, which core does itself.
    if (whollyKnown(wanted) && !exactly(a, wanted, got)) differs();
  } else if (a.nesting === "single") applyObject(a.attributes, wanted, got, path, report);
  else if (isMap(wanted) && isMap(got)) {
    if (wanted.size !== got.size) differs();
    for (const [k, v] of wanted) applyObject(a.attributes, v, got.get(k) ?? null, key(path, k), report);
  } else if (Array.isArray(wanted) && Array.isArray(got)) {
    if (wanted.length !== got.length) differs();
    else if (a.nesting === "list")
      for (const [i, v] of wanted.entries()) applyObject(a.attributes, v, got[i]!, index(path, i), report);
    else if (whollyKnown(wanted) && !exactly(a, wanted, got)) differs();
  }
}

const exactly = (a: Attribute, x: Value, y: Value): boolean => equal(typeOf(a), x, y);

/** Checks what a read or an import gives: wholly known, write-only attributes null. */
export function guardState(subject: string, schema: Schema, state: Value, diagnostics: Diagnostics): void {
  applyObject(schema.attributes, new Unknown(), state, root, reporter(subject, diagnostics));
}
