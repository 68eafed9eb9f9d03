import { BAD } from "../../../openapi/rules/testing/bad.ts";
import { BASES } from "../../../openapi/rules/testing/bases.ts";
import { GOOD } from "../../../openapi/rules/testing/good.ts";
import { agentsOf } from "../testing/agents.ts";
import { startService, type TestService } from "../testing/service.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
  await agentsOf(() => s).put("/v1/agents/forms", {});
}, 60_000);
afterAll(() => s?.stop());

const put = (collection: string, spec: object) => s.ask("PUT", `/v1/${collection}/form`, { body: { spec } });

test.each(BAD.map((one) => [one.name, one] as const))(
  "the API refuses %s at its place and says what to do",
  async (_, bad) => {
    const answer = await put(bad.collection, { ...BASES[bad.collection], ...bad.spec });
    expect(answer).toMatchObject({
      status: 422,
      body: { code: "invalid_field", pointer: `/spec${bad.pointer}`, detail: expect.stringMatching(bad.detail) },
    });
    expect(answer.body.errors).toHaveLength(1);
  },
);

test.each(
  GOOD.map(
    ([collection, spec], i) => [`${collection} ${i}: ${JSON.stringify(spec).slice(0, 80)}`, collection, spec] as const,
  ),
)("the API takes %s", async (_, collection, spec) => {
  const answer = await put(collection, { ...BASES[collection], ...spec });
  expect({ status: answer.status < 300, errors: answer.body.errors }).toEqual({ status: true, errors: undefined });
});

test("there are enough of both to believe it", () => {
  expect(BAD.length).toBeGreaterThanOrEqual(60);
  expect(GOOD.length).toBeGreaterThanOrEqual(60);
});
