import { formsOf, SHORTEST } from "./encodings.ts";

/** The replacement of a secret. */
export const MASK = "[secret]";

/** Bounds of what one redactor hides; the room that they take is bounded too. */
export const REDACT_LIMITS = { values: 200, valueBytes: 64 * 1024, allBytes: 256 * 1024, lines: 4_096 } as const;

// Longer texts are looked for in pieces of this size, each by itself, so that no caller waits for more than this, and comparing costs the same.
const PIECE = 96;
const STEP = PIECE - 2 * SHORTEST;
// Shorter texts are not looked for across line breaks: a column of numbers is not a secret.
const LONG = 12;
// Empty lines may follow each other for ever.
const MOST_HELD = 256;
/** How far the last three characters of a window, as long as the shortest text, let it jump ahead when they are in no text. */
const JUMP = SHORTEST - 2;

const triple = (a: number, b: number, c: number) => ((a & 0x3f) << 12) | ((b & 0x3f) << 6) | (c & 0x3f);

/**
 * Finds and masks a growing set of secrets in text, in every encoding of `formsOf`, in linear time. It looks at windows of six characters
 * and skips ahead by what their end allows (Wu and Manber), so most characters are never read.
 */
export class Redactor {
  readonly #values = new Set<string>();
  /** Texts to mask by their first six characters. */
  readonly #forms = new Map<string, Forms>();
  readonly #jumps = new Uint8Array(1 << 18).fill(JUMP);
  readonly #starts = new Uint8Array(1 << 18);

  /** How many values are hidden. */
  get size(): number {
    return this.#values.size;
  }

  /** From now on the value is masked. Values shorter than six characters are not: masking them would ruin every log. */
  add(value: string): void {
    if (this.#values.has(value) || value.trim().length < SHORTEST) return;
    this.#values.add(value);
    for (const form of formsOf(value)) for (const piece of pieces(form)) this.#learn(piece);
  }

  /** A whole text at once; lines stay lines. */
  text(text: string): string {
    if (this.#values.size === 0) return text;
    const stream = this.stream();
    const lines = text.split("\n").flatMap((line) => stream.add(line));
    const masked = [...lines, ...stream.flush()].join("\n");
    return masked === text ? text : masked;
  }

  /** A value of JSON with everything in it masked: texts, names of members, and numbers that are a secret. */
  value<T>(value: T): T {
    return this.#deep(value) as T;
  }

  #deep(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value === "number" || typeof value === "bigint")
      return this.text(String(value)) === String(value) ? value : MASK;
    if (Array.isArray(value)) return value.map((item) => this.#deep(item));
    if (value === null || typeof value !== "object") return value;
    const members = new Map<string, unknown>();
    for (const [name, member] of Object.entries(value)) {
      const masked = this.text(name);
      // Two names may become the same one.
      members.set(members.has(masked) ? `${masked} ${members.size}` : masked, this.#deep(member));
    }
    return Object.fromEntries(members);
  }

  /** For one stream of lines. */
  stream(): RedactedLines {
    return new RedactedLines((text, found, open) => this.#scan(text, found, open));
  }

  #learn(piece: string): void {
    const key = piece.slice(0, SHORTEST);
    const same = this.#forms.get(key) ?? new Forms();
    this.#forms.set(key, same);
    same.add(piece);
    const tripleAt = (at: number) => triple(key.charCodeAt(at), key.charCodeAt(at + 1), key.charCodeAt(at + 2));
    this.#starts[tripleAt(0)] = 1;
    for (let at = 0; at < JUMP; at++) this.#jumps[tripleAt(at)] = Math.min(this.#jumps[tripleAt(at)]!, JUMP - 1 - at);
  }

  /** Finds every place of a secret, and every place near the end where one may have begun. */
  #scan(text: string, found: (from: number, to: number) => void, open: (from: number) => void): void {
    const jumps = this.#jumps;
    const starts = this.#starts;
    const last = text.length - SHORTEST;
    for (let at = 0; at <= last; ) {
      const jump = jumps[triple(text.charCodeAt(at + 3), text.charCodeAt(at + 4), text.charCodeAt(at + 5))]!;
      if (jump > 0) {
        at += jump;
        continue;
      }
      if (starts[triple(text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2))]) {
        const forms = this.#forms.get(text.slice(at, at + SHORTEST));
        const length = forms?.longestAt(text, at);
        if (length) found(at, at + length);
        if (forms?.mayBegin(text, at)) open(at);
      }
      at++;
    }
  }
}

/** Texts with the same beginning. A file of a thousand lines that all begin with `export` costs no more to look up than one of ten. */
class Forms {
  readonly #byLength = new Map<number, Set<string>>();
  #lengths: number[] = [];
  readonly #long: string[] = [];
  #sorted = true;

