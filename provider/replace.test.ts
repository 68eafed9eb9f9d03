import { rmSync } from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { createOutpost } from "./outpost.ts";
import { type Gate, openGate } from "./testing/gate.ts";
import { createHarness, type Harness } from "./testing/harness.ts";
import { type RealService, startRealService } from "./testing/real.ts";

jest.setTimeout(400_000);

let service: RealService;
beforeAll(async () => {
  service = await startRealService();
});
afterAll(() => service?.stop());

async function through<T>(use: (h: Harness, gate: Gate) => Promise<T>): Promise<T> {
  const gate = await openGate(service.endpoint);
  try {
    return await world((h) => use(h, gate), gate.endpoint);
  } finally {
    gate.close();
  }
}

async function world<T>(use: (h: Harness) => Promise<T>, endpoint = service.endpoint): Promise<T> {
  const h = await createHarness(
    createOutpost({ OUTPOST_ENDPOINT: endpoint, OUTPOST_API_KEY: service.key }),
    {},
    "outpost",
  );
  try {
    return await use(h);
  } finally {
    await h.close();
  }
}

/** An application with a cluster, a project and an agent below it; ids begin with `p`. */
const hcl = (p: string, { server = "https://old.example", agent = "a", more = "", cluster = "" } = {}) => `
resource "outpost_agent" "a" { id = "${p}-a" }
resource "outpost_agent" "b" { id = "${p}-b" }
resource "outpost_cluster" "c" {
  id     = "${p}-c"
  agent  = outpost_agent.${agent}.id
  server = "${server}"
  wait   = false
  ${cluster}
}
resource "outpost_app_project" "p" {
  id    = "${p}-p"
  agent = outpost_agent.${agent}.id
  wait  = false
}
resource "outpost_application" "x" {
  id          = "${p}-x"
  agent       = outpost_agent.${agent}.id
  app_project = outpost_app_project.p.id
  wait        = false
  source      = { repo_url = "https://git.example/a.git", path = "x" }
  destination = { cluster = outpost_cluster.c.id, namespace = "web" }
}
${more}
`;

const get = async (path: string) =>
  (await service.ask("GET", `/v1/${path}`)).body as { uid: string; spec: Record<string, unknown> };
const actions = (changes: { address: string; change: { actions: string[] } }[]) =>
  changes.map((c) => `${c.address.replace("outpost_", "")} ${c.change.actions.join()}`);

test("a cluster's address changes in place, and the application on it is not touched", () =>
  world(async (h) => {
    await h.apply(hcl("in"));
    const before = await get("applications/in-x");
    const cluster = await get("clusters/in-c");
    const next = hcl("in", { server: "https://new.example" });
    expect(actions(await h.plan(next))).toEqual(["cluster.c update"]);
    await h.apply(next);
    expect(await h.plan()).toEqual([]);
    expect(await get("applications/in-x")).toMatchObject({ uid: before.uid });
    expect(await get("clusters/in-c")).toMatchObject({ uid: cluster.uid, spec: { server: "https://new.example" } });
    await h.must("destroy", "-auto-approve");
  }));

test("the plan of a cluster that moves alone names the applications that stay behind, and the application says it too", () =>
  world(async (h) => {
    await h.apply(hcl("al"));
    const next = hcl("al").replace(/(id +=.*"al-c"\n +agent +=) .*/, "$1 outpost_agent.b.id");
    h.config(next);
    const { stdout } = await h.must("plan", "-no-color");
    expect(stdout.replace(/[│╷╵]/g, "").replace(/\s+/g, " ")).toMatch(
      /`al-x` use this cluster with agent `al-a`. Unless this plan changes their `agent`/,
    );
    // The application itself cannot be changed while the two differ, and says why.
    await h.apply(next);
    const { status } = (await service.ask("GET", "/v1/applications/al-x")).body as {
      status: { conditions: { type: string }[] };
    };
    expect(status.conditions.map(({ type }) => type)).toEqual(["ReferenceMovedWarning"]);
    await h.apply(hcl("al"));
    await h.must("destroy", "-auto-approve");
  }));

test("everything moves to another agent in one apply, without a delete in the plan", () =>
  world(async (h) => {
    await h.apply(hcl("mv"));
    const before = await get("applications/mv-x");
    const next = hcl("mv", { agent: "b" });
    expect(actions(await h.plan(next)).sort()).toEqual([
      "app_project.p update",
      "application.x update",
      "cluster.c update",
    ]);
    await h.apply(next);
    expect(await h.plan()).toEqual([]);
    const after = await get("applications/mv-x");
    expect(after.spec.agent).toBe("mv-b");
    expect(after.uid).not.toBe(before.uid);
    await h.must("destroy", "-auto-approve");
  }));

