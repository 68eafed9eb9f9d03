import { jest } from "@jest/globals";
import { createOutpost } from "./outpost.ts";
import { createHarness, type Harness } from "./testing/harness.ts";
import { type RealService, startRealService } from "./testing/real.ts";

jest.setTimeout(120_000);
let service: RealService;
beforeAll(async () => {
  service = await startRealService();
});
afterAll(() => service?.stop());

async function world(use: (h: Harness) => Promise<void>): Promise<void> {
  const h = await createHarness(
    createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: service.key }),
    {},
    "outpost",
  );
  try {
    await use(h);
  } finally {
    await h.close();
  }
}
const tokens = async (path: string) => ((await service.ask("GET", `/v1/${path}`)).body as { items: unknown[] }).items;

test("an installation is drawn in one apply with its delegate, makes no token, and the next plan is empty", () =>
  world(async (h) => {
    const formats = ["kubernetes", "helm-values", "docker", "ecs", "shell", "powershell"];
    await h.apply(`
resource "outpost_organization" "o" { id = "inst" }
resource "outpost_delegate" "d" {
  id = "d"
  org = outpost_organization.o.id
  tags = ["x"]
}
resource "outpost_agent" "a" { id = "a" }
data "outpost_delegate_install" "all" {
  for_each = toset(${JSON.stringify(formats)})
  delegate = outpost_delegate.d.id
  org      = outpost_delegate.d.org
  uid      = outpost_delegate.d.uid
  format   = each.key
}
data "outpost_delegate_install" "own" {
  delegate        = outpost_delegate.d.id
  org             = outpost_delegate.d.org
  uid             = outpost_delegate.d.uid
  existing_secret = "mine"
  replicas        = 2
  permissions     = "namespace-admin"
}
data "outpost_agent_install" "a" {
  agent       = outpost_agent.a.id
  uid         = outpost_agent.a.uid
  https_proxy = "http://p:1"
}
output "all" { value = { for k, v in data.outpost_delegate_install.all : k => v.manifest } }
output "own" { value = data.outpost_delegate_install.own.manifest }
output "agent" { value = data.outpost_agent_install.a.helm_values }
`);
    const outputs = JSON.parse((await h.must("output", "-json")).stdout);
    const all: Record<string, string> = outputs.all.value;
    const [own, agent]: string[] = [outputs.own.value, outputs.agent.value];
    expect(Object.keys(all).sort()).toEqual([...formats].sort());
    expect(JSON.parse(all.ecs!)).toMatchObject({ family: "outpost-delegate-d" });
    expect(own).toMatch(/replicas: 2\n[\s\S]*name: "mine"/);
    expect(agent).toContain('httpsProxy: "http://p:1"');
    expect(JSON.stringify([all, own, agent])).not.toContain("ot1_");
    expect(await h.plan()).toEqual([]);
    expect([await tokens("delegates/d/tokens?org=inst"), await tokens("agents/a/tokens")].flat()).toEqual([]);
    await h.must("destroy", "-auto-approve");
  }));

test("what a format has no place for is shown at the attribute, and a delegate that is not there says how to wait for it", () =>
  world(async (h) => {
    const data = (more: string) => `data "outpost_delegate_install" "d" {\n delegate = "none"\n${more}\n}`;
    h.config(data(' format = "docker"\n permissions = "cluster-admin"'));
    expect(await h.fails("plan")).toMatch(
      /on main.tf line 4.*: permissions = "cluster-admin"|permissions[\s\S]*Kubernetes cluster/,
    );
    h.config(data(""));
    expect(await h.fails("plan")).toContain("outpost_delegate.NAME.uid");
    h.config(data(' format = "rpm"'));
    expect(await h.fails("plan")).toContain("helm-values");
  }));
