import { agentsOf } from "../../testing/agents.ts";
import { startService, type TestService } from "../../testing/service.ts";

/** Secrets and addresses of webhooks are rotated. With two replicas and another key of the service: `../servicekey.test.ts`. */
let s: TestService;
const { put } = agentsOf(() => s);
const URL_ = "https://git.example/team/shop.git";
beforeAll(async () => {
  s = await startService();
  await put("/v1/organizations/o", {});
}, 120_000);
afterAll(() => s?.stop());

const hook = async (id: string, spec: object = {}, query = "") => {
  const made = await put(`/v1/webhooks/${id}${query}`, { provider: "generic", ...spec });
  if (made.status >= 300) throw new Error(made.text);
  return secretOf(id, query);
};
const tell = (path: string, secret: string, payload: object) =>
  s.ask("POST", path, { key: undefined, body: payload, headers: { authorization: `Bearer ${secret}` } });

/** The status codes of calls that are signed with the secrets of these webhooks. */
const statuses = (path: string, ...signers: { secret: string }[]) =>
  Promise.all(signers.map(async ({ secret }) => (await tell(path, secret, { url: URL_ })).status));
const rotate = (id: string, body: object = {}, more: object = {}) =>
  s.ask("POST", `/v1/webhooks/${id}/secret/rotate`, { body, ...more });
const secretOf = async (id: string, query = "") => {
  const { body } = await s.ask("GET", `/v1/webhooks/${id}/secret${query}`);
  return { path: new URL(body.url).pathname, secret: body.secret as string };
};
/** Moves the end of the overlap into the past, by the store's clock. */
const endOverlap = (id: string) =>
  s.db.query(
    "update objects set status = status || jsonb_build_object('previousSecretUntil', (now() - interval '1 second')::text) where id = $1",
    [id],
  );

test("a change of secretVersion keeps the old secret valid for an hour, and no older one; no version brings an old secret back", async () => {
  const first = await hook("rotated");
  const second = await hook("rotated", { secretVersion: 4 });
  const third = await hook("rotated", { secretVersion: 9 });
  const again = await hook("rotated", { secretVersion: 1 });
  const all = [first, second, third, again];
  expect(new Set(all.map(({ secret }) => secret)).size).toBe(4);
  expect(new Set(all.map(({ path }) => path)).size).toBe(1);
  expect(await statuses(first.path, ...all)).toEqual([401, 401, 202, 202]);
  const { status } = (await s.ask("GET", "/v1/webhooks/rotated")).body;
  expect(status).toMatchObject({ previousSecretVersion: 9, secretRotation: 3 });
  expect(Date.parse(status.previousSecretUntil) - Date.parse(status.secretChangedAt)).toBe(3_600_000);
  await endOverlap("rotated");
  expect(await statuses(first.path, ...all)).toEqual([401, 401, 401, 202]);
});

test("a rotation makes a new secret; the old one stays valid for the overlap, a day by default, and then only the new one is", async () => {
  const first = await hook("by-hand");
  const made = await rotate("by-hand");
  expect([made.status, made.text.includes(first.secret)]).toEqual([200, false]);
  const { status, spec } = made.body;
  expect([status.url, spec.secretVersion]).toEqual([`${s.url}${first.path}`, 1]);
  expect(Date.parse(status.previousSecretUntil) - Date.parse(status.secretChangedAt)).toBe(86_400_000);
  const second = await secretOf("by-hand");
  expect(await statuses(first.path, first, second)).toEqual([202, 202]);
  await endOverlap("by-hand");
  expect(await statuses(first.path, first, second)).toEqual([401, 202]);
  const { body } = await s.ask("GET", "/v1/audit?limit=20");
  expect(body.items.find((line: { operation: string }) => line.operation === "rotateWebhookSecret")).toMatchObject({
    target: "-/-/by-hand",
    outcome: "accepted",
  });
});

test("without an overlap the old secret ends at once, and a retry with the same Idempotency-Key rotates once", async () => {
  const first = await hook("at-once");
  const headers = { "idempotency-key": "rotate-once" };
  const made = await rotate("at-once", { overlap: "0s" }, { headers });
  const second = await secretOf("at-once");
  expect((await rotate("at-once", { overlap: "0s" }, { headers })).body).toEqual(made.body);
  expect(made.body.status.previousSecretUntil).toBeUndefined();
  expect(await secretOf("at-once")).toEqual(second);
  expect(await statuses(first.path, first, second)).toEqual([401, 202]);
  // An overlap that was long is cut short by the next rotation.
  await rotate("at-once", { overlap: "168h" });
  await rotate("at-once", { overlap: "0s" });
  expect(await statuses(first.path, second, await secretOf("at-once"))).toEqual([401, 202]);
});

test.each([
  ["169h", 422],
  ["604800001ms", 422],
  ["999999999h", 422],
  ["-1h", 400],
  ["7", 400],
  ["", 400],
])("an overlap of %j is refused and rotates nothing", async (overlap, want) => {
  const before = await hook("refused-overlap");
  const answer = await rotate("refused-overlap", { overlap });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([want, "application/problem+json"]);
  expect(answer.text).toContain("/overlap");
  expect((await secretOf("refused-overlap")).secret).toBe(before.secret);
});

test("a rotation of a webhook that does not exist is not found, and of another organisation's too", async () => {
  await hook("in-o", {}, "?org=o");
  for (const id of ["absent", "in-o"]) expect((await rotate(id)).status).toBe(404);
});
