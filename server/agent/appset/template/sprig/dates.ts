import { parseGoDuration } from "../../../../base/lang/duration.ts";
import { type Callable, fn } from "../function.ts";
import { Opaque, TemplateError, type Value } from "../value.ts";

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
// The words of Go's reference time, Mon Jan 2 15:04:05 MST 2006; longer ones first.
const LAYOUT =
  /January|Jan|Monday|Mon|MST|2006|002|01|02|03|04|05|06|_2|15|Z07:00|Z0700|-07:00|-0700|-07|PM|pm|[.,](?:0+|9+)(?!\d)|[12345]/g;

// An expression is made of it, and V8 ends the process over one of megabytes.
const MAX_LAYOUT = 1_000;
function fitting(layout: string): string {
  if (layout.length > MAX_LAYOUT) throw new TemplateError(`a layout of a time with more than ${MAX_LAYOUT} characters`);
  return layout;
}

/** A moment, shown at an offset from UTC. */
export class Time extends Opaque {
  readonly type = "time.Time";
  readonly ms: number;
  readonly offset: number;
  readonly zone: string;

  constructor(ms: number, offset = 0, zone = "UTC") {
    super();
    if (!Number.isFinite(ms) || Math.abs(ms) > 8.6e15) throw new TemplateError("a time out of range");
    this.ms = ms;
    this.offset = offset;
    this.zone = zone;
  }

  toString(): string {
    return this.format("2006-01-02 15:04:05.999999999 -0700 MST");
  }

  override member(name: string): Value {
    const at = new Date(this.ms + this.offset * 60_000);
    const members: Record<string, () => Value> = {
      Year: () => BigInt(at.getUTCFullYear()),
      Month: () => MONTHS[at.getUTCMonth()],
      Day: () => BigInt(at.getUTCDate()),
      Hour: () => BigInt(at.getUTCHours()),
      Minute: () => BigInt(at.getUTCMinutes()),
      Second: () => BigInt(at.getUTCSeconds()),
      Weekday: () => DAYS[at.getUTCDay()],
      YearDay: () => BigInt(dayOfYear(at)),
      Unix: () => BigInt(Math.floor(this.ms / 1_000)),
      UnixMilli: () => BigInt(this.ms),
      UTC: () => new Time(this.ms),
      String: () => this.toString(),
    };
    return Object.hasOwn(members, name) ? members[name]!() : undefined;
  }

  format(given: string): string {
    const layout = fitting(given);
    const at = new Date(this.ms + this.offset * 60_000);
    const two = (n: number) => String(n).padStart(2, "0");
    const hour = at.getUTCHours() % 12 || 12;
    const sign = this.offset < 0 ? "-" : "+";
    const [h, m] = [two(Math.floor(Math.abs(this.offset) / 60)), two(Math.abs(this.offset) % 60)];
    return layout.replace(LAYOUT, (word) => {
      if (word[0] === "." || word[0] === ",") {
        const digits = String(at.getUTCMilliseconds())
          .padStart(3, "0")
          .padEnd(word.length - 1, "0")
          .slice(0, word.length - 1);
        if (word[1] === "0") return word[0] + digits;
        const short = digits.replace(/0+$/, "");
        return short ? word[0] + short : "";
      }
      const words: Record<string, () => string> = {
        January: () => MONTHS[at.getUTCMonth()]!,
        Jan: () => MONTHS[at.getUTCMonth()]!.slice(0, 3),
        Monday: () => DAYS[at.getUTCDay()]!,
        Mon: () => DAYS[at.getUTCDay()]!.slice(0, 3),
        MST: () => this.zone,
        "2006": () => String(at.getUTCFullYear()).padStart(4, "0"),
        "06": () => two(at.getUTCFullYear() % 100),
        "002": () => String(dayOfYear(at)).padStart(3, "0"),
        "01": () => two(at.getUTCMonth() + 1),
        "1": () => String(at.getUTCMonth() + 1),
        "02": () => two(at.getUTCDate()),
        "2": () => String(at.getUTCDate()),
        _2: () => String(at.getUTCDate()).padStart(2, " "),
        "15": () => two(at.getUTCHours()),
        "03": () => two(hour),
        "3": () => String(hour),
        "04": () => two(at.getUTCMinutes()),
        "4": () => String(at.getUTCMinutes()),
        "05": () => two(at.getUTCSeconds()),
        "5": () => String(at.getUTCSeconds()),
        PM: () => (at.getUTCHours() < 12 ? "AM" : "PM"),
        pm: () => (at.getUTCHours() < 12 ? "am" : "pm"),
        "-07:00": () => `${sign}${h}:${m}`,
        "-0700": () => `${sign}${h}${m}`,
        "-07": () => `${sign}${h}`,
        "Z07:00": () => (this.offset === 0 ? "Z" : `${sign}${h}:${m}`),
        Z0700: () => (this.offset === 0 ? "Z" : `${sign}${h}${m}`),
      };
      return words[word]!();
    });
  }
}

