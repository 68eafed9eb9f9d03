import { rmSync } from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { createOutpost } from "./outpost.ts";
import { createHarness } from "./testing/harness.ts";
import { BASES } from "./testing/matrix/bases.ts";
import { putNeighbours } from "./testing/matrix/matrix.ts";
import { loadNouns } from "./testing/matrix/nouns.ts";
import { type RealService, startRealService } from "./testing/real.ts";

jest.setTimeout(600_000);

let service: RealService;
beforeAll(async () => {
  service = await startRealService();
});
afterAll(() => service?.stop());

/** What generated configurations got wrong: a default beside what it excludes, empty values that count, falsy ones, exact numbers. */
const MORE: Readonly<Record<string, object>> = {
  Application: {
    appProject: "shop",
    syncPolicy: { automated: {}, retry: {}, syncOptions: [] },
    source: {
      repoUrl: "https://git.example.com/a.git",
      path: "x",
      helm: { valuesObject: { n: [1e21, 0.1, 0], e: {}, f: false } },
    },
    info: [],
  },
  AppProject: { orphanedResources: {}, namespaceResourceWhitelist: [], sourceRepos: [] },
  Cluster: { insecure: true, namespaces: [] },
  Delegate: { paused: true, tags: [] },
  Repository: { insecure: true },
  Webhook: { enabled: false },
};
test("every resource: generated configuration plans empty, and a refresh that finds nothing new says so", async () => {
  await putNeighbours(service);
  const h = await createHarness(
    createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: service.key }),
    {},
    "outpost",
  );
  try {
    const imports: string[] = [];
    for (const { name, type, collection, scopes } of await loadNouns()) {
      const org = scopes.includes("account") ? "" : "team";
      const spec = { ...BASES[name]!.spec, ...MORE[name] };
      const { status, body } = await service.ask("PUT", `/v1/${collection}/subject${org && `?org=${org}`}`, { spec });
      expect([name, status, body.detail]).toEqual([name, 201, undefined]);
      imports.push(`import {\n  to = ${type}.one\n  id = "${org && `${org}/`}subject"\n}\n`);
    }
    h.config(imports.join(""));
    await h.must("plan", "-generate-config-out=generated.tf", "-input=false", "-no-color");
    const changes = (await h.plan()).map((c) => [c.address, c.change.actions.join()]);
    expect(changes).toEqual([]);
    await h.apply();
    expect((await h.run("plan", "-detailed-exitcode", "-input=false")).code).toBe(0);
    const refreshed = await h.run("plan", "-refresh-only", "-detailed-exitcode", "-input=false", "-no-color");
    expect([refreshed.code, refreshed.stderr]).toEqual([0, ""]);
  } finally {
    rmSync(join(h.folder, "generated.tf"), { force: true });
    await h.close();
  }
});
