import { jest } from "@jest/globals";
import { FAIL_AT_ONCE } from "./generate/waiting.ts";
import { createOutpost } from "./outpost.ts";
import { createHarness, type Harness } from "./testing/harness.ts";
import { createService, type FakeService } from "./testing/service.ts";

jest.setTimeout(120_000);

const hcl = (more = "") => `
resource "outpost_agent" "p" { id = "prod" }
resource "outpost_application" "a" {
  id          = "web"
  agent       = outpost_agent.p.id
  source      = { repo_url = "https://git.example.com/a.git", path = "x" }
  destination = { namespace = "web" }
  sync_policy = { automated = {} }
  ${more}
}
`;

test("an interrupt while a creation waits leaves an object that the next apply keeps", async () => {
  const service = await createService();
  const h = await createHarness(
    createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: "key" }),
    {},
    "outpost",
  );
  try {
    let seen = () => {};
    const waiting = new Promise<void>((resolve) => {
      seen = resolve;
    });
    service.onPut = (stored) =>
      Object.assign(stored.status, {
        observedGeneration: stored.generation,
        delivery: { state: "Delivered" },
        sync: { status: "OutOfSync" },
        health: { status: "Progressing" },
      });
    h.config(hcl());
    service.intercept = (request) => {
      if (
        request.method === "GET" &&
        request.url?.startsWith("/v1/applications/web") &&
        service.store.has("applications/-/-/web")
      )
        seen();
      return false;
    };
    const run = h.start("apply", "-auto-approve", "-no-color");
    await waiting;
    run.interrupt();
    await run.result;
    const { uid, status } = service.store.get("applications/-/-/web")!;
    expect(await h.state("outpost_application.a")).toMatchObject({ uid });
    expect((await h.plan(hcl())).map((c) => c.change.actions)).toEqual([["update"]]);
    Object.assign(status, { sync: { status: "Synced" }, health: { status: "Healthy" } });
    expect(await h.plan()).toEqual([]);
    await h.apply();
    expect(service.store.get("applications/-/-/web")!.uid).toBe(uid);
  } finally {
    await h.close();
    await service.close();
  }
});

test("an object whose replacement before its deletion was interrupted is not deleted by the next plan", async () => {
  const service = await createService();
  const h = await createHarness(
    createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: "key" }),
    {},
    "outpost",
  );
  try {
    await h.apply(hcl(`adopt = true\n  ${SHORT}\n  lifecycle { create_before_destroy = true }`));
    const { uid } = service.store.get("applications/-/-/web")!;
    await h.must("apply", "-auto-approve", "-replace=outpost_application.a");
    expect([await h.plan(), service.store.get("applications/-/-/web")!.uid]).toEqual([[], uid]);
    const waiting = new Promise<void>((seen) => {
      service.onPut = (stored) => {
        Object.assign(stored.status, { health: { status: "Progressing" } });
        seen();
      };
    });
    const run = h.start("apply", "-auto-approve", "-no-color", "-replace=outpost_application.a");
    await waiting;
    run.interrupt();
    await run.result;
    // What was there before is now a deposed object, with the same uid.
    expect(await h.fails("apply", "-auto-approve")).toContain("This plan deletes application web and keeps it too");
    expect(service.store.get("applications/-/-/web")!.uid).toBe(uid);
    await h.must("state", "rm", "outpost_application.a");
    await h.must("import", "outpost_application.a", "web");
    expect((await h.plan()).map((c) => c.change.actions)).toEqual([["update"]]);
  } finally {
    await h.close();
    await service.close();
  }
});

const NOT_READY: [what: string, status: object, reason: RegExp][] = [
  [
    "is Degraded",
    {
      sync: { status: "Synced" },
      health: { status: "Degraded" },
      resources: [
        {
          group: "apps",
          kind: "Deployment",
          name: "web",
          health: "Degraded",
          message: "Back-off pulling image nope:1",
        },
      ],
    },
    /apps\/Deployment web is Degraded: Back-off pulling image nope:1/,
  ],
  [
    "failed its first sync",
    {
      sync: { status: "OutOfSync" },
      health: { status: "Missing" },
      operation: { phase: "Failed", message: "one or more objects failed to apply" },
      resources: [{ kind: "Service", name: "web", status: "OutOfSync", message: "spec.ports: Required value" }],
    },
    /the sync failed: Service web: spec.ports: Required value/,
  ],
];
/** What the documentation tells pipelines to add. */
const AT_ONCE = FAIL_AT_ONCE.outpost_application!.replaceAll("outpost_application.example", "outpost_application.a");

