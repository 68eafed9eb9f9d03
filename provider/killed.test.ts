import { rmSync } from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { createOutpost } from "./outpost.ts";
import { type Gate, openGate } from "./testing/gate.ts";
import { createHarness, type Harness } from "./testing/harness.ts";
import { enrolAgent } from "./testing/matrix/enrol.ts";
import { type RealService, startRealService } from "./testing/real.ts";

jest.setTimeout(400_000);

let service: RealService;
beforeAll(async () => {
  service = await startRealService();
});
afterAll(() => service?.stop());

async function world<T>(use: (h: Harness, gate: Gate) => Promise<T>, env: Record<string, string> = {}): Promise<T> {
  const gate = await openGate(service.endpoint);
  const h = await createHarness(
    createOutpost({ OUTPOST_ENDPOINT: gate.endpoint, OUTPOST_API_KEY: service.key, ...env }),
    {},
    "outpost",
  );
  try {
    return await use(h, gate);
  } finally {
    await h.close();
    gate.close();
  }
}

const agents = (more = "") => `
resource "outpost_agent" "a" {
  count = 3
  id    = "left-\${count.index}"
  tags  = ["b", "a"]
  ${more}
}
`;
const uids = async () =>
  Promise.all(
    [0, 1, 2].map(async (i) => (await service.ask("GET", `/v1/agents/left-${i}`)).body.uid as string | undefined),
  );

/** Kills Terraform when the service has made the objects and before anybody hears of them. */
async function killed(h: Harness, gate: Gate, made: string): Promise<void> {
  const run = h.start("apply", "-auto-approve", "-no-color");
  gate.holdAt = ({ method, url }) => method === "PUT" && url?.includes(made) === true;
  while ((await uids()).some((uid) => uid === undefined)) await new Promise((next) => setTimeout(next, 20));
  run.interrupt("SIGKILL");
  await run.result;
  gate.holdAt = undefined;
  gate.release();
  rmSync(join(h.folder, ".terraform.tfstate.lock.info"), { force: true });
}

test("what a killed apply left is named with its import block, and OUTPOST_RECOVER takes it all over in one apply", async () => {
  await world(async (h, gate) => {
    h.config(agents());
    await killed(h, gate, "/agents/left-");
    const said = await h.fails("apply", "-auto-approve");
    for (const i of [0, 1, 2]) {
      expect(said).toContain(
        `The agent left-${i} exists already and is exactly what this configuration asks for. It was created at 20`,
      );
      expect(said).toContain(`import { to = outpost_agent.NAME id = "left-${i}" }`);
    }
    expect(said).toContain("`OUTPOST_RECOVER=true terraform apply`");
  });
  const before = await uids();
  await world(
    async (h) => {
      await h.apply(agents());
      expect(await h.plan()).toEqual([]);
      expect(await uids()).toEqual(before);
      await h.must("destroy", "-auto-approve");
      expect(await uids()).toEqual([undefined, undefined, undefined]);
    },
    { OUTPOST_RECOVER: "true" },
  );
});

test("OUTPOST_RECOVER takes nothing over that differs in any attribute, and the message names them", () =>
  world(
    async (h) => {
      await service.ask("PUT", "/v1/agents/other", { spec: { tags: ["a"], description: "of somebody else" } });
      h.config('resource "outpost_agent" "a" {\n id = "other"\n tags = ["a"]\n}');
      const said = await h.fails("apply", "-auto-approve");
      expect(said).toContain("is not what this configuration asks for: `description` differs.");
      expect(said).not.toContain("OUTPOST_RECOVER");
      h.config('resource "outpost_agent" "a" {\n id = "other"\n description = "mine"\n mode = "namespaced"\n}');
      expect(await h.fails("apply", "-auto-approve")).toContain("asks for: `description`, `tags`, `mode` differ.");
      expect((await service.ask("GET", "/v1/agents/other")).body).toMatchObject({ generation: 1 });
    },
    { OUTPOST_RECOVER: "true" },
  ));

test("OUTPOST_RECOVER sends credentials again, and create_before_destroy deletes nothing of what it has taken over", () =>
  world(
    async (h) => {
      process.env.OUTPOST_KNOWN_AGENTS = join(h.folder, "known-agents.json");
      await service.ask("PUT", "/v1/agents/sealed", { spec: {} });
      await enrolAgent(service, "sealed");
      const hcl = `
resource "outpost_repository" "r" {
  id                  = "sealed"
  agent               = "sealed"
  url                 = "https://git.example.com/a.git"
  wait                = false
  credentials         = { password = "canary" }
  credentials_version = "1"
  lifecycle { create_before_destroy = true }
}
`;
      await h.apply(hcl);
      const one = (await service.ask("GET", "/v1/repositories/sealed")).body;
      await h.must("state", "rm", "outpost_repository.r");
      await h.apply(hcl);
      const two = (await service.ask("GET", "/v1/repositories/sealed")).body;
      expect(two).toMatchObject({ uid: one.uid });
      expect(two.version).not.toBe(one.version);
      await h.must("apply", "-auto-approve", "-replace=outpost_repository.r");
      expect((await service.ask("GET", "/v1/repositories/sealed")).body).toMatchObject({ uid: one.uid });
      expect(await h.plan()).toEqual([]);
      await h.must("destroy", "-auto-approve");
      delete process.env.OUTPOST_KNOWN_AGENTS;
    },
    { OUTPOST_RECOVER: "true" },
  ));
