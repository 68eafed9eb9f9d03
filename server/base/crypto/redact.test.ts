import { execFileSync } from "node:child_process";
import { within } from "../../../test/within.ts";
import { formsOf } from "./encodings.ts";
import { MASK, Redactor } from "./redact.ts";

/** A reproducible source of chance; the seed is in the test's name. */
function dice(seed: number) {
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const text = (alphabet: string, length: number) =>
    Array.from({ length }, () => [...alphabet][next([...alphabet].length)]).join("");
  return { next, text };
}

const PASSWORD =
  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!@#$%^&*()_+-=[]{};:'\",.<>/?\\|`~ äß€𝔘";
const pem = (random: ReturnType<typeof dice>) =>
  `-----BEGIN PRIVATE KEY-----\n${Array.from({ length: 6 }, () => random.text("ABCDEFabcdef0123456789+/", 64)).join("\n")}\n-----END PRIVATE KEY-----\n`;

function redactor(...values: string[]): Redactor {
  const made = new Redactor();
  for (const value of values) made.add(value);
  return made;
}

const utf16 = (text: string) => Buffer.from(text, "utf16le");
const b64 = (text: string | Uint8Array) => Buffer.from(text as string).toString("base64");
const pct = encodeURIComponent;
const unicode = (text: string) => text.replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** What programs do to a value before they print it; each is made here by another way than the one that is tested. */
const ENCODINGS: Record<string, (text: string) => string> = {
  raw: (s) => s,
  "base64, first alignment": b64,
  "base64, second alignment": (s) => b64(`u${s}`),
  "base64, third alignment": (s) => b64(`us${s}`),
  "base64 with a line break": (s) => b64(`${s}\n`),
  "base64, between others": (s) => b64(`user:${s}@host and more`),
  base64url: (s) => Buffer.from(s).toString("base64url"),
  "base64 of base64": (s) => b64(`{"auth":"${b64(`user:${s}`)}"}`),
  "base64 of UTF-16": (s) => b64(utf16(`$p = '${s}'`)),
  "base64 in a URL": (s) => pct(b64(s)),
  "percent, as encodeURIComponent": pct,
  "percent, lower case": (s) => pct(s).replace(/%../g, (c) => c.toLowerCase()),
  "percent, as a form": (s) => new URLSearchParams({ s }).toString().slice(2),
  "percent, every byte": (s) => Buffer.from(s).toString("hex").replace(/../g, "%$&").toUpperCase(),
  "percent, in a URL's password": (s) => {
    const url = new URL("http://host");
    url.password = s;
    return url.password;
  },
  "percent twice": (s) => pct(pct(s)),
  json: (s) => JSON.stringify({ a: [s] }),
  "json twice": (s) => JSON.stringify(JSON.stringify({ a: [s] })),
  "json in ASCII": (s) => unicode(JSON.stringify(s)),
  "json in ASCII, upper case": (s) =>
    unicode(JSON.stringify(s)).replace(/\\u(....)/g, (_, c) => `\\u${c.toUpperCase()}`),
  "json as Go writes it": (s) => JSON.stringify(s).replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
  "json as PHP writes it": (s) => JSON.stringify(s).replaceAll("/", "\\/"),
  hex: (s) => Buffer.from(s).toString("hex"),
  "hex, upper case": (s) => Buffer.from(s).toString("hex").toUpperCase(),
  "hex with colons": (s) => Buffer.from(s).toString("hex").match(/../g)!.join(":"),
  "in single quotes": (s) => `'${s.replaceAll("'", `'\\''`)}'`,
  "in double quotes of a shell": (s) => `"${s.replace(/["\\$`]/g, "\\$&")}"`,
  "ANSI-C quoted": (s) => `$'${s.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`,
  xml: (s) => s.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
  "xml attribute": (s) =>
    s
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("'", "&apos;"),
  "html as Go writes it": (s) =>
    s
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&#34;")
      .replaceAll("'", "&#39;"),
  reversed: (s) => [...s].reverse().join(""),
};

