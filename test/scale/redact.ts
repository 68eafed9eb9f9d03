/**
 * How fast logs pass the redactor: 1 GB of lines with a few secrets now and then, against the same lines passed through a function that
 * only counts their bytes. Prints MB/s of both, their ratio, and how much the memory grew.
 *
 *   node --import tsx test/scale/redact.ts [MB]
 */
import { randomBytes } from "node:crypto";
import { Redactor } from "../../server/base/crypto/redact.ts";

const MB = Number(process.argv[2] ?? 1_000);
const pem = `-----BEGIN PRIVATE KEY-----\n${Array.from({ length: 26 }, () => randomBytes(48).toString("base64")).join("\n")}\n-----END PRIVATE KEY-----\n`;
const secrets = [
  randomBytes(20).toString("base64"),
  randomBytes(32).toString("hex"),
  "postgres://app:p4ss-w0rd@db.internal/app",
  pem,
];

const line = (i: number) => {
  if (i % 5_000 === 0) return `token ${Buffer.from(`user:${secrets[i % 3]}`).toString("base64")} was used`;
  return `2026-01-01T00:00:00.000Z INFO step ${i} of the build did a thing with object app-${i % 77} in ${i % 13} ms`;
};
const lines = Array.from({ length: 100_000 }, (_, i) => line(i));
const bytes = lines.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
const rounds = Math.ceil((MB * 1e6) / bytes);

const redactor = new Redactor();
const learning = performance.now();
for (const secret of secrets) redactor.add(secret);
const learned = performance.now() - learning;

let seen = 0;
const write = (text: string) => {
  seen += Buffer.byteLength(text) + 1;
};
const timed = (work: () => void) => {
  const from = performance.now();
  for (let i = 0; i < rounds; i++) work();
  return (bytes * rounds) / 1e6 / ((performance.now() - from) / 1_000);
};
const before = process.memoryUsage().rss;
const stream = redactor.stream();
const masked = timed(() => {
  for (const text of lines) for (const ready of stream.add(text)) write(ready);
});
const grown = (process.memoryUsage().rss - before) / 2 ** 20;
const plain = timed(() => {
  for (const text of lines) for (const ready of [text]) write(ready);
});
console.log(
  `${((bytes * rounds) / 1e6).toFixed(0)} MB in, ${(seen / 2e6).toFixed(0)} MB out, ${secrets.length} secrets learned in ${learned.toFixed(0)} ms`,
);
console.log(
  `redacted ${masked.toFixed(0)} MB/s, passed through ${plain.toFixed(0)} MB/s: ratio ${(masked / plain).toFixed(2)}; memory +${grown.toFixed(0)} MiB`,
);
