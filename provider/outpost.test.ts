import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { jest } from "@jest/globals";
import { generateSealKeys, open, type SealedEnvelope } from "../openapi/seal.ts";
import { within } from "../test/within.ts";
import { examples } from "./generate/examples.ts";
import { FAIL_AT_ONCE } from "./generate/waiting.ts";
import { createOutpost } from "./outpost.ts";
import { createHarness, type Harness } from "./testing/harness.ts";
import { createService, type FakeService, problem } from "./testing/service.ts";

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

const app = (body = "", source = 'repo_url = "https://git.example.com/a.git"') => `resource "outpost_application" "a" {
  id = "guestbook"
  agent = "prod"
  source = { ${source}, path = "guestbook" }
  destination = { namespace = "guestbook" }
  sync_policy = { automated = { prune = true } }
  ${body}
}
`;

test("the schema in provider/generated is what Terraform itself prints", () =>
  world(async (h) => {
    h.config("");
    const printed = JSON.parse((await h.must("providers", "schema", "-json")).stdout);
    const own = readFileSync(join(fileURLToPath(new URL(".", import.meta.url)), "generated/schema.json"), "utf8");
    expect(JSON.parse(own)).toEqual(printed);
  }));

/** What the examples read from files. */
const files: Record<string, string> = {
  "release.asc": `-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n${"mQGN".repeat(20)}\n-----END PGP PUBLIC KEY BLOCK-----\n`,
  "authority.pem": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
};

const pipelines = Object.entries(FAIL_AT_ONCE).map(([type, hcl]) => [
  `${type} in a pipeline`,
  `${examples[type]}\n${hcl}`,
]);
test.each([...Object.entries(examples), ...pipelines])("the example of %s is valid", (_name, hcl) =>
  world(async (h) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(h.folder, name), text);
    h.config(hcl);
    const { stdout } = await h.run("validate", "-json");
    expect(JSON.parse(stdout).diagnostics).toEqual([]);
  }),
);

test("the whole life of an application: create, empty plan, update, drift, import, destroy", () =>
  world(async (h, service) => {
    const hcl = app(
      'labels = { a = "1" }\n info = [{ name = "n", value = "v" }]',
      'repo_url = "https://git.example.com/a.git", helm = { values_object = jsonencode({ b = [1, true], a = null }), parameters = [{ name = "x", value = "1" }] }',
    );
    await h.apply(hcl);
    expect(service.requests.filter((r) => r.startsWith("PUT"))).toEqual(["PUT /v1/applications/guestbook"]);
    expect(service.bodies[0]).toEqual({
      spec: {
        agent: "prod",
        argoProject: "default",
        source: {
          repoUrl: "https://git.example.com/a.git",
          path: "guestbook",
          helm: { valuesObject: { b: [1, true], a: null }, parameters: [{ name: "x", value: "1" }] },
        },
        destination: { namespace: "guestbook" },
        syncPolicy: { automated: { prune: true } },
        info: [{ name: "n", value: "v" }],
        labels: { a: "1" },
        revisionHistoryLimit: 10,
      },
    });
    expect(await h.plan()).toEqual([]);
    const state = await h.state("outpost_application.a");
    expect(state).toMatchObject({
      id: "guestbook",
      uid: "uid-1",
      generation: 1,
      wait: true,
      cascade: "foreground",
    });
    // What changes by itself is in the data source only.
    expect(state).not.toHaveProperty("status");

    const [updated] = await h.plan(hcl.replace('"1" }\n info', '"2" }\n info'));
    expect(updated!.change.after_unknown).toMatchObject({ generation: true });
    expect(updated!.change.after).toMatchObject({ uid: "uid-1" });
    await h.apply();
    expect(await h.plan()).toEqual([]);

    const stored = service.store.get("applications/-/-/guestbook")!;
    (stored.spec.labels as Record<string, string>).a = "drift";
    expect((await h.plan()).map((c) => c.change.actions)).toEqual([["update"]]);
    await h.apply();
    expect((service.store.get("applications/-/-/guestbook")!.spec.labels as Record<string, string>).a).toBe("2");

    // Only waiting changes: nothing is sent.
    const puts = service.requests.filter((r) => r.startsWith("PUT")).length;
    await h.apply(hcl.replace('"1" }\n info', '"2" }\n timeouts = { create = "5m" }\n info'));
    expect(service.requests.filter((r) => r.startsWith("PUT")).length).toBe(puts);

    await h.run("state", "rm", "outpost_application.a");
    expect((await h.run("import", "outpost_application.a", "guestbook")).code).toBe(0);
    expect((await h.plan(hcl.replace('"1" }\n info', '"2" }\n info'))).map((c) => c.change)).toEqual([]);
    expect((await h.run("destroy", "-auto-approve")).code).toBe(0);
    expect(service.requests.at(-1)).toBe("DELETE /v1/applications/guestbook?uid=uid-1&cascade=foreground");
    expect(service.store.size).toBe(0);
  }));

