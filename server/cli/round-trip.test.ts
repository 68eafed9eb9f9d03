import { readDocuments } from "./objects/documents.ts";
import { NOUNS } from "./objects/nouns.ts";
import { person } from "./testing.ts";

const head = {
  uid: "u",
  generation: 2,
  version: "7",
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
};

test.each(NOUNS.map((noun) => [noun.word, noun] as const))(
  "`%s get` and `list` give what `apply -f` takes back",
  async (word, noun) => {
    const object = { ...head, id: "a", org: "o", spec: { x: 1 }, status: {}, origin: "managed" };
    const me = person(({ operation }) => ({ body: operation?.startsWith("list") ? { items: [object] } : object }));
    for (const [verb, format] of [
      ["get", "yaml"],
      ["get", "json"],
      ["list", "yaml"],
      ["list", "json"],
    ] as const) {
      const { out } = await me.types(word, verb, ...(verb === "get" ? ["a"] : []), "-o", format);
      expect(readDocuments(out, "-", undefined, {})).toEqual([
        { noun, id: "a", scope: { org: "o", project: undefined }, spec: { x: 1 } },
      ]);
    }
  },
);

test("an object of Argo CD is refused with the way it can go", async () => {
  const text = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec: {}\n";
  const { exit, err } = await person(() => ({}), { stdin: async () => text }).types("apply", "-f", "-");
  expect([exit, err]).toEqual([
    2,
    expect.stringMatching(/Application is an object of Argo CD[\s\S]*kubectl apply[\s\S]*outpost app adopt web/),
  ]);
});

test.each([
  [["help", "app", "sync"], 0, "outpost app sync [options] [ids...]"],
  [["help", "application", "ls"], 0, "outpost app list|ls"],
  [["help"], 0, "Start here:"],
  [["help", "app", "sing"], 2, "there is no command `app sing` (outpost app --help)"],
  [["app", "delete", "--help"], 0, "--wait "],
])("%j exits %d and says %j", async (words, exit, want) => {
  const got = await person(() => ({})).types(...words);
  expect([got.exit, got.out + got.err]).toEqual([exit, expect.stringContaining(want)]);
});