test.each([
  ["agent", "application.x", /(id +=.*"no-x"\n +agent +=) .*/, "no-aa", "agent", "no-a"],
  ["app project", "application.x", /(app_project +=) .*/, "no-pp", "app project", "no-p"],
  ["cluster", "application.x", /(cluster = )outpost_cluster.c.id/, "no-cc", "cluster", "no-c"],
])("a misspelt %s of %s is refused by the plan, with the one that was meant", (_, _of, where, typo, word, meant) =>
  world(async (h) => {
    await h.apply(hcl("no"));
    const before = await get("applications/no-x");
    h.config(hcl("no").replace(where, `$1 "${typo}"`));
    expect(await h.fails("plan")).toContain(
      `There is no ${word} \`${typo}\`, and this plan does not create it before. Did you mean \`${meant}\`?`,
    );
    expect(await get("applications/no-x")).toEqual(before);
    await h.apply(hcl("no"));
    await h.must("destroy", "-auto-approve");
  }),
);

test.each([
  ["-replace", (h: Harness, address: string) => h.must("apply", "-auto-approve", `-replace=${address}`)],
  [
    "taint",
    async (h: Harness, address: string) => {
      await h.must("taint", address);
      return h.must("apply", "-auto-approve");
    },
  ],
])(
  "%s of a cluster, project and agent that others refer to ends with new ones, and the application stays",
  (how, replace) =>
    world(async (h) => {
      const p = how.replace("-", "");
      await h.apply(hcl(p));
      const application = await get(`applications/${p}-x`);
      for (const [address, path] of [
        ["outpost_cluster.c", `clusters/${p}-c`],
        ["outpost_app_project.p", `appprojects/${p}-p`],
        ["outpost_agent.a", `agents/${p}-a`],
      ] as const) {
        const before = await get(path);
        await replace(h, address);
        expect((await get(path)).uid).not.toBe(before.uid);
        expect(await h.plan()).toEqual([]);
      }
      expect(await get(`applications/${p}-x`)).toMatchObject({ uid: application.uid, spec: application.spec });
      await h.must("destroy", "-auto-approve");
    }),
);

test("a replacement that cannot be created loses nothing: the old object stays in the state, and a destroy leaves nothing", () =>
  world(async (h) => {
    await h.apply(hcl("lf"));
    const before = await get("clusters/lf-c");
    h.config(hcl("lf").replace(/(id +=.*"lf-c"\n +agent +=) .*/, '$1 "typo"'));
    expect(await h.fails("apply", "-auto-approve", "-replace=outpost_cluster.c")).toMatch(/There is no agent `typo`/);
    expect(await get("clusters/lf-c")).toMatchObject({ uid: before.uid });
    expect(await h.state("outpost_cluster.c")).toMatchObject({ uid: before.uid });
    h.config(hcl("lf"));
    await h.must("destroy", "-auto-approve");
    for (const path of ["clusters/lf-c", "agents/lf-a", "applications/lf-x"])
      expect((await service.ask("GET", `/v1/${path}`)).status).toBe(404);
  }));

test("replace_triggered_by replaces a cluster under its application", () =>
  world(async (h) => {
    const with_ = (input: string) =>
      hcl("tr", {
        cluster: "lifecycle { replace_triggered_by = [terraform_data.t] }",
        more: `resource "terraform_data" "t" { input = "${input}" }`,
      });
    await h.apply(with_("1"));
    const before = await get("clusters/tr-c");
    await h.apply(with_("2"));
    expect((await get("clusters/tr-c")).uid).not.toBe(before.uid);
    expect(await h.plan()).toEqual([]);
    await h.must("destroy", "-auto-approve");
  }));

