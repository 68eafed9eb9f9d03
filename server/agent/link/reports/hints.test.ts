import { Hints, hintKey, MAX_HINTS, readHint } from "../../controller/loop/hints.ts";
import { withHints } from "./hints.ts";

const NOW = Date.parse("2026-01-01T00:00:00.000Z");
const hint = (url: string) => [{ url }];
const map = (data: object, name = "outpost-hints", resourceVersion = "1") => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, resourceVersion },
  data,
});

test("a repository has one place, whatever its spelling; a word repeated at once is another word", () => {
  const first = withHints({}, hint("https://github.com/acme/shop.git"), NOW);
  const second = withHints(
    first,
    [{ url: "git@github.com:acme/shop.git", revision: "a".repeat(40), refs: ["refs/heads/main"] }],
    NOW,
  );
  expect(Object.keys(second)).toEqual([hintKey("https://github.com/acme/shop")]);
  expect(readHint(Object.values(first)[0])).toEqual({
    url: "https://github.com/acme/shop.git",
    at: "2026-01-01T00:00:00.000Z",
  });
  expect(readHint(Object.values(second)[0])).toMatchObject({
    at: "2026-01-01T00:00:00.001Z",
    revision: "a".repeat(40),
  });
});

test("of too many the oldest are dropped, and what is not a hint before them", () => {
  let data: Record<string, unknown> = { note: "by hand", other: "{" };
  for (let i = 0; i < MAX_HINTS + 20; i++) data = withHints(data, hint(`https://h/o/${i}`), NOW + i);
  expect(Object.keys(data).length).toBe(MAX_HINTS);
  expect(data.note).toBeUndefined();
  expect(data[hintKey("https://h/o/0")]).toBeUndefined();
  expect(data[hintKey(`https://h/o/${MAX_HINTS + 19}`)]).toBeDefined();
});

test("the controller hears each hint once, none of those before its start, and nothing of broken ones", () => {
  const hints = new Hints();
  const first = withHints({}, hint("https://h/o/a"), NOW);
  expect(hints.take([map(first)])).toEqual({ hints: [], others: true });
  const second = withHints({ ...first, x: "{", y: "7", z: '{"url":1}', w: "null" }, hint("https://h/o/b"), NOW);
  expect(hints.take([map(second)]).hints.map(({ url }) => url)).toEqual(["https://h/o/b"]);
  expect(hints.take([map(second)])).toEqual({ hints: [], others: false });
  expect(hints.take([map(withHints(second, hint("https://h/o/a"), NOW))]).hints.map(({ url }) => url)).toEqual([
    "https://h/o/a",
  ]);
});

test("a hint says nothing of the other ConfigMaps, and they nothing of it", () => {
  const hints = new Hints();
  hints.take([map({}, "argocd-cm")]);
  const data = withHints({}, hint("https://h/o/a"), NOW);
  expect(hints.take([map({}, "argocd-cm"), map(data)])).toMatchObject({
    hints: [{ url: "https://h/o/a" }],
    others: false,
  });
  expect(hints.take([map({}, "argocd-cm", "2"), map(data)])).toEqual({ hints: [], others: true });
});
