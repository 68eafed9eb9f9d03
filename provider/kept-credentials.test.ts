import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { audienceOf } from "../openapi/audience.ts";
import { fingerprintOf } from "../openapi/known-agents.ts";
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

test("a change that would send kept credentials elsewhere is refused in the plan, at its attribute, until they are given again", () =>
  world(async (h, service) => {
    const { publicKey, privateKey } = await generateSealKeys();
    service.intercept = (request) => {
      if (request.method === "GET" && request.url === "/v1/agents/prod")
        Object.assign(service.store.get("agents/-/-/prod")!.status, {
          sealKey: { id: "k1", publicKey },
          connected: true,
        });
      return false;
    };
    const agent = 'resource "outpost_agent" "a" { id = "prod" }\n';
    const cluster = (body: string, version = "1") => `${agent}resource "outpost_cluster" "c" {
  id                  = "away"
  agent               = outpost_agent.a.id
  server              = "https://k8s.example.com"
  credentials         = { bearer_token = "canary" }
  credentials_version = "${version}"
  ${body}
}
`;
    await h.apply(cluster('proxy_url = "http://proxy.example.com"'));
    for (const [body, at] of [
      ['proxy_url = "http://evil.example.com"', "proxy_url"],
      ['proxy_url = "http://proxy.example.com"\ninsecure = true', "insecure"],
      ['server_name = "evil.example.com"', "server_name"],
    ] as const) {
      h.config(cluster(body));
      const text = await h.fails("plan");
      expect(text).toContain("Credentials must be given again");
      expect(text).toContain("Change `credentials_version` too");
      expect(text).toMatch(new RegExp(`on main.tf line \\d+.*: ${at} `));
    }
    // Fewer receivers need nothing.
    expect((await h.plan(cluster(""))).map((c) => c.change.actions)).toEqual([["update"]]);
    await h.apply(cluster('server_name = "other.example.com"', "2"));
    const sealed = service.bodies.flatMap(
      (b) => (b as { spec: { sealedCredentials?: SealedEnvelope } }).spec.sealedCredentials ?? [],
    );
    expect(sealed.length).toBe(2);
    const context = { account: "main", collection: "clusters" as const, id: "away" };
    expect(await open(privateKey, context, sealed[1]!)).toEqual({ bearerToken: "canary" });
    const spec = { server: "https://k8s.example.com", serverName: "other.example.com" };
    expect(sealed[1]!.audience).toEqual(audienceOf("clusters", spec));
  }));

test("credentials are sealed to no other key of an agent than before, until its fingerprint is accepted", async () => {
  const folder = mkdtempSync(join(tmpdir(), "outpost-known-"));
  process.env.OUTPOST_KNOWN_AGENTS = join(folder, "agents.json");
  try {
    await world(async (h, service) => {
      const [first, second] = [await generateSealKeys(), await generateSealKeys()];
      let offered = first.publicKey;
      service.intercept = (request) => {
        if (request.method === "GET" && request.url === "/v1/agents/prod")
          Object.assign(service.store.get("agents/-/-/prod")!.status, {
            sealKey: { id: "k1", publicKey: offered },
            connected: true,
          });
        return false;
      };
      const cluster = (version: string) => `resource "outpost_agent" "a" { id = "prod" }
resource "outpost_cluster" "c" {
  id                  = "away"
  agent               = outpost_agent.a.id
  server              = "https://k8s.example.com"
  credentials         = { bearer_token = "canary" }
  credentials_version = "${version}"
}
`;
      await h.apply(cluster("1"));
      offered = second.publicKey;
      h.config(cluster("2"));
      const text = await h.fails("apply", "-auto-approve");
      expect(text).toContain("The credentials are not sealed: the service offers another key for agent prod");
      expect(text.replaceAll(" ", "")).toContain(`OUTPOST_ACCEPT_AGENT_KEY=${fingerprintOf(second.publicKey)}`);
      const sealed = () =>
        service.bodies.filter((b) => (b as { spec: { sealedCredentials?: unknown } }).spec.sealedCredentials).length;
      expect(sealed()).toBe(1);
      process.env.OUTPOST_ACCEPT_AGENT_KEY = fingerprintOf(second.publicKey);
      await h.apply(cluster("2"));
      expect(sealed()).toBe(2);
    });
  } finally {
    delete process.env.OUTPOST_KNOWN_AGENTS;
    delete process.env.OUTPOST_ACCEPT_AGENT_KEY;
    rmSync(folder, { recursive: true, force: true });
  }
});
