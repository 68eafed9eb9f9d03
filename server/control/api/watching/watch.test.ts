import { within } from "../../../../test/within.ts";
import { eventually, startService, type TestService } from "../../testing/service.ts";
import { Watcher as AnyWatcher, type Seen } from "../../testing/watcher.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());

type Options = ConstructorParameters<typeof AnyWatcher>[2];
class Watcher extends AnyWatcher {
  constructor(path: string, options: Options = {}) {
    super(s, path, options);
  }
}

const put = (path: string, spec: object) => s.ask("PUT", path, { body: { spec } });
const organisation = async (id: string) => void (await put(`/v1/organizations/${id}`, {}));

test("what there is, a bookmark, then each change in order", async () => {
  await organisation("w1");
  await put("/v1/agents/a?org=w1", {});
  const w = new Watcher("/v1/watch/agents?org=w1");
  await eventually("the bookmark", async () => w.seen.some((e) => e.event === "bookmark"));
  expect(w.seen.map((e) => e.event)).toEqual(["put", "bookmark"]);
  await put("/v1/agents/b?org=w1", {});
  await put("/v1/agents/elsewhere", {});
  await put("/v1/delegates/b?org=w1", {});
  await s.ask("DELETE", "/v1/agents/a?org=w1");
  await eventually("two changes", async () => w.seen.length >= 4);
  expect(w.seen.slice(2).map((e) => [e.event, e.data.id, e.data.org])).toEqual([
    ["put", "b", "w1"],
    ["delete", "a", "w1"],
  ]);
  await w.cut();
});

test("a watch of one object shows only that one; `inherited` shows the scopes below", async () => {
  await organisation("w2");
  await put("/v1/agents/x?org=w2", {});
  await put("/v1/agents/y?org=w2", {});
  const one = new Watcher("/v1/watch/agents?org=w2&id=x", { limit: 2 });
  await one.ended;
  expect(one.seen.map((e) => [e.event, e.data.id])).toEqual([
    ["put", "x"],
    ["bookmark", undefined],
  ]);
  const all = new Watcher("/v1/watch/agents?inherited=true");
  await eventually("the bookmark", async () => all.seen.some((e) => e.event === "bookmark"));
  expect(all.seen.map((e) => e.data.id)).toEqual(expect.arrayContaining(["x", "y"]));
  await all.cut();
});

test("cut at any place and resumed, a watcher sees every change once and in order", async () => {
  await organisation("w3");
  const count = 60;
  const writers = (async () => {
    for (let i = 0; i < count; i++) await put(`/v1/agents/n${i % 7}?org=w3`, { description: String(i) });
  })();
  const first = new Watcher("/v1/watch/agents?org=w3");
  await eventually("a bookmark", async () => first.seen.some((e) => e.event === "bookmark"));
  await first.cut();
  const from = first.last;
  const state = new Map(first.seen.filter((e) => e.event === "put").map((e) => [e.data.id, e.data]));
  const versions: number[] = [];
  let since = from;
  const ends = Date.now() + 120_000;
  for (let cuts = 0; Date.now() < ends; cuts++) {
    const w = new Watcher("/v1/watch/agents?org=w3", { since, limit: 1 + (cuts % 5) });
    await Promise.race([w.ended, new Promise((resolve) => setTimeout(resolve, 3_000))]);
    await w.cut();
    for (const e of w.seen) {
      if (e.event === "put") {
        versions.push(Number(e.id));
        expect(e.data.version).toBe(e.id);
        state.set(e.data.id, e.data);
      }
      since = e.id;
    }
    if ([...state.values()].some((o) => o.spec.description === String(count - 1))) break;
  }
  await writers;
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  const log = await s.db.query("select version from events where org = 'w3' and version > $1 order by version", [
    Number(from),
  ]);
  expect(versions).toEqual(log.map((r) => Number(r.version)));
  const now = (await s.ask("GET", "/v1/agents?org=w3")).body.items;
  expect([...state.values()].sort((a, b) => a.id.localeCompare(b.id))).toEqual(now);
}, 60_000);

test.each([
  [
    "too old",
    async () => {
      await s.db.query("update accounts set trimmed = greatest(trimmed, 2)");
      return "1";
    },
    410,
    "watch_expired",
  ],
  ["from the future", async () => "999999999", 410, "watch_expired"],
  ["larger than any number", async () => "9999999999999999999", 400, "invalid_request"],
])("a version to resume from that is %s is refused", async (_, since, status, code) => {
  const w = new Watcher("/v1/watch/agents", { since: await since() });
  await w.ended;
  expect(w.status).toBe(status);
  expect(JSON.parse(w.text).code).toBe(code);
});

test("an open watch ends within 5 s when its key is revoked", async () => {
  await organisation("w4");
  const { key } = (await s.ask("POST", "/v1/apikeys?org=w4", { body: { id: "k", role: "viewer" } })).body;
  const w = new Watcher("/v1/watch/agents?org=w4", { key });
  await eventually("the watch is open", async () => w.seen.length > 0);
  await s.ask("DELETE", "/v1/apikeys/k?org=w4");
  const started = Date.now();
  await w.ended;
  expect(Date.now() - started).toBeLessThan(within(5_000));
});

test("a watch ends by itself at its time", async () => {
  const started = Date.now();
  await new Watcher("/v1/watch/agents?timeoutSeconds=1").ended;
  expect(Date.now() - started).toBeLessThan(within(4_000));
});

test("a watch shows an object as get and list do, from the first and after a change: a webhook with its address", async () => {
  await organisation("w9");
  const spec = { "/v1/webhooks/hook": { provider: "generic" }, "/v1/agents/agent": {}, "/v1/delegates/delegate": {} };
  for (const [path, given] of Object.entries(spec)) {
    const collection = path.split("/")[2]!;
    await put(`${path}?org=w9`, given);
    const alike = async (seen: Seen) => {
      const got = (await s.ask("GET", `${path}?org=w9`)).body;
      const listed = (await s.ask("GET", `/v1/${collection}?org=w9`)).body.items[0];
      expect(listed).toEqual(got);
      expect(seen.data).toEqual(got);
    };
    const w = new Watcher(`/v1/watch/${collection}?org=w9`, { limit: 3 });
    await eventually("the watch is open", async () => w.seen.length >= 2);
    await alike(w.seen[0]!);
    await put(
      `${path}?org=w9`,
      collection === "webhooks" ? { provider: "generic", secretVersion: 2 } : { description: "another" },
    );
    await eventually("the change is told", async () => w.seen.length >= 3);
    await alike(w.seen[2]!);
    if (collection === "webhooks") expect(w.seen.map(({ data }) => data.status?.url).filter(Boolean)).toHaveLength(2);
    await w.ended;
  }
});
