import { createOutpost } from "../../provider/outpost.ts";
import { createHarness } from "../../provider/testing/harness.ts";
import { agentsOf } from "../../server/control/testing/agents.ts";
import { startService, type TestService } from "../../server/control/testing/service.ts";

// Terraform, the provider and the service are real; the agent is a worker that reports what a cluster would hold.
let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());
const { agent } = agentsOf(() => s);

const hcl = (more: string) => `resource "outpost_application" "shop" {
  id          = "shop"
  agent       = "prod"
  source      = { repo_url = "https://git.example/shop.git", path = "deploy" }
  destination = { namespace = "shop" }
  wait        = false
  ${more}
}`;

test("an imported application of the cluster plans only real differences, and adopt = true takes it over in its place", async () => {
  const w = await agent("prod");
  const report = {
    collection: "applications" as const,
    namespace: "outpost-agent",
    name: "shop",
    uid: "live-1",
    spec: { source: { repoUrl: "https://git.example/shop.git", path: "deploy" }, destination: { namespace: "shop" } },
  };
  await w.exchange({ discovered: [report] });
  const h = await createHarness(createOutpost({ OUTPOST_ENDPOINT: s.url, OUTPOST_API_KEY: s.admin }), {}, "outpost");
  try {
    h.config(hcl(""));
    expect(await h.fails("apply", "-auto-approve")).toMatch(/not_adopted/);
    const importing = 'import {\n  to = outpost_application.shop\n  id = "shop"\n}\n';
    h.config(importing + hcl(""));
    await h.must("apply", "-auto-approve", "-input=false", "-no-color");
    const { uid, generation } = (await s.ask("GET", "/v1/applications/shop")).body;
    expect((await h.run("plan", "-detailed-exitcode", "-input=false")).code).toBe(0);
    expect((await s.ask("GET", "/v1/applications/shop")).body.origin).toBe("discovered");

    h.config(hcl('info = [{ name = "a", value = "b" }]'));
    expect(await h.fails("apply", "-auto-approve")).toMatch(/not_adopted/);
    h.config(hcl("adopt = true"));
    await h.must("apply", "-auto-approve", "-input=false", "-no-color");
    expect((await s.ask("GET", "/v1/applications/shop")).body).toMatchObject({ uid, generation, origin: "managed" });
    expect((await w.exchange()).objects).toMatchObject([{ op: "put", name: "shop", adopt: { uid: "live-1" } }]);
    expect((await h.run("plan", "-detailed-exitcode", "-input=false")).code).toBe(0);
  } finally {
    await h.close();
  }
}, 300_000);
