/** Characters that fewer than these would be found all over an honest log. */
export const SHORTEST = 6;

// Of longer values only the usual encodings are looked for, so that the tables stay small.
const RARE_FORMS = 4_096;

// A key or a certificate has fewer.
const MANY_LINES = 200;

type Encode = (text: string) => string;

/**
 * Every text that a value may become on its way into a log: as it is, trimmed, line by line, reversed, and in the encodings of the shell,
 * of URLs, JSON, XML, HTML, base64 (in all alignments, so also inside of something longer) and hex. Line breaks are left out: whoever
 * compares takes them out of the log too, which finds texts that were wrapped.
 */
export function formsOf(value: string): string[] {
  const forms = new Set<string>();
  const add = (form: string) => {
    const flat = form.replace(/\r?\n/g, "");
    if (flat.trim().length >= SHORTEST) forms.add(flat);
  };
  const trimmed = value.trim();
  for (const form of encoded(trimmed)) add(form);
  if (value !== trimmed) for (const form of usual(value)) add(form);
  const lines = linesOf(trimmed);
  for (const line of lines) for (const form of lines.length > MANY_LINES ? few(line) : usual(line)) add(form);
  return [...forms];
}

// What only frames: of PEM, of a kubeconfig, a word that names what follows. These are in every log, and no secret.
const FRAME = /^(-----(BEGIN|END) [^-]*-----|apiVersion: .*|kind: .*|-? ?"?[\w-]+"?: ?[{[]?)$/;

/** Its lines that are masked also where they stand alone. */
export function linesOf(value: string): string[] {
  if (!value.includes("\n")) return [];
  const lines = value.split("\n").map((line) => line.trim());
  return [...new Set(lines)].filter((line) => line.length >= SHORTEST && /[A-Za-z0-9]/.test(line) && !FRAME.test(line));
}

const few = (text: string): string[] => [
  text,
  ...base64(Buffer.from(text)).slice(0, 1),
  JSON.stringify(text).slice(1, -1),
];

function usual(text: string): string[] {
  const bytes = Buffer.from(text);
  return [text, ...json(text), ...base64(bytes), ...percent(text), ...hex(bytes)];
}

function encoded(text: string): string[] {
  const forms = usual(text);
  if (text.length > RARE_FORMS) return forms;
  const inner = base64(Buffer.from(text));
  return [
    ...forms,
    [...text].reverse().join(""),
    // A Kubernetes Secret of a Docker configuration; PowerShell's -EncodedCommand.
    ...inner.flatMap((form) => base64(Buffer.from(form))),
    ...base64(Buffer.from(text, "utf16le")),
    ...json(text).flatMap(json),
    ...percent(text).flatMap((form) => [form.replaceAll("%", "%25"), ...json(form)]),
    ...spacedHex(Buffer.from(text)),
    ...shell(text),
    ...json(text).flatMap((form) => [singleQuoted(form), ...markup(form)]),
    ...markup(text),
  ];
}

/**
 * The characters of the base64 text that only this value decides, for each place it can have in the bytes around it. What is left out at
 * either end holds at most four bits of it.
 */
function base64(bytes: Uint8Array): string[] {
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    const form = whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    const forUrls = form.replaceAll("+", "-").replaceAll("/", "_");
    // In a URL or in JSON.
    return [form, forUrls, form.replaceAll("/", "\\/"), percentOf(form, /[+/]/)];
  });
}

function hex(bytes: Buffer): string[] {
  const form = bytes.toString("hex");
  return [form, form.toUpperCase()];
}

function spacedHex(bytes: Buffer): string[] {
  const pairs = [...bytes].map((byte) => byte.toString(16).padStart(2, "0"));
  const escaped = pairs.map((pair) => `\\x${pair}`).join("");
  return [" ", ":"].flatMap((by) => [pairs.join(by), pairs.join(by).toUpperCase()]).concat(escaped);
}

