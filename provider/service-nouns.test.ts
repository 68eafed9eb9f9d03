import { jest } from "@jest/globals";
import { appProject } from "./generated/app-project.ts";
import { applicationSet } from "./generated/application-set.ts";
import { repositoryCredential } from "./generated/repository-credential.ts";
import { webhook } from "./generated/webhook.ts";
import { createOutpost } from "./outpost.ts";
import { createCertificate } from "./protocol/certificate.ts";
import type { Noun } from "./resources/noun.ts";
import { createHarness, type Harness } from "./testing/harness.ts";
import { type Choices, randomBody, seeded } from "./testing/random.ts";
import { type RealService, startRealService } from "./testing/real.ts";
import { GNUPG_KEY, SSH_KEY } from "./testing/trust.ts";

/** Few in CI; `RANDOM_CONFIGS=1000` for the whole promise. */
const total = Number(process.env.RANDOM_CONFIGS ?? 40);
/** Of each noun in one apply. */
const batch = 5;
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

const AGENT = 'resource "outpost_agent" "a" { id = "prod" }\n';
const pem = (): string => JSON.stringify(createCertificate().pem);

test("against the service: projects and what agents trust, with drift, import, references and their order on destroy", () =>
  world(async (h) => {
    const certificate = pem();
    const hcl = (description: string) => `${AGENT}
resource "outpost_app_project" "p" {
  id           = "shop"
  agent        = outpost_agent.a.id
  wait         = false
  description  = "${description}"
  destinations = [{ name = "in-cluster", namespace = "shop-*" }]
  sync_windows = [{ kind = "deny", schedule = "0 16 * * 5", duration = "64h", time_zone = "Europe/Berlin", applications = ["*"] }]
}
resource "outpost_repository_credential" "c" {
  id          = "team"
  agent       = outpost_agent.a.id
  wait        = false
  url         = "https://git.example.com/team/"
  app_project = outpost_app_project.p.id
}
resource "outpost_repository_certificate" "https" {
  id    = "authority"
  agent = outpost_agent.a.id
  wait  = false
  host  = "git.example.com"
  type  = "https"
  data  = ${certificate}
}
resource "outpost_repository_certificate" "ssh" {
  id    = "host"
  agent = outpost_agent.a.id
  wait  = false
  host  = "[git.example.com]:2222"
  type  = "ssh"
  data  = "${SSH_KEY}\\n"
}
resource "outpost_gnupg_key" "k" {
  id         = "release"
  agent      = outpost_agent.a.id
  wait       = false
  public_key = ${JSON.stringify(GNUPG_KEY)}
}
resource "outpost_application" "app" {
  id          = "web"
  agent       = outpost_agent.a.id
  wait        = false
  app_project = outpost_app_project.p.id
  source      = { repo_url = "https://git.example.com/team/a.git", path = "x" }
  destination = { namespace = "shop-web" }
}
`;
    await h.apply(hcl("one"));
    expect(await h.plan()).toEqual([]);
    await h.apply(hcl("two"));
    expect(await h.plan()).toEqual([]);
    await service.ask("PATCH", "/v1/appprojects/shop", { spec: { sourceRepos: ["*"] } });
    expect((await h.plan()).map((c) => [c.address, c.change.actions.join()])).toEqual([
      ["outpost_app_project.p", "update"],
    ]);
    await h.apply();
    for (const [address, id] of [
      ["app_project.p", "shop"],
      ["repository_credential.c", "team"],
      ["repository_certificate.https", "authority"],
      ["gnupg_key.k", "release"],
    ]) {
      await h.must("state", "rm", `outpost_${address}`);
      await h.must("import", `outpost_${address}`, id!);
    }
    // `wait = false` is the provider's own, which an import does not know.
    await h.apply();
    expect(await h.plan()).toEqual([]);
    await h.must("destroy", "-auto-approve");
    for (const collection of [
      "appprojects",
      "repositorycredentials",
      "repositorycertificates",
      "gnupgkeys",
      "applications",
      "agents",
    ])
      expect([collection, (await service.ask("GET", `/v1/${collection}`)).body.items]).toEqual([collection, []]);
  }));

