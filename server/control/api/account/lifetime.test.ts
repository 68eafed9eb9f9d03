import { startService, type TestService } from "../../testing/service.ts";

let s: TestService;
let key: string;
let ends: string;
beforeAll(async () => {
  s = await startService();
  for (const [noun, spec] of [
    ["agents", {}],
    ["delegates", {}],
  ] as const)
    expect((await s.ask("PUT", `/v1/${noun}/w`, { body: { spec } })).status).toBe(201);
  const made = (await s.ask("POST", "/v1/apikeys", { body: { id: "ends", role: "admin", expiresIn: "1h" } })).body;
  [key, ends] = [made.key, made.expiresAt];
}, 60_000);
afterAll(() => s?.stop());

/** Each operation that makes a credential for somebody who asks with a key. What it makes is in its answer, or is the newest token. */
const MAKERS: [name: string, path: () => Promise<string>, body: object, takesLifetime: boolean][] = [
  ["createApiKey", async () => "/v1/apikeys", { role: "viewer" }, true],
  ["createAgentToken", async () => "/v1/agents/w/tokens", {}, true],
  ["createDelegateToken", async () => "/v1/delegates/w/tokens", {}, true],
  [
    "rotateDelegateToken",
    async () =>
      `/v1/delegates/w/tokens/${(await s.ask("POST", "/v1/delegates/w/tokens", { body: {} })).body.id}/rotate`,
    {},
    true,
  ],
  ["renderAgentManifest", async () => "/v1/agents/w/manifest", { endpoint: "https://o.example" }, false],
  ["renderAgentValues", async () => "/v1/agents/w/values", { endpoint: "https://o.example" }, false],
  ["renderDelegateManifest", async () => "/v1/delegates/w/manifest", { endpoint: "https://o.example" }, false],
];
let count = 0;

test.each(MAKERS)("%s: a key that ends makes nothing that outlives it", async (name, path, body, takesLifetime) => {
  const id = name === "createApiKey" ? { id: `made-${++count}` } : {};
  const ask = async (more: object, by?: string) =>
    s.ask("POST", await path(), { body: { ...body, ...id, ...more }, ...(by ? { key: by } : {}) });
  if (takesLifetime)
    expect(await ask({ expiresIn: "61m" }, key)).toMatchObject({
      status: 422,
      body: { code: "invalid_field", pointer: "/expiresIn", detail: expect.stringContaining(ends) },
    });
  const made = await ask({}, key);
  expect(made.status).toBeLessThan(300);
  const tokens = async (): Promise<{ id: string; expiresAt: string }[]> =>
    (await Promise.all(["agents", "delegates"].map((noun) => s.ask("GET", `/v1/${noun}/w/tokens`)))).flatMap(
      (answer) => answer.body.items,
    );
  const found = made.body?.expiresAt ?? (await tokens()).find((token) => made.text.includes(token.id))!.expiresAt;
  expect(found).toBe(ends);
  // A key without an end makes what it is asked for.
  if (takesLifetime) {
    const longer = await s.ask("POST", await path(), {
      body: { ...body, ...(name === "createApiKey" ? { id: `made-${++count}` } : {}), expiresIn: "400d" },
    });
    expect([longer.status, Date.parse(longer.body.expiresAt) > Date.parse(ends)]).toEqual([201, true]);
  }
});
