const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: readonly [name: string, least: number, most: number, names: readonly string[]][] = [
  ["minute", 0, 59, []],
  ["hour", 0, 23, []],
  ["day of the month", 1, 31, []],
  ["month", 1, 12, MONTHS],
  ["day of the week", 0, 6, DAYS],
];

/** What is wrong with a schedule of five fields; undefined when nothing is. The agent reads the same (`@daily` and its like too). */
export function cronFault(text: string): string | undefined {
  if (/^@(yearly|annually|monthly|weekly|daily|midnight|hourly)$/i.test(text.trim())) return undefined;
  const fields = text.trim().split(/\s+/).filter(Boolean);
  if (fields.length !== FIELDS.length) return `there are ${fields.length}`;
  for (const [i, [name, least, most, names]] of FIELDS.entries()) {
    const bad = fields[i]!.split(",").find((part) => !isPart(part, least, most, names));
    if (bad !== undefined) return `${JSON.stringify(bad)} is no ${name} (${least} to ${most})`;
  }
  return undefined;
}

function isPart(part: string, least: number, most: number, names: readonly string[]): boolean {
  const found = /^(?:[*?]|([0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?)(?:\/([0-9]{1,4}))?$/.exec(part);
  if (!found) return false;
  const [, first, second, step] = found;
  if (step !== undefined && Number(step) === 0) return false;
  if (first === undefined) return true;
  const [from, to] = [first, second ?? first].map((word) => {
    const named = names.indexOf(word.toLowerCase());
    return named >= 0 ? named + least : /^[0-9]{1,4}$/.test(word) ? Number(word) : Number.NaN;
  }) as [number, number];
  return from >= least && to <= most && from <= to;
}
