import { createHmac, scryptSync } from "node:crypto";
import { type Callable, fn } from "../function.ts";
import { TemplateError } from "../value.ts";

const SEED = "com.lyndir.masterpassword";
// One takes a tenth of a second and 64 MB, so a template may ask for few of them.
const COST = 40_000;
const VOWELS = "AEIOU";
const CONSONANTS = "BCDFGHJKLMNPQRSTVWXYZ";
const LETTERS = `AEIOUaeiou${CONSONANTS}${CONSONANTS.toLowerCase()}`;
const CHARACTERS: Record<string, string> = {
  V: VOWELS,
  C: CONSONANTS,
  v: VOWELS.toLowerCase(),
  c: CONSONANTS.toLowerCase(),
  A: VOWELS + CONSONANTS,
  a: LETTERS,
  n: "0123456789",
  o: "@&%?,=[]_:-+*$#!'^~;()/.",
  x: `${LETTERS}0123456789!@#$%^&*()`,
};
const TEMPLATES: Record<string, string> = {
  maximum: "anoxxxxxxxxxxxxxxxxx axxxxxxxxxxxxxxxxxno",
  long:
    "CvcvnoCvcvCvcv CvcvCvcvnoCvcv CvcvCvcvCvcvno CvccnoCvcvCvcv CvccCvcvnoCvcv CvccCvcvCvcvno CvcvnoCvccCvcv CvcvCvccnoCvcv " +
    "CvcvCvccCvcvno CvcvnoCvcvCvcc CvcvCvcvnoCvcc CvcvCvcvCvccno CvccnoCvccCvcv CvccCvccnoCvcv CvccCvccCvcvno CvcvnoCvccCvcc " +
    "CvcvCvccnoCvcc CvcvCvccCvccno CvccnoCvcvCvcc CvccCvcvnoCvcc CvccCvcvCvccno",
  medium: "CvcnoCvc CvcCvcno",
  short: "Cvcn",
  basic: "aaanaaan aannaaan aaannaaa",
  pin: "nnnn",
};

/** The same password for the same words, as the algorithm of that name makes it. */
function derivePassword(counter: bigint, type: string, password: string, user: string, site: string): string {
  const templates = Object.hasOwn(TEMPLATES, type) ? TEMPLATES[type]!.split(" ") : undefined;
  if (!templates) return `cannot find password template ${type}`;
  const number = (value: number | bigint) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(Number(BigInt.asUintN(32, BigInt(value))));
    return bytes;
  };
  const named = (text: string) =>
    Buffer.concat([Buffer.from(SEED), number(Buffer.byteLength(text)), Buffer.from(text)]);
  const key = scryptSync(password, named(user), 64, { N: 32_768, r: 8, p: 2, maxmem: 96 * 1024 * 1024 });
  const seed = createHmac("sha256", key)
    .update(Buffer.concat([named(site), number(counter)]))
    .digest();
  const template = templates[seed[0]! % templates.length]!;
  return [...template].map((letter, i) => CHARACTERS[letter]![seed[i + 1]! % CHARACTERS[letter]!.length]).join("");
}

/** Functions whose result differs at each look: they would change a set's applications each time. */
const unsettled = (name: string): Callable =>
  fn("a*", () => {
    throw new TemplateError(
      `${name} makes something else each time, so that the applications would never come to rest; make it once, in a chart or a Secret`,
    );
  });
const UNSETTLED = [
  "bcrypt",
  "htpasswd",
  "genPrivateKey",
  "genCA",
  "genCAWithKey",
  "genSelfSignedCert",
  "genSelfSignedCertWithKey",
  "genSignedCert",
  "genSignedCertWithKey",
];

function certificate(certificateText: string, keyText: string) {
  const read = (text: string, what: string): string => {
    const decoded = Buffer.from(text, "base64");
    if (decoded.toString("base64").replace(/(?<!=)=+$/, "") !== text.replace(/(?<!=)=+$/, ""))
      throw new TemplateError(`unable to decode base64 ${what}`);
    return decoded.toString("utf8");
  };
  const [cert, key] = [read(certificateText, "certificate"), read(keyText, "private key")];
  if (!cert.includes("-----BEGIN CERTIFICATE-----")) throw new TemplateError("unable to decode certificate");
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(key)) throw new TemplateError("unable to decode private key");
  return new Map([
    ["Cert", cert],
    ["Key", key],
  ]);
}

export const CRYPTO: Record<string, Callable> = {
  derivePassword: fn("issss", ([counter, type, password, user, site], budget) => {
    budget.step(COST);
    return derivePassword(counter, type, password, user, site);
  }),
  buildCustomCert: fn("ss", ([cert, key]) => certificate(cert, key)),
  ...Object.fromEntries(UNSETTLED.map((name) => [name, unsettled(name)])),
};