test("objects live in their scope, and a change of scope replaces them", () =>
  world(async (h, service) => {
    const orgs = 'resource "outpost_organization" "o" {\n for_each = toset(["team", "crew"])\n id = each.key\n}\n';
    const hcl = (org: string) =>
      `${orgs}resource "outpost_project" "p" {\n id = "shop"\n org = "${org}"\n}\nresource "outpost_agent" "a" {\n id = "prod"\n org = "${org}"\n project = outpost_project.p.id\n tags = ["b", "a"]\n}\n`;
    await h.apply(orgs);
    await h.apply(hcl("team"));
    expect([...service.store.keys()].sort()).toEqual([
      "agents/team/shop/prod",
      "organizations/-/-/crew",
      "organizations/-/-/team",
      "projects/team/-/shop",
    ]);
    service.store.get("agents/team/shop/prod")!.spec.tags = ["a", "b"];
    expect(await h.plan()).toEqual([]);
    expect((await h.plan(hcl("crew"))).map((c) => c.change.actions)).toEqual([
      ["delete", "create"],
      ["delete", "create"],
    ]);
    h.config(`${hcl("team")}resource "outpost_agent" "b" {\n id = "prod"\n org = "team"\n project = "shop"\n}\n`);
    expect((await h.run("import", "outpost_agent.b", "team/shop/prod")).code).toBe(0);
    expect(await h.fails("import", "outpost_agent.c", "a/b/c/d")).toContain("resource address");
  }));

test("an existing object is refused with the way out, and taken over with adopt", () =>
  world(async (h, service) => {
    await h.apply('resource "outpost_agent" "a" { id = "prod" }');
    h.config('resource "outpost_agent" "a" { id = "prod" }\nresource "outpost_agent" "b" { id = "prod" }');
    expect(await h.fails("apply", "-auto-approve")).toContain(
      'import it: import { to = outpost_agent.NAME id = "prod" } Or take it over with `adopt = true`',
    );
    await h.apply(
      'resource "outpost_agent" "a" { id = "prod" }\nresource "outpost_agent" "b" {\n id = "prod"\n adopt = true\n}',
    );
    expect(service.store.size).toBe(1);
  }));

test("credentials are sealed to the agent's key once it has one, and are nowhere else", () =>
  world(async (h, service) => {
    const { publicKey, privateKey } = await generateSealKeys();
    const hcl = (version: string, password = "canary-1") => `resource "outpost_agent" "a" { id = "prod" }
resource "outpost_repository" "r" {
  id = "apps"
  agent = outpost_agent.a.id
  url = "https://git.example.com/a.git"
  username = "robot"
  credentials = { password = "${password}" }
  credentials_version = "${version}"
}
`;
    // The agent enrols only after it was asked for a second time.
    let asked = 0;
    service.intercept = (request) => {
      if (request.method === "GET" && request.url === "/v1/agents/prod" && ++asked === 3)
        Object.assign(service.store.get("agents/-/-/prod")!.status, {
          sealKey: { id: "k1", publicKey },
          connected: true,
        });
      return false;
    };
    await h.apply(hcl("1"));
    expect(asked).toBeGreaterThanOrEqual(3);
    const sent = () =>
      (service.bodies.at(-1) as { spec: { sealedCredentials?: SealedEnvelope } }).spec.sealedCredentials;
    const context = { account: "main", collection: "repositories" as const, id: "apps" };
    expect(await open(privateKey, context, sent()!)).toEqual({ password: "canary-1" });
    expect(JSON.stringify(service.bodies)).not.toContain("canary");
    expect((await h.run("state", "pull")).stdout).not.toContain("canary");
    expect(await h.plan(hcl("1", "canary-2"))).toEqual([]);
    await h.apply(hcl("2", "canary-2"));
    expect(await open(privateKey, context, sent()!)).toEqual({ password: "canary-2" });
    await h.apply(hcl("2", "canary-2").replace("robot", "other"));
    expect(sent()).toBeUndefined();
    expect(await h.plan()).toEqual([]);
  }));

