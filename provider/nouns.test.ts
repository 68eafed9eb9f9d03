import { jest } from "@jest/globals";
import { generateSealKeys, open, type SealedEnvelope } from "../openapi/seal.ts";
import { createOutpost } from "./outpost.ts";
import { createHarness, type Harness } from "./testing/harness.ts";
import { createService, type FakeService } from "./testing/service.ts";

jest.setTimeout(120_000);

async function world<T>(use: (h: Harness, service: FakeService) => Promise<T>): Promise<T> {
  const service = await createService();
  const h = await createHarness(
    createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: "key" }),
    {},
    "outpost",
  );
  try {
    return await use(h, service);
  } finally {
    await h.close();
    await service.close();
  }
}

const TEMPLATE = `{ metadata = { name = "{{ .name }}" }, spec = { project = "default", syncPolicy = { automated = {} } } }`;
const set = (more = "", generator = '{ list = { elements = [{ name = "a" }] } }', template = TEMPLATE) => `
resource "outpost_application_set" "s" {
  id         = "apps"
  agent      = "prod"
  generators = [jsonencode(${generator})]
  template   = jsonencode(${template})
  ${more}
}
`;
const ARMOUR = `-----BEGIN PGP PUBLIC KEY BLOCK-----\\n\\n${"mQGN".repeat(20)}\\n-----END PGP PUBLIC KEY BLOCK-----\\n`;
const PEM = "-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----\\n";
const SSH = `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJm7M1TgnPJ5pjJSnQ3nyB4VoSqLBr8p9mYXlnMRVkbG`;

const all = (more = "") => `
resource "outpost_app_project" "p" {
  id           = "shop"
  agent        = "prod"
  source_repos = ["https://git.example.com/shop/*"]
  destinations = [{ name = "in-cluster", namespace = "shop-*" }]
  sync_windows = [{ kind = "deny", schedule = "0 16 * * 5", duration = "64h", applications = ["*"] }]
  source_integrity = { git = { policies = [{ repos = [{ url = "*" }], gpg = { mode = "head", keys = ["4AEE18F83AFDEB23"] } }] } }
  signature_keys = [{ key_id = "4AEE18F83AFDEB23" }]
  ${more}
}
resource "outpost_repository_certificate" "https" {
  id    = "authority"
  agent = "prod"
  host  = "git.example.com"
  type  = "https"
  data  = "${PEM}"
}
resource "outpost_repository_certificate" "ssh" {
  id    = "host"
  agent = "prod"
  host  = "[git.example.com]:2222"
  type  = "ssh"
  data  = "# a comment\\n${SSH} robot\\n"
}
resource "outpost_gnupg_key" "k" {
  id         = "release"
  agent      = "prod"
  public_key = "${ARMOUR}"
}
resource "outpost_webhook" "w" {
  id   = "github"
  type = "github"
}
`;

test("projects, certificates, keys and webhooks: create, empty plan, update, drift, import, destroy", () =>
  world(async (h, service) => {
    await h.apply(all());
    expect(await h.plan()).toEqual([]);
    expect([...service.store.keys()].sort()).toEqual([
      "appprojects/-/-/shop",
      "gnupgkeys/-/-/release",
      "repositorycertificates/-/-/authority",
      "repositorycertificates/-/-/host",
      "webhooks/-/-/github",
    ]);
    // What Terraform keeps for itself, and what is spelled in its own way, has the contract's name on the wire.
    expect(service.store.get("webhooks/-/-/github")!.spec).toEqual({
      provider: "github",
      enabled: true,
      secretVersion: 1,
    });
    expect(service.store.get("appprojects/-/-/shop")!.spec.signatureKeys).toEqual([{ keyID: "4AEE18F83AFDEB23" }]);
    await h.apply(all('description = "new"'));
    expect(await h.plan()).toEqual([]);
    service.store.get("appprojects/-/-/shop")!.spec.sourceRepos = ["*"];
    service.store.get("webhooks/-/-/github")!.spec.enabled = false;
    expect((await h.plan()).map((c) => [c.address, c.change.actions.join()])).toEqual([
      ["outpost_app_project.p", "update"],
      ["outpost_webhook.w", "update"],
    ]);
    await h.apply();
    const addresses = [
      "app_project.p shop",
      "repository_certificate.ssh host",
      "gnupg_key.k release",
      "webhook.w github",
    ];
    for (const [name, id] of addresses.map((text) => text.split(" "))) {
      await h.must("state", "rm", `outpost_${name}`);
      await h.must("import", `outpost_${name}`, id!);
    }
    expect(await h.plan()).toEqual([]);
    expect(
      (await h.plan(all('description = "new"').replace("[git.example.com]:2222", "other.example.com"))).map(
        (c) => c.change.actions,
      ),
    ).toEqual([["update"]]);
    await h.must("destroy", "-auto-approve");
    expect(service.store.size).toBe(0);
  }));

