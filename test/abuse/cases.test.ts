import { existsSync, readFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);
const cases = readFileSync(new URL("./cases.txt", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line && !line.startsWith("#"))
  .map((line) => /^(\S+)\s+(\S+)\s+(.+)$/.exec(line)!.slice(1) as [string, string, string]);

test("the list has every part", () => expect(cases.length).toBeGreaterThan(60));

test.each(cases)("%s is proven by %s: %s", (_, file, words) => {
  const at = new URL(file, root);
  expect([file, existsSync(at)]).toEqual([file, true]);
  expect(readFileSync(at, "utf8")).toContain(words);
});
