import { stringify } from "yaml";

/** Every string is quoted: Kubernetes reads YAML 1.1, where a bare `no` or `1e3` is no string. */
export const yaml = (value: unknown): string =>
  stringify(value, {
    defaultStringType: "QUOTE_DOUBLE",
    defaultKeyType: "PLAIN",
    lineWidth: 0,
    aliasDuplicateObjects: false,
  });

/** The object's fields that have a value; undefined when none has. */
export function some(object: Record<string, unknown>): Record<string, unknown> | undefined {
  const given = Object.entries(object).filter(([, value]) => value !== undefined);
  return given.length > 0 ? Object.fromEntries(given) : undefined;
}

/** Lines of comment. */
export const comment = (...lines: string[]): string => lines.map((line) => `# ${line}\n`).join("");
