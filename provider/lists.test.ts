import { jest } from "@jest/globals";
import { nouns } from "../openapi/contract/nouns.ts";
import { createOutpost } from "./outpost.ts";
import { snake } from "./schema/names.ts";
import { createHarness, type Harness } from "./testing/harness.ts";
import { type RealService, startRealService } from "./testing/real.ts";

jest.setTimeout(200_000);

let service: RealService;
const put = async (path: string, spec: object = {}): Promise<void> => {
  const { status, body } = await service.ask("PUT", `/v1/${path}`, { spec });
  if (status !== 201) throw new Error(`${path}: ${JSON.stringify(body)}`);
};
const app = (agent: string, more: object = {}) => ({
  agent,
  source: { repoUrl: "https://git.example.com/a.git", path: "x" },
  destination: { namespace: "web" },
  ...more,
});

beforeAll(async () => {
  service = await startRealService();
  await put("organizations/team");
  await put("projects/shop?org=team");
  await put("agents/prod");
  await put("agents/stage?org=team");
  await put("applications/web", app("prod", { labels: { tier: "web" } }));
  await put("applications/db", app("prod", { labels: { tier: "data" } }));
  await put("applications/web?org=team", app("stage", { labels: { tier: "web", "example.com/a": "b" } }));
  await put("agents/own?org=team&project=shop");
  await put("applications/cart?org=team&project=shop", app("own"));
  await put("clusters/far", { agent: "prod", server: "https://10.0.0.1" });
  await put("webhooks/github", { provider: "github" });
});
afterAll(() => service?.stop());

async function world<T>(use: (h: Harness) => Promise<T>): Promise<T> {
  const h = await createHarness(
    createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: service.key }),
    {},
    "outpost",
  );
  try {
    return await use(h);
  } finally {
    await h.close();
  }
}

interface Listed {
  ids: string[];
  items: Record<string, unknown>[];
}

/** What data sources give after an apply, by name. A block's first line is its type. */
async function read<K extends string>(h: Harness, blocks: Record<K, string>): Promise<Record<K, Listed>> {
  const hcl = Object.entries<string>(blocks).map(([name, body]) => {
    const [type, ...lines] = body.split("\n");
    return `data "${type}" "${name}" {\n${lines.join("\n")}\n}\noutput "${name}" { value = data.${type}.${name} }\n`;
  });
  await h.apply(hcl.join(""));
  const outputs: Record<K, { value: Listed }> = JSON.parse((await h.must("output", "-json")).stdout);
  const pairs = Object.entries<{ value: Listed }>(outputs).map(([name, { value }]) => [name, value]);
  return Object.fromEntries(pairs) as Record<K, Listed>;
}

test("every noun has one, and it gives what the service lists", () =>
  world(async (h) => {
    const all = Object.values(nouns);
    const found = await read(
      h,
      Object.fromEntries(all.map((noun) => [noun.collection, `outpost${snake(noun.plural)}\ninherited = true`])),
    );
    for (const { collection } of all) {
      const { body } = await service.ask("GET", `/v1/${collection}?inherited=true`);
      const ids = (body.items as { id: string }[]).map(({ id }) => id);
      expect([collection, found[collection]!.ids]).toEqual([collection, ids]);
    }
    expect(found.clusters!.ids).toContain("far");
    expect(found.projects!.items).toMatchObject([{ id: "shop", org: "team", project: null }]);
  }));

test("scope, filter, order and number; an object in short", () =>
  world(async (h) => {
    const found = await read(h, {
      own: "outpost_applications",
      org: 'outpost_applications\norg = "team"',
      project: 'outpost_applications\norg = "team"\nproject = "shop"',
      below: 'outpost_applications\ninherited = true\nsort = "-agent"\nfilter = "labels.tier=web"',
      quoted: 'outpost_applications\ninherited = true\nfilter = "labels.example.com/a=\\"b\\",org exists"',
      first: 'outpost_applications\nlimit = 1\nsort = "-id"',
      none: 'outpost_applications\nfilter = "id=nothing"\ninherited = false',
    });
    const ids = Object.fromEntries(Object.entries(found).map(([name, { ids }]) => [name, ids]));
    expect(ids).toEqual({
      own: ["db", "web"],
      org: ["web"],
      project: ["cart"],
      below: ["web", "web"],
      quoted: ["web"],
      first: ["web"],
      none: [],
    });
    expect(found.below.items.map(({ org }) => org)).toEqual(["team", null]);
    expect(found.own.items[1]).toMatchObject({
      id: "web",
      org: null,
      agent: "prod",
      namespace: "web",
      repository: "https://git.example.com/a.git",
      labels: { tier: "web" },
      origin: "managed",
      owner: null,
    });
    expect(found.project.items[0]!.labels).toEqual({});
  }));

