import { within } from "../../../../test/within.ts";
import { findInIndex } from "./chart-index.ts";

const yaml = `apiVersion: v1
entries:
  a.b:
  - {version: 9.9.9, urls: [dots]}
  aXb:
  - {version: 8.8.8, urls: [no-dots]}
  "quoted":
    - version: 1.0.0
      urls: [q]
  web:
  # newest first
  - apiVersion: v2
    description: |
      web:
      - version: 7.7.7
    name: web
    urls:
    - web-2.0.0.tgz
    version: 2.0.0
  - urls: [https://elsewhere/web-1.2.0.tgz, other]
    version: 1.2.0
  - {version: 3.0.0-rc.1, urls: [rc]}
  - {version: 5.0.0}
  zoo:
  - {version: 4.0.0, urls: [zoo]}
generated: "2026-01-01T00:00:00Z"
other:
  top: [1]
`;
test.each([
  ["web", "", "2.0.0", "web-2.0.0.tgz"],
  ["web", "1.x", "1.2.0", "https://elsewhere/web-1.2.0.tgz"],
  ["web", "3.0.0-rc.1", "3.0.0-rc.1", "rc"],
  ["web", ">=2.0.0-0", "3.0.0-rc.1", "rc"],
  ["a.b", "*", "9.9.9", "dots"],
  ["quoted", "*", "1.0.0", "q"],
  ["zoo", "4.0.0", "4.0.0", "zoo"],
])("%s %s", (chart, wanted, version, url) => {
  const value = { version, url };
  expect(findInIndex(Buffer.from(yaml), chart, wanted)).toEqual({ kind: "done", value });
});
test.each(["top", "nope", "version", "__proto__", "web:", ".*"])("%s is not a chart of it", (chart) => {
  for (const index of [
    yaml,
    '{"entries":{"web":[{"version":"1.0.0","urls":["u"]}]}}',
    "",
    "entries: {}\n",
    "{",
    "entries:\n",
  ])
    expect(findInIndex(Buffer.from(index), chart, "*")).toMatchObject({ kind: "stop", reason: "ChartNotFound" });
});
test("an index in JSON", () => {
  const index = Buffer.from('{"entries":{"web":[{"version":"1.0.0","urls":["u"]}]}}');
  expect(findInIndex(index, "web", "1")).toEqual({ kind: "done", value: { version: "1.0.0", url: "u" } });
});
test("an index of 20 MB is read in less than a second", () => {
  const other = Array.from(
    { length: 60_000 },
    (_, i) => `  chart${i}:\n  - version: 1.0.0\n    description: ${"x".repeat(250)}\n    urls: [c${i}]\n`,
  );
  const index = Buffer.from(`apiVersion: v1\nentries:\n${other.join("")}  web:\n  - {version: 1.0.0, urls: [u]}\n`);
  const began = performance.now();
  expect(findInIndex(index, "web", "1.0.0")).toMatchObject({ kind: "done" });
  expect(performance.now() - began).toBeLessThan(within(1_000));
});
