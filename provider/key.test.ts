import { jest } from "@jest/globals";
import { createOutpost } from "./outpost.ts";
import { createHarness, type Harness } from "./testing/harness.ts";
import { createService, type FakeService } from "./testing/service.ts";

jest.setTimeout(120_000);

let h: Harness;
let east: FakeService;
let west: FakeService;
beforeEach(async () => {
  [east, west] = [await createService(), await createService()];
  h = await createHarness(createOutpost({ OUTPOST_CONFIG: "/nonexistent" }), {}, "outpost");
});
afterEach(() => Promise.all([h.close(), east.close(), west.close()]));

const provider = ({ endpoint }: FakeService, key: string, alias = "") =>
  `provider "outpost" {\n  ${alias && `alias = "${alias}"\n  `}endpoint = "${endpoint}"\n  api_key = "${key}"\n}\n`;
const agent = (id: string, alias = "") =>
  `resource "outpost_agent" "${id}" {\n  id = "${id}"\n  ${alias && `provider = outpost.${alias}`}\n}\n`;

test("a key that is refused is one error, however many resources there are, and nothing is made", async () => {
  await h.apply(provider(east, "key") + agent("a"));
  h.config(provider(east, "old") + ["a", "b", "c"].map((id) => agent(id)).join(""));
  for (const command of [["plan"], ["apply", "-auto-approve"], ["destroy", "-auto-approve"]]) {
    const said = await h.fails(...command);
    expect([said.match(/Error: /g), said]).toEqual([["Error: "], expect.stringContaining("rejects the API key")]);
  }
  expect([...east.store.keys()]).toEqual(["agents/-/-/a"]);
});

test("two aliases are two accounts: each object goes to its own, and only the refused key is told of", async () => {
  const both = agent("a", "east") + agent("b", "west");
  await h.apply(provider(east, "key", "east") + provider(west, "key", "west") + both);
  expect([[...east.store.keys()], [...west.store.keys()]]).toEqual([["agents/-/-/a"], ["agents/-/-/b"]]);
  h.config(provider(east, "key", "east") + provider(west, "old", "west") + both);
  const said = await h.fails("plan");
  expect([said.match(/Error: /g), said]).toEqual([["Error: "], expect.stringMatching(/outpost"\]\.west, on/)]);
});

test("a service that does not answer yet keeps no plan of what is to be made", async () => {
  const { endpoint } = east;
  await east.close();
  h.config(provider({ endpoint } as FakeService, "key") + agent("a"));
  expect((await h.run("plan", "-no-color")).stdout).toContain("1 to add");
  east = await createService();
});

test("a key that is refused is one error also where the provider names its account", async () => {
  h.config(
    provider(east, "old").replace("api_key", 'account = "main"\n  api_key') +
      ["a", "b", "c"].map((id) => agent(id)).join(""),
  );
  const said = await h.fails("apply", "-auto-approve");
  expect([said.match(/Error: /g), said]).toEqual([["Error: "], expect.stringContaining("rejects the API key")]);
});
