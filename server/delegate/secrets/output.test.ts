import { Redactor } from "../../base/crypto/redact.ts";
import { until } from "../testing/temporary.ts";
import { RedactedOutput } from "./output.ts";

function output(...values: string[]) {
  const redactor = new Redactor();
  for (const value of values) redactor.add(value);
  const lines: string[] = [];
  const redacted = new RedactedOutput(redactor, (stream, text) => void lines.push(`${stream}: ${text}`));
  return { redactor, lines, ...{ write: redacted.write, end: () => redacted.end() } };
}

test("without a secret lines pass at once, as they are", () => {
  const { write, lines } = output();
  write("stdout", "one");
  write("stderr", "");
  expect(lines).toEqual(["stdout: one", "stderr: "]);
});

test("each stream is looked at by itself: half a secret in one and half in the other are not one", async () => {
  const { write, lines, end } = output("abcdefghijklmnop");
  write("stdout", "x abcdefgh");
  write("stderr", "ijklmnop");
  write("stdout", "ijklmnop y");
  await end();
  expect(lines).toEqual(["stderr: ijklmnop", "stdout: x [secret]", "stdout: [secret] y"]);
});

test("a line that may hold the beginning of a secret waits only a moment", async () => {
  const { write, lines, end } = output("abcdefghijklmnop");
  write("stdout", "abcdefgh");
  expect(lines).toEqual([]);
  await until("it is written", () => lines.length);
  write("stdout", "ijklmnop");
  await end();
  expect(lines).toEqual(["stdout: abcdefgh", "stdout: [secret]"]);
});

test("several lines as one entry stay one, after what waited before them", () => {
  const { write, lines } = output("abcdefghijklmnop");
  write("system", "abcdefgh");
  write("system", "a\nabcdefghijklmnop\nb");
  expect(lines).toEqual(["system: abcdefgh", "system: a\n[secret]\nb"]);
});

test("whoever writes waits as long as the log does", async () => {
  const redactor = new Redactor();
  redactor.add("abcdefgh");
  let free!: () => void;
  const full = new Promise<void>((resolve) => {
    free = resolve;
  });
  const wait = new RedactedOutput(redactor, () => full).write("stdout", "a line");
  let waited = false;
  const after = wait!.then(() => {
    waited = true;
  });
  expect(waited).toBe(false);
  free();
  await after;
  expect(waited).toBe(true);
});