test("against the service: a webhook's secret is the same until its version changes, then both come from the current key; it is in no state", () =>
  world(async (h) => {
    const hcl = (version: number) => `
resource "outpost_webhook" "w" {
  id             = "github"
  type           = "github"
  secret_version = ${version}
}
ephemeral "outpost_webhook_secret" "s" {
  webhook = outpost_webhook.w.id
  uid     = outpost_webhook.w.uid
}
provider "outpost" {
  alias   = "b"
  account = ephemeral.outpost_webhook_secret.s.secret
}
output "url" { value = outpost_webhook.w.status.url }
`;
    const secret = async () =>
      (await service.ask("GET", "/v1/webhooks/github/secret")).body as { url: string; secret: string };
    await h.apply(hcl(1));
    expect(await h.plan()).toEqual([]);
    const first = await secret();
    expect(JSON.parse((await h.must("output", "-json")).stdout).url.value).toBe(first.url);
    await service.ask("POST", "/v1/servicekey/rotate");
    expect(await h.plan()).toEqual([]);
    await h.apply(hcl(2));
    const second = await secret();
    expect([second.secret === first.secret, second.url === first.url]).toEqual([false, false]);
    expect(JSON.parse((await h.must("output", "-json")).stdout).url.value).toBe(second.url);
    expect(await h.plan()).toEqual([]);
    const state = (await h.must("state", "pull")).stdout;
    for (const { secret } of [first, second]) expect(state).not.toContain(secret);
    await h.must("destroy", "-auto-approve");
  }));

test("against the service: what it refuses of a set is shown at the attribute", () =>
  world(async (h) => {
    h.config(`${AGENT}resource "outpost_application_set" "s" {
  id         = "s"
  agent      = outpost_agent.a.id
  wait       = false
  generators = [jsonencode({ git = { repoURL = "https://a.b/c" } })]
  template   = jsonencode({ metadata = { name = "a" } })
}`);
    const text = await h.fails("apply", "-auto-approve");
    expect(text).toContain("Give `directories` or `files`.");
    expect(text).toMatch(/on main.tf line \d+.*: generators = /);
    await h.must("destroy", "-auto-approve");
  }));