const dayOfYear = (at: Date) => Math.floor((at.getTime() - Date.UTC(at.getUTCFullYear(), 0, 0)) / 86_400_000);

/** The same moment in a zone; one that is not known is UTC. */
function inZone(ms: number, zone: string): Time {
  if (zone === "" || zone === "UTC" || zone === "Local") return new Time(ms);
  try {
    const parts = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" }).formatToParts(ms);
    const named = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "short" }).formatToParts(ms);
    const found = /GMT([+-])(\d\d):(\d\d)/.exec(parts.find(({ type }) => type === "timeZoneName")!.value);
    const offset = found ? (found[1] === "-" ? -1 : 1) * (Number(found[2]) * 60 + Number(found[3])) : 0;
    const short = named.find(({ type }) => type === "timeZoneName")!.value;
    // A zone without a short name of its own is called by its offset.
    const isOffset = short.startsWith("GMT") && short !== "GMT" && found;
    return new Time(ms, offset, isOffset ? `${found[1]}${found[2]}` : short);
  } catch {
    return new Time(ms);
  }
}

function timeOf(value: Value): Time {
  if (value instanceof Time) return value;
  if (typeof value === "bigint") return new Time(Number(value) * 1_000);
  return new Time(Date.now());
}

/** Go's Duration.String for whole seconds. */
function durationText(seconds: number): string {
  const sign = seconds < 0 ? "-" : "";
  const all = Math.abs(seconds);
  const [h, m, s] = [Math.floor(all / 3_600), Math.floor((all % 3_600) / 60), all % 60];
  const hours = h ? `${h}h` : "";
  const minutes = h || m ? `${m}m` : "";
  return `${sign}${hours}${minutes}${s}s`;
}

function durationRound(value: Value): string {
  const since = value instanceof Time ? Date.now() - value.ms : Number(value) / 1_000_000;
  const ms = typeof value === "string" ? (parseGoDuration(value) ?? 0) : since;
  const all = Math.abs(ms) / 1_000;
  for (const [unit, size] of [
    ["y", 31_536_000],
    ["mo", 2_592_000],
    ["d", 86_400],
    ["h", 3_600],
    ["m", 60],
    ["s", 1],
  ] as const) {
    if (all >= size) return `${ms < 0 ? "-" : ""}${Math.floor(all / size)}${unit}`;
  }
  return "0s";
}

const modify = (strict: boolean) =>
  fn("st", ([change, time]) => {
    const ms = parseGoDuration(change);
    if (ms === undefined && strict) throw new TemplateError(`time: invalid duration ${JSON.stringify(change)}`);
    return new Time(time.ms + (ms ?? 0), time.offset, time.zone);
  });

/** Reads a time by a layout of Go. */
function numberPattern(name: string): string {
  if (/^[.,]/.test(name)) return "[.,]\\d+";
  if (/07/.test(name)) return "Z|[+-]\\d\\d(?::?\\d\\d)?";
  return name.length === 2 && name !== "_2" ? "\\d{2}" : "\\s?\\d{1,2}";
}