test.each(Object.entries(ENCODINGS))("no piece of a secret is left: %s", (_name, encode) => {
  const random = dice(7);
  for (let round = 0; round < 60; round++) {
    const secret = `${random.text(PASSWORD, 8 + random.next(60)).trim()}x9`;
    const before = random.text("qwertz .,:=[]", random.next(40));
    const shown = `${before}${encode(secret)}"${before}`;
    const masked = redactor(random.text(PASSWORD, 20), secret).text(shown);
    // What is left is what another secret of this length would have around it too, and what base64 shares with its neighbours.
    const other = encode(secret.replace(/./gsu, (char) => "k".repeat(Buffer.byteLength(char))));
    const own = [0, 1].map((end) => common(encode(secret), other, end === 1)).reduce((sum, length) => sum + length, 0);
    const rest = masked.split(MASK).join("").length - 2 * before.length - 1;
    expect([masked.includes(MASK), rest <= own + 6 ? [] : [rest, own, secret, masked]]).toEqual([true, []]);
  }
});

function common(a: string, b: string, fromEnd: boolean): number {
  let length = 0;
  while (length < a.length && a.at(fromEnd ? -1 - length : length) === b.at(fromEnd ? -1 - length : length)) length++;
  return length;
}

test("it does not matter where a line of output is cut, or where it is wrapped", () => {
  const random = dice(11);
  for (let round = 0; round < 200; round++) {
    const secret = random.text("ABCDEFabcdef0123456789+/_-", 24 + random.next(400));
    const shown = `${"x".repeat(random.next(30))}${[secret, b64(secret), Buffer.from(secret).toString("hex")][random.next(3)]}${"y".repeat(random.next(30))}`;
    const lines: string[] = [];
    const width = 10 + random.next(80);
    for (let at = 0; at < shown.length; at += width) lines.push(shown.slice(at, at + width));
    const stream = redactor(secret).stream();
    const masked = [...lines.flatMap((line) => stream.add(line)), ...stream.flush()];
    expect(masked).toHaveLength(lines.length);
    // Together the lines hold only what was around the secret, up to four characters of base64 that it shares with its neighbours, and five
    // at its beginning where a line ended there.
    expect(masked.join("").replaceAll(MASK, "").replace(/^x*/, "").replace(/y*$/, "").length).toBeLessThanOrEqual(9);
  }
});

test("a secret of several lines is masked line by line, as a whole, indented, trimmed, and in JSON", () => {
  const random = dice(13);
  const secret = pem(random);
  const lines = secret.split("\n").slice(1, -2);
  const shows = [
    secret,
    secret.replaceAll("\n", "\r\n"),
    secret.replace(/^/gm, "    "),
    lines[3]!,
    `key: ${lines[0]} and ${lines[5]}`,
    JSON.stringify({ secret }),
    JSON.stringify(JSON.stringify({ secret })),
    b64(secret),
    b64(secret).replace(/.{76}/g, "$&\n"),
    b64(`{"key":${JSON.stringify(secret)}}`).replace(/.{64}/g, "$&\r\n"),
    pct(secret),
    execFileSync("fold", ["-w", "20"], { input: secret }).toString(),
  ];
  for (const shown of shows) {
    const masked = redactor(secret).text(shown);
    for (const line of lines)
      for (const form of [line, b64(line).slice(0, -4), pct(line)])
        for (let at = 0; at + 12 <= form.length; at += 4)
          expect(masked.replaceAll(/\s/g, "")).not.toContain(form.slice(at, at + 12));
  }
});

test("what frames a certificate or names a field of a kubeconfig is not masked, what stands in it is", () => {
  const config = "apiVersion: v1\nkind: Config\nusers:\n- user:\n    token: abcdefgh12345678\n";
  const made = redactor(config, pem(dice(1)));
  const log = "kind: Config\napiVersion: v1\nusers:\n-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----";
  expect([made.text(log), made.text("    token: abcdefgh12345678")]).toEqual([log, `    ${MASK}`]);
});

test("a log without a secret passes unchanged, byte for byte, and every line at once", () => {
  const random = dice(17);
  const made = redactor(
    random.text(PASSWORD, 24),
    pem(random),
    "postgres://app:pa55word@db/app",
    random.text("0123456789abcdef", 40),
  );
  const stream = made.stream();
  for (let i = 0; i < 20_000; i++) {
    const line = `${random.text(PASSWORD, random.next(120))}${random.next(20) ? "" : "\r"}`;
    expect(stream.add(line)).toEqual([line]);
  }
  const text = `\n\n${random.text(PASSWORD, 5_000)}\n\r\n`;
  expect([made.text(text), made.value({ a: [1, true, null, text, { b: "c" }] })]).toEqual([
    text,
    { a: [1, true, null, text, { b: "c" }] },
  ]);
});

