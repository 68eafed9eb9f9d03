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
resource "outpost_app_project" "team" {
  id = "team"
  org = outpost_organization.o.id
  agent = outpost_agent.a.id
  allowed_scopes = []
  wait = false
}
resource "outpost_app_project" "shop" {
  id = "shop"
  org = outpost_organization.o.id
  agent = outpost_agent.a.id
  allowed_scopes = ["team/shop"]
  wait = false
}
resource "outpost_application" "app" {
  id = "guestbook"
  app_project = "org.\${outpost_app_project.shop.id}"
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
    const { items } = (await service.ask("GET", "/v1/agents/prod/tokens?org=team")).body as {
      items: { revokedAt?: string }[];
    };
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

test("against the service: an app project that the scope may not use is refused at the attribute that names it", () =>
  world(async (h) => {
    const base = `
resource "outpost_organization" "o" { id = "tenant" }
resource "outpost_agent" "a" { id = "shared" }
resource "outpost_app_project" "closed" {
  id = "closed"
  agent = outpost_agent.a.id
  allowed_scopes = []
  wait = false
}
`;
    const app = (more: string) => `${base}
resource "outpost_application" "app" {
  id = "app"
  org = outpost_organization.o.id
  agent = "account.shared"
  ${more}
  wait = false
  source = { repo_url = "https://a.b/c" }
  destination = { namespace = "web" }
  depends_on = [outpost_app_project.closed]
}`;
    await h.apply(base);
    h.config(app('app_project = "account.closed"'));
    expect(await h.fails("apply", "-auto-approve")).toMatch(/on main.tf line \d+.*: app_project = "account.closed"/);
    h.config(app('argo_project = "closed"'));
    expect(await h.fails("apply", "-auto-approve")).toMatch(/on main.tf line \d+.*: argo_project = "closed"/);
    h.config(app(""));
    expect(await h.fails("apply", "-auto-approve")).toContain("app project `default` may not be used from here");
    h.config(`${base}
resource "outpost_app_project" "own" {
  id = "own"
  org = outpost_organization.o.id
  agent = "account.shared"
  destination_service_accounts = [{ server = "*", default_service_account = "kube-system:admin" }]
}`);
    expect(await h.fails("plan")).toContain("Only a project in the agent's own scope names service accounts");
    await h.apply(base);
    await h.must("destroy", "-auto-approve");
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
  app_project: [],
  service: ["outpost_service.s.id"],
  environment: ["outpost_environment.e.id"],
  helm_lookup: ['{ service_account = "reader" }', '{ service_account = "ns:reader" }'],
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
  "source.plugin": [],
  "source.plugin.env.name": ['"A_B"'],
  "source.plugin.parameters": [
    "[]",
    '[{ name = "a", string = "x" }, { name = "l", array = [] }]',
    '[{ name = "m", map = { k = "v" } }]',
  ],
  "source.helm.values": ['"a: 1\\n"'],
  "source.path": ['"a/b"', '"."', '"ünï code"'],
  waits_for: ['["b", "a.b"]', "[]"],
  "source.target_revision": ['"main"', '"v1.2.3"', '"refs/heads/x"'],
};
const bySuffix: Record<string, readonly string[]> = {
  name: ['"n"', '"a b"'],
  kind: ['"Deployment"'],
  namespace: ['"web"'],
  sync_options: ["[]", '["CreateNamespace=true"]', '["Prune=false", "Replace=true"]'],
  group: ['"apps"', '""'],
  json_pointers: ["[]", '["/spec/replicas", "/metadata/annotations/a~1b"]'],
  jq_path_expressions: ["[]", '[".spec.template.spec.containers[].image"]'],
  managed_fields_managers: ["[]", '["kube-controller-manager"]'],
  labels: ["{}", '{ "example.com/team" = "a", tier = "" }'],
  common_labels: ["{}", '{ app = "web" }'],
  images: ["[]", '["nginx=registry.example/nginx:1.27"]'],
  include: ['"*.yaml"', '"{a,b}/*"', '""'],
  exclude: ['"*-test.yaml"'],
  kube_version: ['"1.31"', '"v1.31.2"'],
  api_versions: ["[]", '["v1", "networking.k8s.io/v1"]'],
  patch: ['"a: 1\\n"'],
  label_selector: ['"app=web"'],
  annotation_selector: ['"a!=b"'],
  duration: ['"5s"'],
  max_duration: ['"3m"'],
  create: ['"5m"'],
  update: ['"90s"'],
  delete: ['"1h30m"'],
};

/** What the samples refer to. */
const PARTS = `
resource "outpost_agent" "a" { id = "prod" }
resource "outpost_service" "s" { id = "shop" }
resource "outpost_environment" "e" {
  id   = "live"
  type = "production"
}
`;

test("against the service: random applications come true, and the next plan is empty", () =>
  world(async (h) => {
    const seed = Number(process.env.RANDOM_SEED ?? 20_26);
    const random = seeded(seed);
    const choices: Choices = { random, samples: (path) => samples[path] ?? bySuffix[path.split(".").pop()!] };
    const { attributes } = application.schema;
    const source = attributes.source!.attributes!;
    const one = (name: string): string => {
      const kind = ["directory", "helm", "kustomize", "plugin"][Math.floor(random() * 5)];
      const inner = kind ? `\n${kind} = {\n${randomBody(source[kind]!.attributes!, choices, `source.${kind}`)}\n}` : "";
      const body = `repo_url = "https://git.example.com/a.git"\n${randomBody(source, choices, "source")}${inner}`;
      return `resource "outpost_application" "${name}" {\nid = "${name}"\nwait = false\nsource = {\n${body}\n}\n${randomBody(attributes, choices)}\n}\n`;
    };
    try {
      for (let done = 0; done < total; done += batch) {
        const hcl = Array.from({ length: batch }, (_, i) => one(`p${i}`)).join("");
        await h.apply(`${PARTS}${hcl}`);
        expect(await h.plan()).toEqual([]);
      }
      await h.must("destroy", "-auto-approve");
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`);
    }
  }));

test("a task runs once: empty plan, again when a trigger changes, cancelled by destroy, and a wait names what it waits for", () =>
  world(async (h) => {
    const hcl = (release: string, more = "wait = false") => `
resource "outpost_task" "t" {
  kind = "shell.run"
  params = jsonencode({ script = "true", env = { PASSWORD = "$\${secret:file/db}" } })
  selectors = ["b", "a"]
  triggers = { release = "${release}" }
  ${more}
}
`;
    await h.apply(hcl("1"));
    const at = "outpost_task.t";
    const first = (await h.state(at))!;
    expect(first).toMatchObject({ state: "Queued", max_attempts: 3, idempotent: false, outputs: "{}" });
    expect(await h.plan()).toEqual([]);
    expect((await h.plan(hcl("2"))).map((c) => c.change.actions)).toEqual([["delete", "create"]]);
    await h.apply();
    const second = (await h.state(at))!;
    expect(second.id).not.toBe(first.id);
    const state = async (id: unknown) => {
      const answer = await fetch(`${service.endpoint}/v1/tasks/${id}`, {
        headers: { authorization: `Bearer ${service.key}` },
      });
      return ((await answer.json()) as { state: string; params: { env: unknown } }).state;
    };
    expect([await state(first.id), await state(second.id)]).toEqual(["Cancelled", "Queued"]);
    await h.plan(hcl("3", 'timeouts = { create = "8s" }'));
    const { stdout } = await h.must("apply", "-auto-approve", "-no-color");
    expect(stdout).toMatch(/not ended yet[\s\S]*queued: /);
    expect(await state(second.id)).toBe("Cancelled");
    // It goes on, and the next apply waits for the same task, as an update whose failure cancels nothing.
    const third = (await h.state(at))!;
    expect((await h.plan()).map((c) => c.change.actions)).toEqual([["update"]]);
    expect(await h.fails("apply", "-auto-approve", "-no-color")).toMatch(/out of time[\s\S]*queued: /);
    expect((await h.state(at))!.id).toBe(third.id);
    expect(await state(third.id)).toBe("Queued");
  }));

test("a pipeline is what its configuration says: empty plan after apply and after a run, drift shown, faults told", () =>
  world(async (h) => {
    const hcl = (script: string, more = "") => `
resource "outpost_pipeline" "p" {
  id = "release"
  inputs = { tag = { pattern = "v[0-9]+" }, env = { default = "dev" } }
  steps = [
    { id = "build", task = { kind = "shell.run", selectors = ["b", "a"], params = jsonencode({ script = "${script}", env = { TAG = "$\${inputs.tag}" } }) } },
    { id = "ok", approval = { message = "Ship $\${steps.build.outputs.image}?" } },
    { id = "ship", needs = ["ok", "build"], condition = "$\${inputs.env} == 'dev'", task = { kind = "shell.run", params = jsonencode({ env = { B = "$\${steps.build.task}" }, script = "true" }) } },
    ${more}
  ]
}
data "outpost_pipeline" "p" { id = outpost_pipeline.p.id }
output "seen" { value = data.outpost_pipeline.p.steps[2].condition }
`;
    const at = "outpost_pipeline.p";
    const call = async (method: string, path: string, body: object = {}) =>
      (await service.ask(method, path, body)).body as Record<string, never>;
    await h.apply(hcl("make"));
    expect(await h.plan()).toEqual([]);
    // A run changes the status, which is nothing that the configuration says.
    const run = await call("POST", "/v1/pipelines/release/run", { inputs: { tag: "v1" } });
    expect(run.state).toBe("Running");
    expect(await h.plan()).toEqual([]);
    await call("POST", `/v1/runs/${run.id}/cancel`);
    expect((await h.plan(hcl("make all"))).map((c) => c.change.actions)).toEqual([["update"]]);
    await h.apply();
    expect((await h.state(at))!.generation).toBe(2);
    await call("PATCH", "/v1/pipelines/release", { spec: { timeoutSeconds: 60 } });
    expect((await h.plan()).map((c) => c.change.actions)).toEqual([["update"]]);
    await h.apply();
    const bad = `{ id = "late", task = { kind = "shell.run", params = jsonencode({ script = "true", env = { X = "$\${steps.nothing.state}" } }) } }`;
    h.config(hcl("make all", bad));
    expect(await h.fails("validate")).toMatch(/there is no step `nothing`/);
    await h.plan(hcl("make all"));
    await h.apply();
  }));