async function withStatus(status: object, run: (h: Harness, service: FakeService) => Promise<void>): Promise<void> {
  const service = await createService();
  const h = await createHarness(
    createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: "key" }),
    {},
    "outpost",
  );
  service.onPut = (stored) =>
    Object.assign(stored.status, {
      observedGeneration: stored.generation,
      delivery: { state: "Delivered" },
      ...status,
    });
  try {
    await run(h, service);
  } finally {
    await h.close();
    await service.close();
  }
}
const SHORT = 'timeouts = { create = "5s", update = "5s" }';

test.each(NOT_READY)(
  "an application that %s is kept with a warning, and each later apply fails with the deepest reason",
  async (_, status, reason) => {
    await withStatus(status, async (h, service) => {
      h.config(hcl(SHORT));
      const first = await h.must("apply", "-auto-approve", "-no-color");
      expect(first.stdout.replace(/[│╷╵]/g, "").replace(/\s+/g, " ")).toMatch(reason);
      const { uid } = service.store.get("applications/-/-/web")!;
      for (let i = 0; i < 2; i++) expect(await h.fails("apply", "-auto-approve")).toMatch(reason);
      expect((await h.plan(hcl(SHORT))).map((c) => c.change.actions)).toEqual([["update"]]);
      Object.assign(service.store.get("applications/-/-/web")!.status, {
        sync: { status: "Synced" },
        health: { status: "Healthy" },
        operation: undefined,
      });
      await h.apply();
      expect([await h.plan(), service.store.get("applications/-/-/web")!.uid]).toEqual([[], uid]);
    });
  },
);

test("an object that was taken over and cannot become ready is never planned for deletion", async () => {
  const status = {
    sync: { status: "Unknown" },
    health: { status: "Healthy" },
    conditions: [{ type: "ComparisonError", status: "True", reason: "RevisionNotFound", message: "there is no `v2`" }],
  };
  await withStatus(status, async (h, service) => {
    const running = { id: "web", uid: "running", generation: 4, version: "9", spec: { agent: "prod" }, status: {} };
    service.store.set("applications/-/-/web", running);
    const adopting = hcl(`adopt = true\n${SHORT}`);
    h.config(adopting);
    const first = await h.must("apply", "-auto-approve", "-no-color");
    expect(first.stdout.replace(/\s+/g, " ")).toMatch(/taken over, and not ready yet .*there is no `v2`/);
    expect((await h.plan()).map((c) => c.change.actions)).toEqual([["update"]]);
    expect(await h.fails("apply", "-auto-approve")).toContain("there is no `v2`");
    expect(service.requests.filter((r) => r.startsWith("DELETE"))).toEqual([]);
    expect(service.store.get("applications/-/-/web")!.uid).toBe("running");
  });
});

test.each([
  ...NOT_READY.map(([what, status]) => [what, status, "It is \\w+ and (Degraded|Missing)\\."] as const),
  ["is not taken by its agent", { delivery: { state: "Pending" } }, "It is not deployed yet\\."] as const,
])(
  "with a postcondition the apply that creates an application that %s fails, and taints nothing",
  async (_, status, want) => {
    await withStatus(status, async (h, service) => {
      h.config(hcl(SHORT) + AT_ONCE);
      expect(await h.fails("apply", "-auto-approve")).toMatch(new RegExp(want));
      const { uid } = service.store.get("applications/-/-/web")!;
      expect((await h.plan(hcl(SHORT) + AT_ONCE)).map((c) => c.change.actions)).toEqual([["update"]]);
      Object.assign(service.store.get("applications/-/-/web")!.status, {
        delivery: { state: "Delivered" },
        sync: { status: "Synced" },
        health: { status: "Healthy" },
        operation: undefined,
      });
      await h.apply();
      expect([await h.plan(), service.store.get("applications/-/-/web")!.uid]).toEqual([[], uid]);
    });
  },
);

test("a timeout of zero is refused, and not taken for the default", async () => {
  const h = await createHarness(
    createOutpost({ OUTPOST_ENDPOINT: "http://127.0.0.1:9", OUTPOST_API_KEY: "key" }),
    {},
    "outpost",
  );
  try {
    h.config(hcl('timeouts = { create = "0s" }'));
    expect(await h.fails("validate")).toMatch(/must be a duration longer than zero .* got "0s"/);
  } finally {
    await h.close();
  }
});
