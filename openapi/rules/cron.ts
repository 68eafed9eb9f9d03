import { isTimeZone } from "./zone.ts";

/** The minutes that a schedule of five fields names. */
export interface Schedule {
  minutes: ReadonlySet<number>;
  hours: ReadonlySet<number>;
  days: ReadonlySet<number>;
  months: ReadonlySet<number>;
  weekdays: ReadonlySet<number>;
  /** The field stood as `*`: then the other one of the two alone decides about the day. */
  anyDay: boolean;
  anyWeekday: boolean;
  /** The zone whose clocks it means, where it names one itself. */
  zone?: string;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/**
 * Reads a schedule; a text is its error. Names like `@daily` are refused, as the ecosystem does for windows; a zone may stand
 * before it, as `TZ=Europe/Berlin` or `CRON_TZ=`.
 */
export function parseCron(text: string): Schedule | string {
  const [prefix = "", name = ""] = /^(?:CRON_)?TZ=(\S*)(?: |$)/.exec(text) ?? [];
  const zone = name === "Local" ? "" : name;
  if (zone && !isTimeZone(zone)) return `provided bad location ${zone}`;
  const fields = text.slice(prefix.length).trim().split(/\s+/).filter(Boolean);
  if (fields.length !== 5) return `expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`;
  const read: Set<number>[] = [];
  const bounds: [number, number, string[]][] = [
    [0, 59, []],
    [0, 23, []],
    [1, 31, []],
    [1, 12, MONTHS],
    [0, 6, DAYS],
  ];
  for (const [i, [least, most, names]] of bounds.entries()) {
    const set = parseField(fields[i]!, least, most, names);
    if (typeof set === "string") return set;
    read.push(set);
  }
  const any = (field: string) => /(^|,)[*?](\/1)?(,|$)/.test(field);
  const [minutes, hours, days, months, weekdays] = read as [
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
  ];
  return {
    minutes,
    hours,
    days,
    months,
    weekdays,
    anyDay: any(fields[2]!),
    anyWeekday: any(fields[4]!),
    ...(zone ? { zone } : {}),
  };
}

function parseField(field: string, least: number, most: number, names: string[]): Set<number> | string {
  const out = new Set<number>();
  for (const part of field.split(",")) {
    const found = /^(\*|\?|[0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?(?:\/([0-9]+))?$/.exec(part);
    if (!found) return `failed to parse ${JSON.stringify(part)}`;
    const [, first = "", second, step] = found;
    const all = first === "*" || first === "?";
    if (all && second !== undefined) return `failed to parse ${JSON.stringify(part)}`;
    const from = all ? least : numberOf(first, least, names);
    // `5/15` counts from five to the end.
    const to = all || (second === undefined && step !== undefined) ? most : numberOf(second ?? first, least, names);
    const by = Number(step ?? 1);
    if (Number.isNaN(from) || Number.isNaN(to)) return `failed to parse int from ${part}`;
    if (from < least || to > most) return `${part} is outside of ${least} to ${most}`;
    if (from > to) return `beginning of range (${from}) beyond end of range (${to}): ${part}`;
    if (by === 0) return `step of range should be a positive number: ${part}`;
    for (let n = from; n <= to; n += by) out.add(n);
  }
  return out;
}

function numberOf(text: string, least: number, names: string[]): number {
  const name = names.indexOf(text.toLowerCase());
  if (name >= 0) return name + least;
  return /^[0-9]{1,4}$/.test(text) ? Number(text) : Number.NaN;
}