test("no permitted kind and every permitted kind are told apart", () =>
  world(async (h, service) => {
    await h.apply(all("namespace_resource_whitelist = []"));
    const { spec } = service.store.get("appprojects/-/-/shop")!;
    expect(spec.namespaceResourceWhitelist).toEqual([]);
    expect(await h.plan()).toEqual([]);
    delete spec.namespaceResourceWhitelist;
    expect((await h.plan()).map((c) => c.change.actions.join())).toEqual(["update"]);
    await h.apply(all());
    expect(service.store.get("appprojects/-/-/shop")!.spec.namespaceResourceWhitelist).toBeUndefined();
    service.store.get("appprojects/-/-/shop")!.spec.namespaceResourceWhitelist = [];
    expect((await h.plan()).map((c) => c.change.actions.join())).toEqual(["update"]);
  }));

test("an application set's generators are JSON by what they say, and its life is an application's", () =>
  world(async (h, service) => {
    await h.apply(set());
    const stored = () => service.store.get("applicationsets/-/-/apps")!;
    expect(stored().spec).toMatchObject({ goTemplate: true, generators: [{ list: { elements: [{ name: "a" }] } }] });
    expect(stored().spec.template).toEqual({
      metadata: { name: "{{ .name }}" },
      spec: { project: "default", syncPolicy: { automated: {} } },
    });
    expect(await h.plan()).toEqual([]);
    const spaced = set().replace(
      /generators = .*/,
      'generators = ["{ \\"list\\": { \\"elements\\" : [ {\\"name\\":\\"a\\"} ] } }"]',
    );
    expect(await h.plan(spaced)).toEqual([]);
    stored().spec.generators = [{ list: { elements: [{ name: "drift" }] } }];
    expect((await h.plan()).map((c) => c.change.actions)).toEqual([["update"]]);
    await h.apply();
    await h.must("state", "rm", "outpost_application_set.s");
    await h.must("import", "outpost_application_set.s", "apps");
    expect(await h.plan()).toEqual([]);
    expect(await h.state("outpost_application_set.s")).not.toHaveProperty("status");
    await h.apply(`${set()}\ndata "outpost_application_set" "s" { id = outpost_application_set.s.id }\n`);
    expect(await h.state("data.outpost_application_set.s")).toMatchObject({
      status: { applications: [{ name: "a", sync: "Synced" }] },
    });
    await h.must("destroy", "-auto-approve");
  }));

test("an application set is waited for, application by application, and what is final ends the wait at its attribute", () =>
  world(async (h, service) => {
    const status = (more: object) => (stored: { generation: number; status: Record<string, unknown> }) =>
      Object.assign(stored.status, {
        observedGeneration: stored.generation,
        delivery: { state: "Delivered" },
        ...more,
      });
    const condition = (type: string, reason: string, message = "words") => ({
      type,
      status: "True",
      reason,
      message,
      lastTransitionTime: "x",
    });
    const done = condition("ResourcesUpToDate", "ApplicationSetUpToDate");
    service.onPut = status({
      conditions: [done],
      applications: [
        { name: "a", sync: "Synced", health: "Healthy" },
        { name: "b", sync: "OutOfSync", health: "Progressing", message: "0 of 2 available" },
      ],
    });
    const agent = 'resource "outpost_agent" "p" { id = "prod" }\n';
    await h.apply(agent);
    h.config(agent + set('timeouts = { create = "5s", update = "5s" }'));
    const { stdout } = await h.must("apply", "-auto-approve", "-no-color");
    expect(stdout.replace(/[│╷╵]/g, "").replace(/\s+/g, " ")).toContain("waiting for application b: 0 of 2 available");
    // Created and not ready: the next apply waits again, and says it as an error.
    expect(await h.fails("apply", "-auto-approve")).toContain(
      "The last reason was: waiting for application b: 0 of 2 available",
    );
    // Without automated sync in the template nothing makes it Synced.
    const manual = '{ metadata = { name = "{{ .name }}" }, spec = { project = "default" } }';
    await h.apply(agent + set("", undefined, manual));
    service.onPut = status({ conditions: [condition("ErrorOccurred", "RenderTemplateParamsError", "no such key")] });
    h.config(agent + set());
    const text = await h.fails("apply", "-auto-approve");
    expect(text).toContain("RenderTemplateParamsError: no such key");
    expect(text).toMatch(/on main.tf line \d+.*: template /);
  }));

