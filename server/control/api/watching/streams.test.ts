import { isDeepStrictEqual } from "node:util";
import { writing } from "../../store/database/writer.ts";
import { insertObject, removeObject, tryFindObject, updateObject } from "../../store/objects/objects.ts";
import { eventually, startService, type TestService } from "../../testing/service.ts";
import { Watcher } from "../../testing/watcher.ts";
import { tailOf } from "./tail.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());

const get = (path: string) => s.ask("GET", path);
const scope = (org: string) => ({ account: "default", org, project: "" });
const marked = (w: Watcher) => eventually("a bookmark", async () => w.seen.some((e) => e.event === "bookmark"));

async function organisation(id: string): Promise<void> {
  await s.ask("PUT", `/v1/organizations/${id}`, { body: { spec: {} } });
}

const HEALTH = ["Healthy", "Degraded", "Progressing"];

/** Changes, makes or deletes one application, as a random number says. */
async function change(org: string, number: number): Promise<void> {
  const id = `x${number % 9}`;
  await writing(s.db, "default", async (w) => {
    const found = await tryFindObject(w, "applications", scope(org), id);
    const status = { health: { status: HEALTH[Math.floor(number / 9) % 3] } };
    const spec = {
      agent: number % 2 ? "a" : "b",
      destination: {},
      labels: { team: String(Math.floor(number / 27) % 2) },
    };
    if (!found) await insertObject(w, { ...scope(org), collection: "applications", id, spec, status });
    else if (number % 5 === 0) await removeObject(w, found);
    else await updateObject(w, { ...found, spec, status });
  });
}

/** What a client that follows a stream holds. */
function held(seen: Watcher["seen"], state = new Map<string, any>()): Map<string, any> {
  for (const { event, data } of seen) {
    if (event === "put") state.set(data.id, data);
    if (event === "delete") state.delete(data.id);
  }
  return state;
}

test("clients that follow filters, cut and resumed, hold what a list with the same filter and view shows", async () => {
  await organisation("w1");
  const followers = [
    "health=Healthy",
    "health!=Healthy",
    "agent=a,labels.team=1",
    "health in (Degraded,Progressing)",
    "id~x1",
    "owner exists",
    "labels.team missing",
  ].flatMap((filter) =>
    ["full", "summary"].map((view) => ({ filter, view, state: new Map<string, any>(), last: "0" })),
  );
  let random = 7;
  for (let round = 0; round < 4; round++) {
    const watchers = followers.map((f) => ({
      f,
      w: new Watcher(
        s,
        `/v1/watch/applications?org=w1&filter=${encodeURIComponent(f.filter)}&view=${f.view}`,
        f.last === "0" ? {} : { since: f.last },
      ),
    }));
    if (round === 0) await Promise.all(watchers.map(({ w }) => marked(w)));
    for (let i = 0; i < 25; i++) {
      random = (random * 48_271) % 2_147_483_647;
      await change("w1", random);
    }
    for (const { f, w } of watchers) {
      const shown = async () => {
        const { items } = (await get(`/v1/applications?org=w1&filter=${encodeURIComponent(f.filter)}&view=${f.view}`))
          .body;
        const state = held(w.seen, new Map(f.state));
        return isDeepStrictEqual(
          [...state.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
          items,
        );
      };
      await eventually(`${f.filter} (${f.view}) in round ${round}`, shown);
      await w.cut();
      f.state = held(w.seen, f.state);
      f.last = w.seen.at(-1)?.id ?? f.last;
    }
  }
}, 120_000);

test("a filtered stream tells nothing of objects that did not fit before and do not now", async () => {
  await organisation("w2");
  const w = new Watcher(s, "/v1/watch/applications?org=w2&filter=health=Healthy");
  await marked(w);
  const put = (health: string) =>
    writing(s.db, "default", async (writer) => {
      const found = await tryFindObject(writer, "applications", scope("w2"), "one");
      const status = { health: { status: health } };
      if (found) await updateObject(writer, { ...found, status });
      else
        await insertObject(writer, {
          ...scope("w2"),
          collection: "applications",
          id: "one",
          spec: { agent: "a", destination: {} },
          status,
        });
    });
  for (const health of ["Degraded", "Progressing", "Healthy", "Healthy", "Degraded", "Progressing", "Healthy"])
    await put(health);
  await eventually("all changes", async () => w.seen.length >= 5);
  await w.cut();
  expect(w.seen.slice(1).map(({ event }) => event)).toEqual(["put", "put", "delete", "put"]);
});

test("one stream follows several collections, each event with its collection, and resumes", async () => {
  await organisation("w3");
  await s.ask("PUT", "/v1/agents/a?org=w3", { body: { spec: {} } });
  const path = "/v1/watch?collections=agents,webhooks,applications&org=w3&view=summary";
  const w = new Watcher(s, path);
  await marked(w);
  await s.ask("PUT", "/v1/webhooks/h?org=w3", { body: { spec: { provider: "generic" } } });
  await s.ask("DELETE", "/v1/agents/a?org=w3");
  await s.ask("PUT", "/v1/delegates/d?org=w3", { body: { spec: {} } });
  await eventually("both changes", async () => w.seen.length >= 4);
  await w.cut();
  expect(w.seen.map(({ event, data }) => [event, data.collection, data.object?.id ?? data.id])).toEqual([
    ["put", "agents", "a"],
    ["bookmark", undefined, undefined],
    ["put", "webhooks", "h"],
    ["delete", "agents", "a"],
  ]);
  const again = new Watcher(s, path, { since: w.seen[1]!.id, limit: 2 });
  await again.ended;
  expect(again.seen).toEqual(w.seen.slice(2));
  const whole = new Watcher(s, "/v1/watch?collections=webhooks&org=w3", { limit: 1 });
  await whole.ended;
  expect(whole.seen[0]!.data.object).toEqual((await get("/v1/webhooks/h?org=w3")).body);
});

test.each([
  ["collections=agents,nothing"],
  ["collections=agents&filter=spec.name=x"],
  ["collections=agents&filter=annotations.x=y"],
  ["collections=agents&filter=nonsense"],
])("`%s` is refused", async (query) => {
  expect((await get(`/v1/watch?${query}&timeoutSeconds=1`)).body.code).toBe("invalid_request");
});

test("many watchers cost the store one read a write, and a tail ends with its last watcher", async () => {
  await organisation("w4");
  let reads = 0;
  const query = s.db.query.bind(s.db);
  s.db.query = ((text: string, params?: unknown[]) => {
    if (text.includes("from events where")) reads++;
    return query(text, params);
  }) as typeof s.db.query;
  const watchers = Array.from({ length: 60 }, (_, n) => new Watcher(s, `/v1/watch/applications?org=w4&id=x${n % 9}`));
  await Promise.all(watchers.map(marked));
  const tail = tailOf(s.db, "default");
  await eventually("all have caught up", async () => {
    const before = reads;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return reads === before;
  });
  reads = 0;
  for (let n = 0; n < 18; n++) await change("w4", n % 9 === 0 ? 9 : (n % 9) * 2 + 1);
  await eventually(
    "the last change",
    async () => tail.position >= Number((await get("/v1/organizations/w4")).body.version) + 18,
  );
  // A read may find two changes, and one is made after the last of them to see that there are no more.
  expect(reads).toBeLessThanOrEqual(2 * 18);
  await Promise.all(watchers.map((w) => w.cut()));
  await eventually("another tail", async () => {
    const now = tailOf(s.db, "default");
    now.subscribe({ key: "none", collections: new Set(), scope: scope("w4"), inherited: false, filter: [] }).close();
    return now !== tail;
  });
  s.db.query = query;
});
