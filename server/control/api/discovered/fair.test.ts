import { agentsOf } from "../../testing/agents.ts";
import { app } from "../../testing/discovered.ts";
import { startService, type TestService } from "../../testing/service.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());
const { put, agent } = agentsOf(() => s);

test("people write while an agent reports hundreds of objects: several writes end before that report does", async () => {
  const worker = await agent("many");
  let reported = false;
  const report = worker
    .exchange({ discovered: Array.from({ length: 500 }, (_, i) => app(`found-${i}`)) })
    .finally(() => {
      reported = true;
    });
  let writes = 0;
  while (!reported) {
    expect((await put(`/v1/organizations/o${writes}`, {})).status).toBeLessThan(300);
    writes++;
  }
  await report;
  expect(writes).toBeGreaterThanOrEqual(5);
}, 60_000);