test("the credentials of a template are sealed to it, and sent again only with another version", () =>
  world(async (h, service) => {
    const { publicKey, privateKey } = await generateSealKeys();
    const key = "-----BEGIN RSA PRIVATE KEY-----\\ncanary\\n-----END RSA PRIVATE KEY-----\\n";
    const hcl = (version: string) => `
resource "outpost_agent" "a" { id = "prod" }
resource "outpost_repository_credential" "c" {
  id                  = "team"
  agent               = outpost_agent.a.id
  url                 = "https://git.example.com/team/"
  github_app          = { id = 7 }
  credentials         = { github_app_private_key = "${key}" }
  credentials_version = "${version}"
}
`;
    service.intercept = (request) => {
      if (request.method === "GET" && request.url === "/v1/agents/prod")
        Object.assign(service.store.get("agents/-/-/prod")!.status, {
          sealKey: { id: "k1", publicKey },
          connected: true,
        });
      return false;
    };
    await h.apply(hcl("1"));
    const envelopes = () =>
      service.bodies.flatMap((b) => {
        const { sealedCredentials } = (b as { spec: { sealedCredentials?: SealedEnvelope } }).spec;
        return sealedCredentials ? [sealedCredentials] : [];
      });
    const context = { account: "main", collection: "repositorycredentials" as const, id: "team" };
    expect(await open(privateKey, context, envelopes()[0]!)).toEqual({
      githubAppPrivateKey: "-----BEGIN RSA PRIVATE KEY-----\ncanary\n-----END RSA PRIVATE KEY-----\n",
    });
    expect(JSON.stringify(service.bodies)).not.toContain("canary");
    expect((await h.run("state", "pull")).stdout).not.toContain("canary");
    expect(await h.plan()).toEqual([]);
    await h.apply(hcl("2"));
    expect(envelopes().length).toBe(2);
  }));

test("a webhook's secret is ephemeral: asked for once the webhook exists, and kept nowhere", () =>
  world(async (h, service) => {
    await h.apply(`resource "outpost_webhook" "w" {
  id   = "github"
  type = "github"
}
ephemeral "outpost_webhook_secret" "s" {
  webhook = outpost_webhook.w.id
  uid     = outpost_webhook.w.uid
}
provider "outpost" {
  alias   = "b"
  account = ephemeral.outpost_webhook_secret.s.secret
}
`);
    expect(service.requests).toContain("GET /v1/webhooks/github/secret");
    expect((await h.run("state", "pull")).stdout).not.toContain("canary-secret");
    h.config('ephemeral "outpost_webhook_secret" "s" { webhook = "none" }');
    expect(await h.fails("plan")).toContain(
      "With `uid = outpost_webhook.NAME.uid` Terraform waits until it is created",
    );
    h.config(
      'resource "outpost_webhook" "w" {\n id = "github"\n type = "github"\n}\nephemeral "outpost_webhook_secret" "s" {\n webhook = "github"\n uid = "other"\n}',
    );
    expect(await h.fails("plan")).toContain("The webhook github is not the one with the uid other");
  }));

const repository = (body: string, type = "outpost_repository_credential") =>
  `resource "${type}" "r" {\n id = "r"\n agent = "prod"\n ${body}\n}\n`;
const HTTPS = 'url = "https://git.example.com/team/"';
const KEY = '"-----BEGIN OPENSSH PRIVATE KEY-----\\nx\\n-----END OPENSSH PRIVATE KEY-----\\n"';
const project = (body: string) => repository(body, "outpost_app_project");
const app = (body: string) =>
  repository(`destination = {}\n ${body}`, "outpost_application").replace(
    "destination",
    'source = { repo_url = "https://a.b/c" }\n destination',
  );
const certificate = (type: string, data: string, host = "git.example.com") =>
  repository(`host = "${host}"\n type = "${type}"\n data = "${data}"`, "outpost_repository_certificate");