  add(form: string): void {
    let same = this.#byLength.get(form.length);
    if (!same) {
      same = new Set();
      this.#byLength.set(form.length, same);
      this.#lengths = [...this.#byLength.keys()].sort((a, b) => b - a);
    }
    if (same.has(form)) return;
    same.add(form);
    if (form.length < LONG) return;
    this.#long.push(form);
    this.#sorted = false;
  }

  /** Length of the longest that stands there whole. */
  longestAt(text: string, at: number): number | undefined {
    return this.#lengths.find(
      (length) => at + length <= text.length && this.#byLength.get(length)!.has(text.slice(at, at + length)),
    );
  }

  /** Whether a long one may continue beyond the end of the text. */
  mayBegin(text: string, at: number): boolean {
    if (at + this.#lengths[0]! <= text.length) return false;
    if (!this.#sorted) this.#long.sort();
    this.#sorted = true;
    const rest = text.slice(at);
    let [low, high] = [0, this.#long.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#long[middle]! <= rest) low = middle + 1;
      else high = middle;
    }
    return this.#long[low]?.startsWith(rest) ?? false;
  }
}

// Overlapping, so that wherever a text is wrapped at least one of them is recognised to be open.
function pieces(form: string): string[] {
  if (form.length <= PIECE) return [form];
  const starts = Array.from({ length: Math.ceil((form.length - PIECE) / STEP) }, (_, i) => i * STEP);
  return [...starts, form.length - PIECE].map((start) => form.slice(start, start + PIECE));
}

type Scan = (text: string, found: (from: number, to: number) => void, open: (from: number) => void) => void;

interface Held {
  text: string;
  /** Where it begins in the present text; below zero when it began in an earlier one. */
  start: number;
  /** Where it ends there. */
  end: number;
  spans: [number, number][];
}

/**
 * One stream of lines. A line is returned as soon as no secret in it can end in a later line: nearly always at once.
 * Only ends of lines are kept, never more than a piece of a secret and the lines it may lie in.
 */
export class RedactedLines {
  readonly #scan: Scan;
  /** The end of the text so far, without line breaks: a secret may continue from here. */
  #carry = "";
  #held: Held[] = [];
  /** Where in `#carry` a secret may have begun. */
  #open = false;

  constructor(scan: Scan) {
    this.#scan = scan;
  }

  /** Whether lines wait for what follows. */
  get holds(): boolean {
    return this.#held.length > 0;
  }

  /** Takes a line without its break, gives the lines that are ready. */
  add(line: string): string[] {
    const body = line.endsWith("\r") ? line.slice(0, -1) : line;
    const base = this.#carry.length;
    const text = base === 0 ? body : this.#carry + body;
    this.#held.push({ text: line, start: base, end: text.length, spans: [] });
    let open = -1;
    this.#scan(
      text,
      (from, to) => this.#mark(from, to),
      (from) => {
        if (open < 0) open = from;
      },
    );
    this.#open = open >= 0;
    const keep = this.#open ? open : Math.max(0, text.length - (SHORTEST - 1));
    this.#carry = text.slice(keep);
    const ready = this.#open ? this.#held.findIndex(({ end }) => end > keep) : -1;
    const lines = this.#held.splice(0, ready < 0 ? this.#held.length : ready).map(masked);
    for (const held of this.#held) {
      held.start -= keep;
      held.end -= keep;
    }
    return this.#held.length > MOST_HELD ? [...lines, ...this.flush()] : lines;
  }

  /** All lines, also those of which more was to come: at the end, or when nothing came for a while. */
  flush(): string[] {
    // The beginning of a secret whose end is missing.
    if (this.#open && this.#carry.length >= LONG) this.#mark(0, this.#carry.length);
    return this.#held.splice(0).map(masked);
  }

  #mark(from: number, to: number): void {
    // Whether a break lies inside: then the text may only seem to be a secret.
    const broken = this.#held.some(({ start }) => from < start && start < to);
    if (broken && to - from < LONG) return;
    for (const { start, end, spans } of this.#held)
      if (from < end && to > start && end > start) spans.push([Math.max(0, from - start), Math.min(end, to) - start]);
  }
}

function masked({ text, spans }: Held): string {
  if (spans.length === 0) return text;
  spans.sort(([a], [b]) => a - b);
  let result = "";
  let at = 0;
  let end = -1;
  for (const [from, to] of spans) {
    if (from > end) {
      if (end >= 0) at = end;
      result += `${text.slice(at, from)}${MASK}`;
    }
    end = Math.max(end, to);
    at = end;
  }
  return result + text.slice(end);
}