test.each<[string, string[], string, string]>([
  ["a value below six characters", ["short", " a b "], "short a b", "short a b"],
  ["a number within a longer one", ["123456"], "at 91234567 s", `at 9${MASK}7 s`],
  ["a column of numbers", ["123456"], "1\n2\n3\n4\n5\n6", "1\n2\n3\n4\n5\n6"],
  ["one within another", ["secret-inner", "the-secret-inner-one"], "the-secret-inner-one", MASK],
  ["one across another", ["abcdefgh", "efghijkl"], "abcdefghijkl", MASK],
  ["twice in a row", ["abcdefgh"], "abcdefghabcdefgh-abcdefgh", `${MASK}-${MASK}`],
  ["periodic texts", ["aaaaaaaa"], "aaaaaaaaaaaaa", MASK],
  ["spaces around it", ["  abcdefgh \n"], "x abcdefgh y", `x ${MASK} y`],
  ["the beginning of one at the end of the log", ["abcdefghijklmnop"], "x abcdefghijklm", `x ${MASK}`],
  ["a word that a long one begins with", ["postgres://app:password@db"], "a postgres\nb", "a postgres\nb"],
  ["the mask itself", ["[secret]"], "[secret]", MASK],
  ["empty lines between", ["abcdefghijklmnop"], "abcdefgh\n\n\nijklmnop", `${MASK}\n\n\n${MASK}`],
])("%s", (_name, secrets, given, want) => {
  expect(redactor(...secrets).text(given)).toBe(want);
});

test("names of members and numbers are masked too, and no member gets lost", () => {
  const given = { abcdefgh: 1, "x-abcdefgh": "abcdefgh", list: ["abcdefgh", 12345678], "YWJjZGVmZ2g=": 12345679 };
  const got = redactor("abcdefgh", "12345678").value(given);
  expect(Object.values(got)).toEqual([1, MASK, [MASK, MASK], 12345679]);
  expect(JSON.stringify(got)).not.toMatch(/abcdefgh|YWJjZGVm|12345678\D/);
});

test("secrets that come later are masked from then on", () => {
  const made = redactor("first-secret");
  const stream = made.stream();
  expect(stream.add("second-secret")).toEqual(["second-secret"]);
  made.add("second-secret");
  expect(stream.add("second-secret first-secret")).toEqual([`${MASK} ${MASK}`]);
});

test("a stream keeps a bounded part of what it has seen", () => {
  const stream = redactor("abcdefghijklmnop").stream();
  expect(stream.add("abcdefgh")).toEqual([]);
  let given = 0;
  for (let i = 0; i < 1_000; i++) given += stream.add("").length;
  expect(given).toBeGreaterThan(700);
});

test("as many and as large secrets as are allowed are learned and found within seconds", () => {
  const random = dice(23);
  const secrets = Array.from({ length: 4 }, () => random.text("ABCDEFGHabcdefgh0123456789", 64 * 1024));
  const many = Array.from({ length: 196 }, () => random.text(PASSWORD, 30));
  const from = performance.now();
  const made = redactor(...secrets, ...many);
  const text = [...secrets, ...many].map((secret) => `${b64(secret)} ${secret}`).join("\n");
  expect(made.text(text).replaceAll(/\[secret\]|[ \n]/g, "").length).toBeLessThan(200 * 8);
  expect(performance.now() - from).toBeLessThan(within(20_000));
});

test("a file of thousands of lines that begin alike is learned and looked for within seconds", () => {
  const lines = Array.from({ length: 3_000 }, (_, i) => `export NAME_${i}=value-${i}`);
  const from = performance.now();
  const made = redactor(lines.join("\n"));
  const log = Array.from({ length: 2_000 }, () => "export export export NAME_17=value-17 export");
  expect(new Set(made.text(log.join("\n")).split("\n"))).toEqual(new Set([`export export ${MASK} export`]));
  expect(performance.now() - from).toBeLessThan(within(10_000));
});

test("forms are few for a plain password, and none is shorter than six characters", () => {
  const forms = formsOf("correct-horse-battery");
  expect(forms.length).toBeLessThan(60);
  expect(forms.filter((form) => form.length < 6)).toEqual([]);
});
