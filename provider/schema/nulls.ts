import { index, key, type Path } from "../value/path.ts";
import { isMap, type Value } from "../value/value.ts";
import type { Attribute } from "./attribute.ts";
import type { Diagnostics } from "./diagnostics.ts";

/**
 * Refuses null where a value must be. Terraform's core only asks whether a required attribute is written, so that a variable without a value
 * (`id = var.name`) would get as far as an apply, and a replacement would have deleted the object by then.
 */
export function checkRequired(name: string, a: Attribute, path: Path, diagnostics: Diagnostics): void {
  if (a.presence === "required")
    diagnostics.error(
      "Missing value",
      `\`${name}\` is required and is null here. Give it a value, or a default to the variable behind it.`,
      path,
    );
}

/** Refuses null as an element of a list or set, or as a value of a map: the service has no place for it. */
export function checkElements(value: Value, path: Path, diagnostics: Diagnostics, isSet: boolean): void {
  const refuse = (at: Path, how: string) =>
    diagnostics.error("Missing element", `Elements of this attribute cannot be null. ${how}`, at);
  if (Array.isArray(value)) {
    for (const [i, one] of value.entries())
      if (one === null) refuse(isSet ? path : index(path, i), "Leave it out, for example with `compact([...])`.");
  } else if (isMap(value)) {
    for (const [k, one] of value)
      if (one === null)
        refuse(key(path, k), `Leave \`${k}\` out, for example with \`{ for k, v in ... : k => v if v != null }\`.`);
  }
}