// Who encodes what: everything but RFC 3986's unreserved, that and the slash, encodeURIComponent, encodeURI, user and password in a URL.
const ENCODED = [
  /[^A-Za-z0-9._~-]/u,
  /[^A-Za-z0-9._~/-]/u,
  /[^A-Za-z0-9._~!*'()-]/u,
  /[^A-Za-z0-9._~!*'();/?:@&=+$,#-]/u,
  /[^A-Za-z0-9._~!*'()$&+,%-]/u,
];

function percent(text: string): string[] {
  const forms = ENCODED.map((encodes) => percentOf(text, encodes));
  // A form: spaces as plus, the asterisk as it is, the tilde not.
  forms.push(
    percentOf(text, /[^A-Za-z0-9._* -]/u).replaceAll(" ", "+"),
    forms[0]!.replaceAll("%20", "+"),
    percentOf(text, /./su),
  );
  return forms.flatMap((form) => [form, form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())]);
}

function percentOf(text: string, encodes: RegExp): string {
  if (!encodes.test(text)) return text;
  return text.replace(new RegExp(encodes.source, "gsu"), (char) =>
    [...Buffer.from(char)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}

/** Inside of quotes: as JavaScript, Python (ASCII only), Go (no markup), PHP (slashes) and Java (upper case) write it. */
function json(text: string): string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  const ascii = plain.replace(/[\u0080-\uffff]/g, unicode);
  const forms = [plain, ascii].flatMap((form) => [form, form.replace(/[<>&]/g, unicode), form.replaceAll("/", "\\/")]);
  forms.push(text.replace(/[^A-Za-z0-9 ]/g, unicode));
  return forms.flatMap((form) => [
    form,
    form.replace(/\\u[0-9a-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`),
  ]);
}

const unicode: Encode = (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
const singleQuoted: Encode = (text) => text.replaceAll("'", "'\\''");

const ANSI: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", "'": "\\'" };
const octal: Encode = (char) => [...Buffer.from(char)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");

/** Quoted for a shell, or by one that shows what it does (`set -x`, `printf %q`), and as Python, SQL, YAML and CSV quote. */
function shell(text: string): string[] {
  const ansi = text.replace(/[\n\r\t\\']/g, (char) => ANSI[char]!);
  return [
    singleQuoted(text),
    text.replaceAll("'", `'"'"'`),
    text.replaceAll("'", "''"),
    text.replaceAll('"', '""'),
    text.replaceAll("$", "$$$$"),
    text.replace(/["\\$`]/g, "\\$&"),
    text.replace(/["\\$`!]/g, "\\$&"),
    text.replace(/[^A-Za-z0-9_@%+=:,./\u0080-\uffff-]/g, "\\$&"),
    text.replace(/[^A-Za-z0-9_@%+=:./\u0080-\uffff-]/g, "\\$&"),
    text.replace(/["\\`]/g, "\\$&"),
    ansi,
    ansi.replace(/[^\u0020-\u007e]/gu, octal),
    text.replace(/[\n\r\t\\]/g, (char) => ANSI[char]!),
  ];
}

/** As text or as an attribute of XML and HTML; who writes the quotes how. */
function markup(text: string): string[] {
  const safe = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const quotes = [
    ["&quot;", "'"],
    ["&quot;", "&#39;"],
    ["&quot;", "&#x27;"],
    ["&quot;", "&apos;"],
    ["&quot;", "&#039;"],
    ["&#34;", "&#39;"],
    ["&#34;", "'"],
  ] as const;
  const forms = [safe, ...quotes.map(([double, single]) => safe.replaceAll('"', double).replaceAll("'", single))];
  return [
    ...forms,
    ...forms.map((form) => form.replaceAll("/", "&#x2F;")),
    safe.replace(/[\r\n\t]/g, (c) => `&#${c.charCodeAt(0)};`),
    safe.replace(/[\u0080-\u{10ffff}]/gu, (c) => `&#${c.codePointAt(0)};`),
  ];
}
