import { Token } from "cdktf";

/** Text that Terraform takes as it stands; what cdktf put in for a value of another resource stays one. */
export function plain(text: string): string {
  return text.replace(/\$\{(?!TfToken\[)/g, "$$$${").replaceAll("%{", "%%{");
}

/** The same for every text in a value. */
export function every(value: unknown): unknown {
  if (typeof value === "string") return plain(value);
  if (Array.isArray(value)) return value.map(every);
  if (value === null || typeof value !== "object" || Token.isUnresolved(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, every(member)]));
}

/** A value as JSON text. What Terraform decides, it writes itself. */
export const asJson = (value: object): string => JSON.stringify(every(value));
