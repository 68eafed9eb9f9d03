import type { Diagnostics } from "../schema/diagnostics.ts";
import { attr, type Path, root } from "../value/path.ts";
import { field, stringField, Unknown, type Value, type ValueMap } from "../value/value.ts";

/** Given, and known already. */
export const known = (value: Value, name: string): boolean =>
  field(value, name) !== null && !(field(value, name) instanceof Unknown);

/** Given in whatever way; an unknown value may still become null, so it counts for nothing that is refused. */
export const given = (value: Value, name: string): boolean => field(value, name) !== null;

/** Refuses a project of no organisation. An unknown organisation is checked by the service. */
export function checkScope(config: ValueMap, diagnostics: Diagnostics): void {
  if (given(config, "project") && !given(config, "org"))
    diagnostics.error("Project without organisation", "A project is within an organisation: give `org` too.", [
      { attr: "project" },
    ]);
}

/** Refuses two attributes that exclude each other, at the second. */
export function exclusive(
  value: ValueMap,
  [a, b]: readonly [string, string],
  path: Path,
  diagnostics: Diagnostics,
  why: string,
): void {
  if (known(value, a) && known(value, b)) diagnostics.error("Two that exclude each other", why, attr(path, b));
}

/** Whether an object lies in a scope below its agent's, as far as the configuration says: `account.prod` from an organisation, or `org.prod` from a project. */
export function isBelowAgent(config: ValueMap): boolean {
  const agent = stringField(config, "agent") ?? "";
  return (
    (agent.startsWith("account.") && given(config, "org")) || (agent.startsWith("org.") && given(config, "project"))
  );
}

/** Says at plan time what the service refuses at apply, unless an app project `default` serves the scope. */
export function warnWithoutProject(attribute: string, how: string, diagnostics: Diagnostics): void {
  diagnostics.warning(
    "No app project is named",
    `The agent belongs to a scope above, where \`default\` is refused unless an app project of that name allows this scope. ${how}`,
    attr(root, attribute),
  );
}

/** Refuses a malformed PEM text. The text is not quoted: it may be a key. */
export function checkPem(text: string, what: RegExp, wanted: string, path: Path, diagnostics: Diagnostics): void {
  if (!what.test(text))
    diagnostics.error("Not a PEM text", `${wanted} is required, from its BEGIN line to its END line.`, path);
}

export const PEM = {
  certificate: /-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/,
  privateKey: /-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY-----[\s\S]+-----END ([A-Z0-9]+ )*PRIVATE KEY-----/,
} as const;
