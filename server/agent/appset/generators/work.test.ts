import { generate } from "../generate.ts";
import type { ApplicationSetSpec } from "../types.ts";
import type { World } from "../world/world.ts";
import { Work } from "./work.ts";

const world = { clusters: () => [] } as unknown as World;
const elements = (count: number) => Array.from({ length: count }, (_, i) => ({ n: String(i) }));
const template = {
  metadata: { name: "a-{{ .n }}" },
  spec: { project: "b", source: { repoURL: "https://git.example/x", path: "." } },
};
const made = (generators: object[]) =>
  generate("set", { goTemplate: true, generators, template } as ApplicationSetSpec, world);

test("one set of many parameters does not keep others from working, even where it makes no application", async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const nothing = { list: { elements: elements(1_000) }, selector: { matchLabels: { n: "none" } } };
  const all = await made([
    { matrix: { generators: [{ list: { elements: elements(150) } }, nothing] } },
    { list: { elements: elements(2_000) } },
  ]);
  clearInterval(timer);
  expect(all).toMatchObject({ kind: "done" });
  expect(turns).toBeGreaterThan(20);
}, 30_000);

test("values that take seconds end the set with a reason", async () => {
  // Each text is within what one template may take.
  const value = "{{ range until 5000 }}{{ range until 18 }}{{ end }}{{ end }}";
  const values = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`v${i}`, value]));
  expect(await made([{ clusters: { values } }])).toMatchObject({
    kind: "stop",
    message: expect.stringMatching(/the set takes more than 2 s/),
  });
}, 30_000);

test("what a set takes counts from its first parameter to its last", async () => {
  const work = new Work();
  for (let i = 0; i < 10; i++) {
    work.charge(1_000);
    await work.turn();
  }
  expect(() => work.count(1)).toThrow("the set takes more than 10 s");
  expect(() => new Work().charge(2_001)).toThrow("the set takes more than 2 s");
});