test.each<[string, string, string, string]>([
  [
    "two ways to sign in",
    repository(`${HTTPS}\n credentials = { password = "a", bearer_token = "b" }`),
    "only one of `password` and `bearer_token`",
    "credentials",
  ],
  [
    "a GitHub App without its key",
    repository(`${HTTPS}\n github_app = { id = 7 }\n credentials = { password = "p" }`),
    "`github_app` needs",
    "github_app",
  ],
  [
    "a key without its GitHub App",
    repository(`${HTTPS}\n credentials = { github_app_private_key = ${KEY} }`),
    "says whose key it is",
    "credentials",
  ],
  [
    "a service principal without its secret",
    repository(
      `${HTTPS}\n azure_service_principal = { client_id = "c", tenant_id = "t" }\n credentials = { password = "p" }`,
    ),
    "`azure_service_principal` needs",
    "azure_service_principal",
  ],
  [
    "a secret without its service principal",
    repository(`${HTTPS}\n credentials = { azure_service_principal_client_secret = "s" }`),
    "needs `azure_service_principal`",
    "credentials",
  ],
  [
    "an identity in Azure and a password",
    repository(`${HTTPS}\n use_azure_workload_identity = true\n credentials = { password = "p" }`),
    "signs in by itself",
    "use_azure_workload_identity",
  ],
  [
    "a service account that is none",
    repository(`${HTTPS}\n credentials = { gcp_service_account_key = "mine" }`),
    "JSON file that Google gives",
    "credentials",
  ],
  [
    "a key that is not PEM",
    repository('url = "git@git.example.com:team/"\n credentials = { ssh_private_key = "mine" }'),
    "credentials.ssh_private_key: A private key",
    "credentials",
  ],
  [
    "a password for SSH",
    repository('url = "ssh://git@git.example.com/team"\n credentials = { password = "p" }'),
    "takes `ssh_private_key` and not `password`",
    "credentials",
  ],
  [
    "half a client certificate",
    repository(`${HTTPS}\n credentials = { tls_client_cert_data = "${PEM}" }`),
    "go together",
    "credentials",
  ],
  [
    "LFS in a Helm repository",
    repository(`${HTTPS}\n type = "helm"\n enable_lfs = true`, "outpost_repository"),
    'no meaning with `type = "helm"`',
    "enable_lfs",
  ],
  ["a certificate that is none", certificate("https", SSH), "A certificate is required", "data"],
  ["a line of known_hosts", certificate("ssh", `git.example.com ${SSH}`), "Line 1 is not a key", "data"],
  [
    "a port for HTTPS",
    certificate("https", PEM, "[git.example.com]:8443"),
    "For `https` give the host's name alone",
    "host",
  ],
  [
    "a private GnuPG key",
    repository(`public_key = "${ARMOUR.replaceAll("PUBLIC", "PRIVATE")}"`, "outpost_gnupg_key"),
    "That is a private key",
    "public_key",
  ],
  ["an unknown generator", set("", "{ gti = {} }"), "generators[0]: There is no generator `gti`", "generators"],
  ["two generators in one", set("", "{ git = {}, list = {} }"), "2 are named", "generators"],
  [
    "a matrix of one",
    set("", "{ matrix = { generators = [{ list = {} }] } }"),
    "`matrix` has two generators, here are 1",
    "generators",
  ],
  [
    "a fault within a matrix",
    set("", "{ matrix = { generators = [{ list = {} }, { foo = {} }] } }"),
    "matrix.generators[1]: There is no generator `foo`",
    "generators",
  ],
  ["a template without a name", set("", undefined, "{ spec = {} }"), "`metadata.name` is missing", "template"],
  [
    "a patch without Go templates",
    set('go_template = false\n template_patch = "x"'),
    "no meaning with `go_template = false`",
    "template_patch",
  ],
  [
    "steps without a roll-out",
    set("strategy = { rolling_sync = { steps = [] } }"),
    'needs `type = "RollingSync"`',
    "strategy",
  ],
  [
    "four fields of cron",
    project('sync_windows = [{ kind = "deny", schedule = "0 16 * fri", duration = "1h", applications = ["*"] }]'),
    "sync_windows[0].schedule: The schedule",
    "sync_windows",
  ],
  [
    "the 25th hour",
    project('sync_windows = [{ kind = "deny", schedule = "0 25 * * *", duration = "1h", applications = ["*"] }]'),
    "25 is outside of 0 to 23",
    "sync_windows",
  ],
  [
    "a zone that is none",
    project(
      'sync_windows = [{ kind = "deny", schedule = "0 5 * * *", duration = "1h", applications = ["*"], time_zone = "Mars" }]',
    ),
    'no time zone "Mars"',
    "sync_windows",
  ],
  [
    "a destination without a cluster",
    project('destinations = [{ namespace = "x" }]'),
    "destinations[0]: Give `server` or `name`",
    "destinations",
  ],
  [
    "two projects",
    app('app_project = "a"\n argo_project = "b"'),
    "Give `app_project` for a project of this service",
    "argo_project",
  ],
  [
    "a parameter with two values",
    app("").replace(
      '"https://a.b/c"',
      '"https://a.b/c", plugin = { parameters = [{ name = "x", string = "1", array = [] }] }',
    ),
    "exactly one of `string`, `array` and `map`",
    "source",
  ],
])("%s is refused at its attribute, without the service", (_name, hcl, want, attribute) =>
  world(async (h, service) => {
    h.config(hcl);
    const text = await h.fails("validate");
    expect(text).toContain(want);
    expect(text).toMatch(new RegExp(`on main.tf line \\d+.*: ${attribute} `));
    expect(service.requests).toEqual([]);
  }),
);