test("an enrolment token is ephemeral: asked for once its agent exists, and kept nowhere", () =>
  world(async (h, service) => {
    const hcl = `resource "outpost_agent" "a" { id = "prod" }
ephemeral "outpost_agent_token" "t" {
  agent = outpost_agent.a.id
  uid = outpost_agent.a.uid
}
provider "outpost" {
  alias = "b"
  account = ephemeral.outpost_agent_token.t.token_id
}
`;
    await h.apply(hcl);
    const asked = service.requests.filter((r) => r.includes("tokens")).map((r) => r.split("?")[0]);
    expect(asked).toEqual([
      "POST /v1/agents/prod/tokens",
      "GET /v1/agents/prod/tokens",
      "DELETE /v1/agents/prod/tokens/t1",
    ]);
    expect((await h.run("state", "pull")).stdout).not.toContain("canary-token");
    h.config('ephemeral "outpost_agent_token" "t" { agent = "none" }');
    expect(await h.fails("plan")).toContain("With `uid = outpost_agent.NAME.uid` Terraform waits until it is created");
  }));

test("an enrolment token is revoked when the run fails too, where Terraform closes nothing", () =>
  world(async (h, service) => {
    const agent = { id: "prod", uid: "u", generation: 1, version: "1", createdAt: "x", spec: {}, status: {} };
    service.store.set("agents/-/-/prod", agent);
    h.config(`ephemeral "outpost_agent_token" "t" { agent = "prod" }
data "outpost_agent" "none" { id = "none" }
resource "terraform_data" "x" {
  input = data.outpost_agent.none.uid
  lifecycle {
    precondition {
      condition     = ephemeral.outpost_agent_token.t.token != ""
      error_message = "no token"
    }
  }
}
`);
    const revoked = new Promise<void>((resolve) => {
      service.intercept = ({ method, url }) => {
        if (method === "DELETE" && url?.startsWith("/v1/agents/prod/tokens/t1")) resolve();
        return false;
      };
    });
    await h.fails("plan");
    expect(service.requests).toContain("POST /v1/agents/prod/tokens");
    await revoked;
  }));

test.each([
  [
    "source",
    app("", 'repo_url = "ftp://x"'),
    "source.repo_url: The text must be the address of a repository",
    "source",
  ],
  ["id", app().replace('"guestbook"', '"Guestbook"'), "The text must be a name of small letters", "id"],
  [
    "both sources",
    app("sources = []").replace("sources = []", 'sources = [{ repo_url = "https://a.b/c" }]'),
    "exactly one of `source` and `sources`",
    "sources",
  ],
  [
    "repository and address",
    app("", 'repo_url = "https://a.b/c", repository = "r"'),
    "exactly one of `repository` and `repo_url`",
    "source",
  ],
  [
    "JSON",
    app("", 'repo_url = "https://a.b/c", helm = { values_object = "x" }'),
    "source.helm.values_object: The text must be JSON",
    "source",
  ],
  [
    "sync option",
    app().replace("prune = true }", 'prune = true }, sync_options = ["x"]'),
    "sync_policy.sync_options[0]: The text must be an option and its value",
    "sync_policy",
  ],
])("a wrong %s is refused at its attribute, without the service", (_name, hcl, want, attribute) =>
  world(async (h, service) => {
    h.config(hcl);
    const text = await h.fails("validate");
    expect(text).toContain(want);
    expect(text).toMatch(new RegExp(`on main.tf line \\d+.*: ${attribute} `));
    expect(service.requests).toEqual([]);
  }),
);

test("a problem of the service is shown at the attribute that its pointer names", () =>
  world(async (h, service) => {
    service.intercept = (request, response) => {
      if (request.method !== "PUT") return false;
      problem(response, 422, "reference_not_found", "See errors.", {
        errors: [
          {
            code: "reference_not_found",
            detail: "There is no repository r1 in this scope.",
            pointer: "/spec/sources/1/repository",
          },
        ],
      });
      return true;
    };
    h.config(app('sources = [{ repository = "r0" }, { repository = "r1" }]').replace(/source = .*\n/, ""));
    const text = await h.fails("apply", "-auto-approve");
    expect(text).toContain("sources[1].repository: There is no repository r1 in this scope.");
    expect(text).toMatch(/on main.tf line \d+.*: sources = /);
    expect(text).toContain("Code: reference_not_found.");
  }));

