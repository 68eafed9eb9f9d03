import { quoted } from "./fault.ts";
import { didYouMean } from "./suggest.ts";

/**
 * The error of a time zone's name. Agents look zones up as Go does, by the letter: `europe/berlin` and `+02:00` are unknown there,
 * though JavaScript takes both.
 */
export function timeZoneFault(name: string): string | undefined {
  if (name === "") return undefined;
  const known = isTimeZone(name)
    ? new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone
    : undefined;
  const sameLetters = known?.toLowerCase() === name.toLowerCase() ? known : undefined;
  if (known !== undefined && name === (sameLetters ?? name) && isSpelt(name)) return undefined;
  const hint = sameLetters ? ` Did you mean \`${sameLetters}\`?` : didYouMean(name, Intl.supportedValuesOf("timeZone"));
  return `There is no time zone ${quoted(name)}.${hint || " Write a name such as `Europe/Berlin` or `UTC`."}`;
}

/** The spelling of the zone database: each part begins with a capital, and a part beside others is not in capitals alone. */
const isSpelt = (name: string): boolean => {
  const parts = name.split("/");
  return parts.every(
    (part) =>
      /^[A-Z]/.test(part) && (parts.length === 1 || part === "UTC" || part === "UCT" || !/^[A-Z]{3,}$/.test(part)),
  );
};

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
