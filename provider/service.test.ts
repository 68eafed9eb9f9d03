import { jest } from "@jest/globals";
import { application } from "./generated/application.ts";
import { createOutpost } from "./outpost.ts";
import { createHarness, type Harness } from "./testing/harness.ts";
import { type Choices, randomBody, seeded } from "./testing/random.ts";
import { type RealService, startRealService } from "./testing/real.ts";

/** Few in CI; `RANDOM_CONFIGS=1000` for the whole promise. */
const total = Number(process.env.RANDOM_CONFIGS ?? 40);
const batch = 20;
jest.setTimeout(120_000 + total * 2_000);

let service: RealService;
beforeAll(async () => {
  service = await startRealService();
});
afterAll(() => service?.stop());

async function world<T>(use: (h: Harness) => Promise<T>): Promise<T> {
  const h = await createHarness(createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: service.key }), {}, "outpost");
  try {
    return await use(h);
  } finally {
    await h.close();
  }
}

test("against the service: every scope, update, drift, import, tokens, and destroy leaves nothing", () =>
  world(async (h) => {
    const hcl = (name: string) => `
resource "outpost_organization" "o" {
  id = "team"
  name = "${name}"
}
resource "outpost_project" "p" {
  id = "shop"
  org = outpost_organization.o.id
}
resource "outpost_agent" "a" {
  id = "prod"
  org = outpost_organization.o.id
  tags = ["x", "a"]
}
resource "outpost_delegate" "d" { id = "builders" }
resource "outpost_application" "app" {
  id = "guestbook"
  org = outpost_organization.o.id
  project = outpost_project.p.id
  agent = "org.\${outpost_agent.a.id}"
  wait = false
  source = { repo_url = "https://git.example.com/a.git", path = "x", helm = { values_object = jsonencode({ a = 1 }) } }
  destination = { namespace = "web" }
  labels = { a = "${name}" }
}
ephemeral "outpost_agent_token" "t" {
  agent = outpost_agent.a.id
  org = "team"
  uid = outpost_agent.a.uid
  revoke_on_close = true
}
ephemeral "outpost_delegate_token" "t" {
  delegate = outpost_delegate.d.id
  uid = outpost_delegate.d.uid
}
data "outpost_agent" "a" {
  id = outpost_agent.a.id
  org = "team"
}
`;
    await h.apply(hcl("one"));
    expect(await h.plan()).toEqual([]);
    await h.apply(hcl("two"));
    expect(await h.plan()).toEqual([]);
    expect((await service.ask("PATCH", "/v1/agents/prod?org=team", { spec: { name: "drifted" } })).status).toBe(200);
    expect((await h.plan()).map((c) => [c.address, c.change.actions.join()])).toEqual([["outpost_agent.a", "update"]]);
    await h.apply();
    expect(await h.plan()).toEqual([]);
    await h.must("state", "rm", "outpost_agent.a");
    await h.must("import", "outpost_agent.a", "team/prod");
    expect(await h.plan()).toEqual([]);
    const { items } = (await service.ask("GET", "/v1/agents/prod/tokens?org=team")).body as { items: { revokedAt?: string }[] };
    expect(items.length).toBeGreaterThan(0);
    expect(items.every((t) => t.revokedAt !== undefined)).toBe(true);
    await h.must("destroy", "-auto-approve");
    for (const collection of ["organizations", "projects", "agents", "delegates", "applications"])
      expect((await service.ask("GET", `/v1/${collection}?inherited=true`)).body.items).toEqual([]);
  }));

test("against the service: what it refuses is shown at the attribute", () =>
  world(async (h) => {
    h.config(
      'resource "outpost_application" "bad" {\n id = "bad"\n agent = "nobody"\n wait = false\n source = { repo_url = "https://a.b/c" }\n destination = { namespace = "web" }\n}',
    );
    const text = await h.fails("apply", "-auto-approve");
    expect(text).toContain("There is no agent `nobody`");
    expect(text).toMatch(/on main.tf line \d+.*: agent = "nobody"/);
  }));

test("against the service: a change between plan and apply is not overwritten", () =>
  world(async (h) => {
    await h.apply('resource "outpost_agent" "a" { id = "race" }');
    await h.plan('resource "outpost_agent" "a" {\n id = "race"\n name = "mine"\n}');
    await service.ask("PATCH", "/v1/agents/race", { spec: { name: "theirs" } });
    expect(await h.fails("apply", "plan")).toContain("it has changed since the plan");
    expect(((await service.ask("GET", "/v1/agents/race")).body.spec as { name: string }).name).toBe("theirs");
    await h.apply();
    await h.must("destroy", "-auto-approve");
  }));

/** What the patterns of the contract allow. */
const samples: Record<string, readonly string[]> = {
  id: [],
  org: [],
  project: [],
  agent: ["outpost_agent.a.id"],
  argo_project: ['"default"', '"team"'],
  adopt: [],
  wait: [],
  source: [],
  sources: [],
  destination: ['{ namespace = "web" }', "{}"],
  "source.repo_url": [],
  "source.repository": [],
  "source.chart": [],
  "source.ref": ['"values"'],
  "source.directory": [],
  "source.helm": [],
  "source.kustomize": [],
  "source.helm.values": ['"a: 1\\n"'],
  "source.path": ['"a/b"', '"."', '"ünï code"'],
  "source.target_revision": ['"main"', '"v1.2.3"', '"refs/heads/x"'],
};
const bySuffix: Record<string, readonly string[]> = {
  name: ['"n"', '"a b"'],
  kind: ['"Deployment"'],
  namespace: ['"web"'],
  sync_options: ["[]", '["CreateNamespace=true"]', '["Prune=false", "Replace=true"]'],
  duration: ['"5s"'],
  max_duration: ['"3m"'],
  create: ['"5m"'],
  update: ['"90s"'],
  delete: ['"1h30m"'],
};

test("against the service: random applications come true, and the next plan is empty", () =>
  world(async (h) => {
    const seed = Number(process.env.RANDOM_SEED ?? 20_26);
    const random = seeded(seed);
    const choices: Choices = { random, samples: (path) => samples[path] ?? bySuffix[path.split(".").pop()!] };
    const { attributes } = application.schema;
    const source = attributes.source!.attributes!;
    const one = (name: string): string => {
      const kind = ["directory", "helm", "kustomize"][Math.floor(random() * 4)];
      const inner = kind ? `\n${kind} = {\n${randomBody(source[kind]!.attributes!, choices, `source.${kind}`)}\n}` : "";
      const body = `repo_url = "https://git.example.com/a.git"\n${randomBody(source, choices, "source")}${inner}`;
      return `resource "outpost_application" "${name}" {\nid = "${name}"\nwait = false\nsource = {\n${body}\n}\n${randomBody(attributes, choices)}\n}\n`;
    };
    try {
      for (let done = 0; done < total; done += batch) {
        const hcl = Array.from({ length: batch }, (_, i) => one(`p${i}`)).join("");
        await h.apply(`resource "outpost_agent" "a" { id = "prod" }\n${hcl}`);
        expect(await h.plan()).toEqual([]);
      }
      await h.must("destroy", "-auto-approve");
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`);
    }
  }));