function read(given: string, text: string): Time | undefined {
  const layout = fitting(given);
  const names: string[] = [];
  const word: Record<string, string> = {
    January: "[A-Za-z]+",
    Jan: "[A-Za-z]{3}",
    Monday: "[A-Za-z]+",
    Mon: "[A-Za-z]{3}",
    MST: "[A-Z]{3,4}",
    "2006": "\\d{4}",
    PM: "[AP]M",
    pm: "[ap]m",
    "002": "\\d{3}",
  };
  const parts = layout.split(LAYOUT);
  const words = layout.match(LAYOUT) ?? [];
  let source = "";
  parts.forEach((part, i) => {
    source += part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    if (i >= words.length) return;
    const name = words[i]!;
    names.push(name);
    source += `(${word[name] ?? numberPattern(name)})`;
  });
  const found = new RegExp(`^${source}$`).exec(text);
  if (!found) return undefined;
  const get = (...from: string[]) => {
    const at = names.findIndex((name) => from.includes(name));
    return at < 0 ? undefined : found[at + 1];
  };
  const monthName = get("January", "Jan");
  const month = monthName ? MONTHS.findIndex((name) => name.startsWith(monthName)) : Number(get("01", "1") ?? 1) - 1;
  const short = get("06");
  const year = Number(get("2006") ?? (short ? (Number(short) < 69 ? 2_000 : 1_900) + Number(short) : 0));
  let hour = Number(get("15", "03", "3") ?? 0);
  const half = get("PM", "pm")?.toUpperCase();
  if (half === "PM" && hour < 12) hour += 12;
  if (half === "AM" && hour === 12) hour = 0;
  const day = Number(get("02", "2", "_2") ?? 1);
  const [minute, second] = [Number(get("04", "4") ?? 0), Number(get("05", "5") ?? 0)];
  const zone = /^([+-])(\d\d):?(\d\d)?$/.exec(get("Z07:00", "Z0700", "-07:00", "-0700", "-07") ?? "");
  const offset = zone ? (zone[1] === "-" ? -1 : 1) * (Number(zone[2]) * 60 + Number(zone[3] ?? 0)) : 0;
  if (
    month < 0 ||
    month > 11 ||
    day < 1 ||
    day > new Date(Date.UTC(year, month + 1, 0)).getUTCDate() ||
    hour > 23 ||
    minute > 59 ||
    second > 59
  )
    return undefined;
  const at = new Date(Date.UTC(2000, month, day, hour, minute, second));
  at.setUTCFullYear(year, month, day);
  return new Time(at.getTime() - offset * 60_000, offset, zone ? "" : "UTC");
}

const ZERO = () => new Time(new Date("0001-01-01T00:00:00Z").getTime());
const inZoneFn = fn("sas", ([layout, value, zone]) => inZone(timeOf(value).ms, zone).format(layout));

export const DATES: Record<string, Callable> = {
  now: fn("", () => new Time(Date.now())),
  date: fn("sa", ([layout, value]) => inZone(timeOf(value).ms, "").format(layout)),
  dateInZone: inZoneFn,
  date_in_zone: inZoneFn,
  htmlDate: fn("a", ([value]) => inZone(timeOf(value).ms, "").format("2006-01-02")),
  htmlDateInZone: fn("as", ([value, zone]) => inZone(timeOf(value).ms, zone).format("2006-01-02")),
  dateModify: modify(false),
  date_modify: modify(false),
  mustDateModify: modify(true),
  must_date_modify: modify(true),
  ago: fn("a", ([value]) => durationText(Math.round((Date.now() - timeOf(value).ms) / 1_000))),
  duration: fn("a", ([value]) => {
    const isCount = typeof value === "bigint" || (typeof value === "string" && /^[+-]?\d+$/.test(value));
    return durationText(isCount ? Number(value) : 0);
  }),
  durationRound: fn("a", ([value]) => durationRound(value)),
  toDate: fn("ss", ([layout, text]) => read(layout, text) ?? ZERO()),
  mustToDate: fn("ss", ([layout, text]) => {
    const time = read(layout, text);
    if (!time)
      throw new TemplateError(`parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}: cannot parse`);
    return time;
  }),
  unixEpoch: fn("t", ([time]) => String(Math.floor(time.ms / 1_000))),
};