test("waiting says what it waits for, fails at once on what is final, and names the last reason when time is up", () =>
  world(async (h, service) => {
    const status = (more: object) => (stored: { generation: number; status: Record<string, unknown> }) =>
      Object.assign(stored.status, {
        observedGeneration: stored.generation,
        delivery: { state: "Delivered" },
        sync: { status: "OutOfSync" },
        health: { status: "Progressing" },
        ...more,
      });
    service.onPut = status({
      resources: [
        {
          group: "apps",
          version: "v1",
          kind: "Deployment",
          name: "guestbook",
          health: "Progressing",
          message: "0 of 2 available",
        },
      ],
    });
    const short = app('timeouts = { create = "5s", update = "5s" }');
    h.config(short);
    const { stdout } = await h.must("apply", "-auto-approve", "-no-color");
    const told = stdout.replace(/[│╷╵]/g, "").replace(/\s+/g, " ");
    expect(told).toContain("Warning: Creating application guestbook: created, and not ready yet");
    expect(told).toContain("The last reason was: waiting for apps/Deployment guestbook: 0 of 2 available.");
    // It is no failed creation: the next apply waits again, fails when it must, and destroys nothing.
    const uid = (await h.state("outpost_application.a"))?.uid;
    for (let i = 0; i < 2; i++) {
      expect((await h.plan(short)).map((c) => c.change.actions)).toEqual([["update"]]);
      expect(await h.fails("apply", "-auto-approve")).toMatch(
        /out of time .*The last reason was: waiting for apps\/Deployment guestbook/,
      );
    }
    const [stored] = [...service.store.values()].filter((one) => one.id === "guestbook");
    Object.assign(stored!.status, { sync: { status: "Synced" }, health: { status: "Healthy" }, resources: [] });
    expect(await h.plan(short)).toEqual([]);
    expect((await h.state("outpost_application.a"))?.uid).toBe(uid);
    await h.must("destroy", "-auto-approve");

    const agent = 'resource "outpost_agent" "p" { id = "prod" }\n';
    await h.apply(agent);
    h.config(agent + app());
    const at = Date.now();
    service.onPut = status({
      conditions: [
        {
          type: "ComparisonError",
          status: "True",
          reason: "PathNotFound",
          message: "guestbook is not in the repository",
          lastTransitionTime: "x",
        },
      ],
    });
    const text = await h.fails("apply", "-auto-approve");
    expect(text).toContain("source.path: PathNotFound: guestbook is not in the repository");
    expect(Date.now() - at).toBeLessThan(within(20_000));

    service.onPut = status({ delivery: { state: "Refused", message: "the namespace is not the agent's" } });
    expect(await h.fails("apply", "-auto-approve")).toContain("the agent refused it: the namespace is not the agent's");
  }));

test("a service that is away for a moment is waited for, a refusal is not", () =>
  world(async (h, service) => {
    let refused = 0;
    service.intercept = (request, response) => {
      if (++refused > 4) return false;
      if (refused % 2) request.socket.destroy();
      else problem(response, 503, "unavailable", "Starting.", { retryAfterSeconds: 0 });
      return true;
    };
    await h.apply('resource "outpost_agent" "a" { id = "prod" }');
    expect(refused).toBeGreaterThan(4);
    const before = service.requests.length;
    service.intercept = (_request, response) => {
      problem(response, 403, "forbidden", "The role viewer does not allow this.");
      return true;
    };
    h.config('resource "outpost_agent" "a" {\n id = "prod"\n}\nresource "outpost_agent" "b" { id = "b" }');
    expect(await h.fails("apply", "-auto-approve", "-refresh=false")).toContain("The role viewer does not allow this.");
    expect(service.requests.length).toBe(before + 1);
  }));

test("an answer that got lost on the way does not make a create fail", () =>
  world(async (h, service) => {
    let lost = false;
    service.intercept = (request, response) => {
      if (request.method !== "PUT" || lost) return false;
      lost = true;
      service.intercept = undefined;
      const { destroy } = request.socket;
      // Let the write happen, then break the connection before its answer.
      response.writeHead = (() => response) as never;
      response.end = (() => {
        destroy.call(request.socket);
        return response;
      }) as never;
      return false;
    };
    await h.apply('resource "outpost_agent" "a" { id = "prod" }');
    expect(service.requests.filter((r) => r.startsWith("PUT")).length).toBe(2);
    expect(service.store.size).toBe(1);
  }));

test("data sources read one object; a missing one is named", () =>
  world(async (h) => {
    await h.apply(
      'resource "outpost_agent" "a" { id = "prod" }\ndata "outpost_agent" "a" { id = outpost_agent.a.id }\noutput "m" { value = data.outpost_agent.a.mode }',
    );
    expect(JSON.parse((await h.run("output", "-json")).stdout).m.value).toBe("cluster");
    h.config('data "outpost_agent" "x" { id = "none" }');
    expect(await h.fails("plan")).toContain("There is no agent `none` in the account itself.");
  }));

test("without endpoint or key the way to give them is said", async () => {
  const h = await createHarness(createOutpost({ OUTPOST_CONFIG: "/nonexistent" }), {}, "outpost");
  try {
    h.config('resource "outpost_agent" "a" { id = "prod" }');
    const said = await h.fails("apply", "-auto-approve");
    expect(said).toContain(
      "No endpoint: set `endpoint` in the provider block, or OUTPOST_ENDPOINT, or sign in with `outpost login`.",
    );
    expect(said).toContain("The provider's configuration");
  } finally {
    await h.close();
  }
});
