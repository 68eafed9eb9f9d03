import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { outpost } from "./command.ts";
import { EXAMPLE_LINES, examplesOf } from "./examples.ts";
import type { Io } from "./output/io.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const EXAMPLES = ["01-quickstart", "02-cdktf", "03-pipeline", "04-platform", "05-own-argocd"].map(
  (name) => `examples/${name}/README.md`,
);
const PAGES = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((f) => f.endsWith(".md"))
    .map((f) => `docs/${f}`),
  ...EXAMPLES,
];

/** Command lines of a page: in blocks for a shell, and in backquotes. What stands before or behind a pipe is another program's. */
function linesOf(page: string): string[] {
  const text = readFileSync(join(root, page), "utf8");
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) =>
    block!.replace(/\\\n\s*/g, "").split("\n"),
  );
  const prose = [...text.replace(/```[\s\S]*?```/g, "").matchAll(/`(outpost [^`…]+)`/g)].map(([, line]) => line!);
  // In a sentence a command's name stands for it.
  const quoted = prose.filter((line) => /[A-Z]{2}|--|\d/.test(line) || line.split(" ").length > 3);
  return [...blocks, ...quoted]
    .map(
      (line) =>
        line
          .trim()
          .replace(/\s+#.*$/, "")
          .split(/ \| | > | && /)[0]!,
    )
    .filter((line) => line.startsWith("outpost "));
}

const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c!).slice(1);

/** Parses as the command line does, with every action taken out: nothing is called. */
async function parses(words: string[]): Promise<string> {
  let said = "";
  const hear = (text: string | Uint8Array) => {
    said += String(text);
  };
  const sink = { write: hear, isTTY: false };
  const command = outpost({ env: {}, out: sink, err: sink } as unknown as Io);
  const all = [command];
  for (const one of all) {
    all.push(...one.commands);
    one.action(() => undefined);
  }
  // A group without an action of its own is no command.
  await command.parseAsync(words, { from: "user" }).catch((error: Error) => {
    said += error.message;
  });
  return said;
}

const lines = [
  ...PAGES.flatMap((page) => [...new Set(linesOf(page))].map((line) => [page, line] as const)),
  ...EXAMPLE_LINES.flatMap((line) => line.split(" | ").filter((part) => part.startsWith("outpost "))).map(
    (line) => ["--help", line] as const,
  ),
];

test("the pages have command lines", () => expect(lines.length).toBeGreaterThan(60));

test.each(lines)("%s: %s", async (_, line) => {
  expect(await parses(wordsOf(line))).toBe("");
});

test.each([
  "outpost app rolback guestbook 3",
  "outpost app sync guestbook --no-such",
  "outpost app frobnicate",
  "outpost app get",
])("%s would be found", async (line) => expect(await parses(wordsOf(line))).not.toBe(""));

test("each example stands in the help of its command", () => {
  const all = [outpost({ env: {}, out: { write() {} }, err: { write() {} } } as unknown as Io)];
  for (const one of all) all.push(...one.commands);
  expect(new Set(all.flatMap(examplesOf))).toEqual(new Set(EXAMPLE_LINES));
});
