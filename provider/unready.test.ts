import { jest } from "@jest/globals";
import { createOutpost } from "./outpost.ts";
import { createHarness } from "./testing/harness.ts";
import { createService } from "./testing/service.ts";

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
  const h = await createHarness(createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: "key" }), {}, "outpost");
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
      if (request.method === "GET" && request.url?.startsWith("/v1/applications/web") && service.store.has("applications/-/-/web")) seen();
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

test("a timeout of zero is refused, and not taken for the default", async () => {
  const h = await createHarness(createOutpost({ OUTPOST_ENDPOINT: "http://127.0.0.1:9", OUTPOST_API_KEY: "key" }), {}, "outpost");
  try {
    h.config(hcl('timeouts = { create = "0s" }'));
    expect(await h.fails("validate")).toMatch(/must be a duration longer than zero .* got "0s"/);
  } finally {
    await h.close();
  }
});
