import { rmSync } from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import document from "../openapi/contract/openapi.json" with { type: "json" };
import type { Schemas } from "./generate/attribute.ts";
import { createOutpost } from "./outpost.ts";
import { createHarness } from "./testing/harness.ts";
import { BASES } from "./testing/matrix/bases.ts";
import { Fullest } from "./testing/matrix/fullest.ts";
import { putNeighbours } from "./testing/matrix/matrix.ts";
import { loadNouns } from "./testing/matrix/nouns.ts";
import { type RealService, startRealService } from "./testing/real.ts";

jest.setTimeout(900_000);

let service: RealService;
beforeAll(async () => {
  service = await startRealService();
  await putNeighbours(service);
});
afterAll(() => service?.stop());

const nouns = (await loadNouns()).map((noun) => [noun.name, noun] as const);
test.each(nouns)(
  "%s: of objects with a value for every attribute, the generated configuration plans empty",
  async (name, noun) => {
    const h = await createHarness(
      createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: service.key }),
      {},
      "outpost",
    );
    const base = BASES[name]!;
    const org = noun.scopes.includes("account") ? "" : "team";
    try {
      const fullest = new Fullest(service, document.components.schemas as unknown as Schemas);
      const { ids, left } = await fullest.put(
        `${name}Spec`,
        base,
        (id) => `/v1/${noun.collection}/${id}${org && `?org=${org}`}`,
      );
      expect(left.filter((field) => !base.fixed?.[field])).toEqual([]);
      h.config(ids.map((id) => `import {\n  to = ${noun.type}.${id}\n  id = "${org && `${org}/`}${id}"\n}\n`).join(""));
      await h.must("plan", "-generate-config-out=generated.tf", "-input=false", "-no-color");
      expect((await h.plan()).map((c) => [c.address, c.change.actions.join()])).toEqual([]);
      await h.apply();
      expect((await h.run("plan", "-detailed-exitcode", "-input=false")).code).toBe(0);
    } finally {
      rmSync(join(h.folder, "generated.tf"), { force: true });
      await h.close();
    }
  },
);
