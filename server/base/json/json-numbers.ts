/** A longer number is refused unread: the longest one that a double prints exactly has about 350 digits. */
const MAX_LENGTH = 400;
/** So many characters without an exponent are a number that a double keeps, whatever the digits. */
const SHORT = 15;

/** The pointer of the first number of a valid JSON text that no double prints: read here, it would become another. Costs one pass. */
export function findInexact(text: string): string | undefined {
  const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) i = endOfString(text, i);
    else if (c === 0x2d || (c >= 0x30 && c <= 0x39)) {
      number.lastIndex = i;
      const token = number.exec(text)?.[0];
      if (token === undefined) return undefined;
      if (!isExact(token)) return pointerAt(text, i);
      i += token.length - 1;
    }
  }
  return undefined;
}

/** Whether a decimal number keeps its value when it is read as a double and printed: `0.1` and `1e21` do, `9007199254740993` does not. */
export function isExact(token: string): boolean {
  if (token.length <= SHORT && !/[eE]/.test(token)) return true;
  if (token.length > MAX_LENGTH) return false;
  const double = Number(token);
  return Number.isFinite(double) && normal(token) === normal(String(double));
}

/** One spelling for each decimal number: its digits without zeros at the ends, and the exponent. */
function normal(token: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^([-+]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(token) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const kept = digits.replace(/0+$/, "");
  if (kept === "") return "0";
  return `${sign === "-" ? "-" : ""}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}

/** The pointer of the value that begins at a place of a valid JSON text. */
function pointerAt(text: string, place: number): string {
  const path: (string | number)[] = [];
  for (let i = 0; i < place; i++) {
    const c = text[i];
    if (c === '"') {
      const end = endOfString(text, i);
      // A string in an object is a name when a colon follows; as a value it is skipped.
      if (typeof path.at(-1) === "string" && /^\s*:/.test(text.slice(end + 1, end + 100)))
        path[path.length - 1] = text.slice(i, end + 1);
      i = end;
    } else if (c === "{") path.push("");
    else if (c === "[") path.push(0);
    else if (c === "}" || c === "]") path.pop();
    else if (c === "," && typeof path.at(-1) === "number") path[path.length - 1] = (path.at(-1) as number) + 1;
  }
  return path.map((step) => `/${typeof step === "number" ? step : escapeStep(JSON.parse(step) as string)}`).join("");
}

const escapeStep = (segment: string): string => segment.replaceAll("~", "~0").replaceAll("/", "~1");

function endOfString(text: string, start: number): number {
  let i = start + 1;
  for (; i < text.length && text.charCodeAt(i) !== 0x22; i++) if (text.charCodeAt(i) === 0x5c) i++;
  return i;
}