test("the next plan reads again", () =>
  world(async (h) => {
    const block = { agents: 'outpost_agents\nfilter = "labels.colour=blue"' };
    expect((await read(h, block)).agents.ids).toEqual([]);
    await service.ask("PATCH", "/v1/agents/prod", { spec: { labels: { colour: "blue" } } });
    expect((await read(h, block)).agents.ids).toEqual(["prod"]);
  }));

test("what the same apply creates is in it with `depends_on`", () =>
  world(async (h) => {
    const hcl = `resource "outpost_webhook" "w" {
  id     = "new"
  type   = "github"
  labels = { colour = "red" }
}
data "outpost_webhooks" "red" {
  filter     = "labels.colour=red"
  depends_on = [outpost_webhook.w]
}
output "red" { value = data.outpost_webhooks.red.ids }
`;
    await h.apply(hcl);
    expect(JSON.parse((await h.must("output", "-json")).stdout).red.value).toEqual(["new"]);
    expect(await h.plan()).toEqual([]);
    await h.must("destroy", "-auto-approve");
  }));

test.each([
  ['sort = "-updatdAt"', "validate", /on main.tf line \d+.*: sort = .*Did you mean "-updatedAt"\?/],
  ["limit = 0", "validate", /on main.tf line \d+.*: limit = 0/],
  ["limit = 1001", "validate", /on main.tf line \d+.*: limit = 1001/],
  ["limit = 1.5", "validate", /on main.tf line \d+.*: limit = 1.5/],
  [
    'filter = "colour=blue"',
    "plan",
    /Listing applications: .*on main.tf line \d+.*: filter = .*`colour` is not a field/,
  ],
  ['filter = "id in (a"', "plan", /on main.tf line \d+.*: filter = .*A bracket is not closed/],
  ['org = "tem"', "plan", /on main.tf line \d+.*: org = .*There is no organization `tem`.* Did you mean `team`\?/],
  [
    'org = "team"\nproject = "shp"',
    "plan",
    /on main.tf line \d+.*: project = .*There is no project `shp` in the organization `team`. Did you mean `shop`\?/,
  ],
  ['project = "shop"', "validate", /on main.tf line \d+.*: project = .*give `org` too/],
])("%j is refused at %s", (body, command, said) =>
  world(async (h) => {
    h.config(`data "outpost_applications" "a" {\n  ${body}\n}\n`);
    expect(await h.fails(command)).toMatch(said);
  }),
);

test("more objects than a plan should hold are refused, with the way out", () =>
  world(async (h) => {
    const most = 1_000;
    const names = Array.from({ length: most }, (_, i) => `o${String(i).padStart(4, "0")}`);
    while (names.length > 0)
      await Promise.all(names.splice(0, 20).map((id) => put(`organizations/${id}`, { labels: { many: "yes" } })));
    const many = 'outpost_organizations\nfilter = "labels.many=yes"';
    // Exactly the bound comes whole, from two pages.
    const { ids } = (await read(h, { many })).many;
    expect([ids.length, ids[0], ids[most - 1], new Set(ids).size]).toEqual([most, "o0000", "o0999", most]);
    h.config('data "outpost_organizations" "all" {}');
    expect(await h.fails("plan")).toContain(
      "There are more than 1,000 such organizations. Narrow them with `filter`, such as `labels.team=shop`, or take the first with `limit`.",
    );
    expect((await read(h, { some: "outpost_organizations\nlimit = 700" })).some.ids).toHaveLength(700);
  }));