const GENERATORS = [
  'jsonencode({ list = { elements = [{ name = "a" }] } })',
  'jsonencode({ clusters = {}, selector = { matchLabels = { a = "b" } } })',
  'jsonencode({ git = { repoURL = "https://a.b/c", directories = [{ path = "*" }] } })',
  '"{ \\"list\\": {\\"elements\\" : []} }"',
  "jsonencode({ matrix = { generators = [{ clusters = {} }, { list = { elements = [{ n = 1.5 }] } }] } })",
];
/** Values that the rules of the contract and of the service allow, by noun and path, or by what a path ends with. */
const SAMPLES: Record<string, Record<string, readonly string[]>> = {
  AppProject: {
    allowed_scopes: ["[]", '["a", "a/b"]'],
    within: [],
    cluster_resource_whitelist: ["[]", '[{ group = "*", kind = "Namespace", name = "b-1" }]'],
    cluster_resource_blacklist: ["[]", '[{ group = "", kind = "Node" }]'],
    namespace_resource_whitelist: ["[]", '[{ group = "apps", kind = "*" }]'],
    namespace_resource_blacklist: ["[]", '[{ group = "networking.k8s.io", kind = "Ingress" }]'],
    destinations: ["[]", '[{ name = "*", namespace = "a-*" }]', '[{ server = "https://*" }, { name = "b" }]'],
    sync_windows: [
      "[]",
      '[{ kind = "allow", schedule = "0 22 * * 1-5", duration = "1h30m", applications = ["*"], and_operator = false }]',
      '[{ kind = "deny", schedule = "*/5 0-6 1,15 jan sun", duration = "90s", time_zone = "Europe/Berlin", namespaces = ["a", "b"], clusters = [] }]',
    ],
    "source_integrity.git.policies.repos": ['[{ url = "*" }]'],
    "source_integrity.git.policies.gpg.keys": ["[]", '["4AEE18F83AFDEB23"]'],
    "signature_keys.key_id": ['"4AEE18F83AFDEB23"'],
    destination_service_accounts: ["[]", '[{ server = "*", default_service_account = "ns:robot" }]'],
    source_namespaces: ["[]", '["a", "b-*"]'],
    roles: ["[]", '[{ name = "dev", policies = ["p, proj:a:dev, applications, sync, a/*, allow"], groups = ["g"] }]'],
  },
  ApplicationSet: {
    generators: GENERATORS.map((one, i) => `[${one}, ${GENERATORS[(i + 1) % GENERATORS.length]}]`),
    template: [
      'jsonencode({ metadata = { name = "{{ .name }}" }, spec = { revisionHistoryLimit = 5.0, info = [] } })',
      '"{\\"metadata\\": {\\"name\\":\\"x\\"}}"',
    ],
    go_template: ["true"],
    go_template_options: ["[]", '["missingkey=error"]'],
    template_patch: ['"spec: {}\\n"'],
    service: ['"shop"', '"{{ .name }}"'],
    environment: ['"production"', '"{{ .name }}"'],
    strategy: [
      "{}",
      '{ type = "AllAtOnce" }',
      '{ type = "RollingSync", rolling_sync = { steps = [{ match_expressions = [{ key = "a", operator = "In", values = ["b"] }], max_update = "25%" }] } }',
    ],
  },
  RepositoryCredential: {
    url: ['"https://git.example.com/a"', '"https://b.c"'],
    type: ['"git"'],
    github_app: [],
    azure_service_principal: [],
    // `true` excludes a user name, which is drawn apart from it; provider/matrix.test.ts has it.
    use_azure_workload_identity: ["false"],
    insecure_oci_force_http: ["false"],
    proxy: ['"http://proxy.example.com:3128"'],
  },
  Webhook: { secret_version: ["1", "7"] },
};
const BY_END: Record<string, readonly string[]> = {
  create: ['"5m"'],
  update: ['"90s"'],
  delete: ['"1h30m"'],
  json_pointers: ["[]", '["/spec/replicas", "/metadata/annotations/a~1b"]'],
  jq_path_expressions: ["[]", '[".spec.template.spec.containers[].image"]'],
  kind: ['"Deployment"'],
  group: ['"apps"', '""'],
};
/** Of the object itself; `labels` elsewhere may be a list of names. */
const OWN: Record<string, readonly string[]> = { labels: ["{}", '{ "example.com/team" = "a", tier = "" }'] };
const LEFT_OUT = ["id", "org", "project", "agent", "wait", "adopt", "credentials", "app_project"];

test("against the service: random projects, sets, credential templates and webhooks come true, and the next plan is empty", () =>
  world(async (h) => {
    const seed = Number(process.env.RANDOM_SEED ?? 20_26);
    const random = seeded(seed);
    const one = (noun: Noun, id: string): string => {
      const samples: Choices["samples"] = (path) =>
        LEFT_OUT.includes(path) ? [] : (SAMPLES[noun.name]?.[path] ?? OWN[path] ?? BY_END[path.split(".").pop()!]);
      const fixed = noun.schema.attributes.agent ? "agent = outpost_agent.a.id\nwait = false\n" : "";
      return `resource "${noun.type}" "${id}" {\nid = "${id}"\n${fixed}${randomBody(noun.schema.attributes, { random, samples })}\n}\n`;
    };
    const nouns = [appProject, applicationSet, repositoryCredential, webhook];
    try {
      for (let done = 0; done < total; done += batch * nouns.length) {
        const all = nouns.flatMap((noun) => Array.from({ length: batch }, (_, i) => one(noun, `r${i}`)));
        await h.apply(AGENT + all.join(""));
        expect(await h.plan()).toEqual([]);
      }
      await h.must("destroy", "-auto-approve");
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`);
    }
  }));