test("create_before_destroy with the same id: refused before anything is deleted, and with adopt the object stays", () =>
  world(async (h) => {
    const plain = hcl("cb", { cluster: "lifecycle { create_before_destroy = true }" });
    await h.apply(plain);
    const before = await get("clusters/cb-c");
    expect(await h.fails("apply", "-auto-approve", "-replace=outpost_cluster.c")).toMatch(
      /create_before_destroy` needs `adopt = true`/,
    );
    expect(await get("clusters/cb-c")).toEqual(before);
    await h.apply(hcl("cb", { cluster: "adopt = true\n  lifecycle { create_before_destroy = true }" }));
    await h.must("apply", "-auto-approve", "-replace=outpost_cluster.c");
    expect((await get("clusters/cb-c")).uid).toBe(before.uid);
    expect(await h.plan()).toEqual([]);
    await h.must("destroy", "-auto-approve");
    expect((await service.ask("GET", "/v1/clusters/cb-c")).status).toBe(404);
  }));

test("a new scope that is not there is refused by the plan, and one that the same plan creates is not", () =>
  world(async (h) => {
    const at = (scope: string) => `resource "outpost_agent" "a" {\n  id = "sc-a"\n  ${scope}\n}\n`;
    await h.apply(at(""));
    h.config(at('org = "nowhere"'));
    expect(await h.fails("plan")).toMatch(/There is no organization `nowhere`, and this plan does not create it/);
    const made = `resource "outpost_organization" "o" { id = "somewhere" }\n${at("org = outpost_organization.o.id")}`;
    expect(actions(await h.plan(made)).sort()).toEqual(["agent.a delete,create", "organization.o create"]);
    await h.apply();
    await h.must("destroy", "-auto-approve");
  }));

test("other ids for an agent, a cluster and a project that an application uses: one apply, and nothing of the old ones is left", () =>
  world(async (h) => {
    await h.apply(hcl("rn"));
    const before = await get("applications/rn-x");
    const next = hcl("rn")
      .replace('id = "rn-a"', 'id = "rn-new-a"')
      .replace('"rn-c"', '"rn-new-c"')
      .replace('"rn-p"', '"rn-new-p"');
    expect(actions(await h.plan(next)).sort()).toEqual([
      "agent.a delete,create",
      "app_project.p delete,create",
      "application.x update",
      "cluster.c delete,create",
    ]);
    await h.apply(next);
    expect(await h.plan()).toEqual([]);
    for (const path of ["agents/rn-a", "clusters/rn-c", "appprojects/rn-p"])
      expect((await service.ask("GET", `/v1/${path}`)).status).toBe(404);
    expect((await get("applications/rn-x")).spec).toMatchObject({
      ...before.spec,
      agent: "rn-new-a",
      appProject: "rn-new-p",
      destination: { cluster: "rn-new-c" },
    });
    await h.must("destroy", "-auto-approve");
  }));

/** Interrupts a replacement of the cluster after the old one was deleted and before the service hears of the new one. */
async function interrupted(h: Harness, gate: Gate, signal: NodeJS.Signals): Promise<void> {
  const run = h.start("apply", "-auto-approve", "-no-color", "-replace=outpost_cluster.c");
  gate.stopAt = (request) => {
    if (request.method !== "PUT" || !request.url?.includes("/clusters/")) return false;
    run.interrupt(signal);
    return true;
  };
  expect((await run.result).code).not.toBe(0);
  gate.stopAt = undefined;
  rmSync(join(h.folder, ".terraform.tfstate.lock.info"), { force: true });
}

test.each(["SIGINT", "SIGKILL"] as const)(
  "%s between the delete and the create of a replacement: the next apply ends it, and the application stays",
  (signal) =>
    through(async (h, gate) => {
      const p = signal.toLowerCase();
      await h.apply(hcl(p));
      const application = await get(`applications/${p}-x`);
      await interrupted(h, gate, signal);
      await h.apply(hcl(p));
      expect(await h.plan()).toEqual([]);
      expect(await h.state("outpost_cluster.c")).toMatchObject({ uid: (await get(`clusters/${p}-c`)).uid });
      expect(await get(`applications/${p}-x`)).toMatchObject({ uid: application.uid });
      await h.must("destroy", "-auto-approve");
      for (const path of [`clusters/${p}-c`, `agents/${p}-a`])
        expect((await service.ask("GET", `/v1/${path}`)).status).toBe(404);
    }),
);

test("a destroy after an interrupted replacement leaves nothing at the service", () =>
  through(async (h, gate) => {
    await h.apply(hcl("id"));
    await interrupted(h, gate, "SIGINT");
    h.config(hcl("id"));
    await h.must("destroy", "-auto-approve");
    for (const path of ["clusters/id-c", "agents/id-a", "applications/id-x"])
      expect((await service.ask("GET", `/v1/${path}`)).status).toBe(404);
  }));
