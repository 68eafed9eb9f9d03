import { idsFor } from "../../domain/discover.ts";
import { agentsOf } from "../../testing/agents.ts";
import { app, HOME, listed, shownBy, spec } from "../../testing/discovered.ts";
import { eventually, startService, type TestService } from "../../testing/service.ts";
import type { TestWorker } from "../../testing/worker.ts";
import { fillUp } from "./again.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService({ env: { OUTPOST_DISCOVERED_MAX: "40" } });
}, 60_000);
afterAll(() => s?.stop());
const { put, agent } = agentsOf(() => s);
const { get, ids, eventsAfter } = shownBy(() => s);

describe("what an agent reports", () => {
  test("is listed, read, filtered and watched as an ordinary object, with its origin, owner and live object", async () => {
    const w = await agent("seen");
    await put("/v1/applications/made", { agent: "seen", ...spec });
    const { version } = (await get("/v1/applications/made")).body;
    await w.exchange({
      discovered: [
        app("one", { labels: { team: "a" }, annotations: { note: "b" } }),
        app("child", { owner: { kind: "applicationset", name: "set" } }),
        {
          collection: "applicationsets",
          namespace: HOME,
          name: "set",
          uid: "k-set",
          spec: { goTemplate: false, generators: [{ list: {} }], template: {} },
        },
      ],
    });
    const one = await get("/v1/applications/one");
    expect(one).toMatchObject({
      status: 200,
      body: {
        origin: "discovered",
        live: {
          namespace: HOME,
          name: "one",
          uid: "k-one",
          argoProject: "default",
          labels: { team: "a" },
          annotations: { note: "b" },
        },
        spec: { agent: "seen", ...spec, argoProject: "default" },
        status: { sync: { status: "Synced" }, health: { status: "Healthy" }, observedGeneration: 1 },
      },
    });
    expect((await get("/v1/applications/child")).body).toMatchObject({
      origin: "generated",
      owner: { kind: "applicationset", name: "set" },
    });
    expect((await get("/v1/applications/made")).body).toMatchObject({ origin: "managed" });
    expect(await ids("?filter=origin=discovered,spec.agent=seen")).toEqual(["one"]);
    expect(await ids("?filter=origin=generated,spec.agent=seen")).toEqual(["child"]);
    expect(await eventsAfter(version)).toContain('"origin":"discovered"');
    expect((await get("/v1/agents/seen")).body.status).toMatchObject({ discovered: 3 });

    const before = (await get("/v1/applications/one")).body;
    await w.exchange({ discovered: [app("one", { labels: { team: "a" }, annotations: { note: "b" } })] });
    expect((await get("/v1/applications/one")).body).toEqual(before);
    await w.exchange({ discovered: [app("one", { status: { sync: { status: "OutOfSync" } } })] });
    expect((await get("/v1/applications/one")).body).toMatchObject({
      generation: 1,
      uid: before.uid,
      status: { sync: { status: "OutOfSync" } },
    });
    await w.exchange({ discovered: [app("one", { spec: { ...spec, destination: { namespace: "b" } } })] });
    expect((await get("/v1/applications/one")).body).toMatchObject({
      generation: 2,
      spec: { destination: { namespace: "b" } },
    });
    expect((await get("/metrics")).text).toMatch(/outpost_discovered_objects\{origin="generated"\} [1-9]/);
  });

  test("that does not fit the contract is kept in part, with the names of what was left out", async () => {
    const w = await agent("part");
    const odd = { ...spec, source: { repoUrl: "file:///etc" }, nonsense: 1, credentials: { password: "x" } };
    await w.exchange({
      discovered: [
        app("odd", { spec: odd, inexpressible: ["spec.sources"], status: { sync: 1, health: { status: "Healthy" } } }),
      ],
    });
    const { status, body } = await get("/v1/applications/odd");
    expect(status).toBe(200);
    expect(body.spec).toEqual({
      agent: "part",
      argoProject: "default",
      destination: { namespace: "a" },
      revisionHistoryLimit: 10,
    });
    expect(body.inexpressible).toEqual(["spec.credentials", "spec.nonsense", "spec.source", "spec.sources"]);
    expect(body.status).toMatchObject({ health: { status: "Healthy" } });
    expect(body.status.sync).toBeUndefined();
    expect(
      await s.ask("PUT", "/v1/applications/odd?adopt=true", { body: { spec: { agent: "part", ...spec } } }),
    ).toMatchObject({
      status: 409,
      body: { code: "conflict", detail: expect.stringContaining("spec.source") },
    });
  });

  test("under equal names of two agents and of two namespaces gets ids of its own that stay", async () => {
    const [a, b] = [await agent("twin-a"), await agent("twin-b")];
    await a.exchange({ discovered: [app("twin"), app("twin", { namespace: "team", uid: "k-team" })] });
    await b.exchange({ discovered: [app("twin")] });
    const of = async (name: string) => await ids(`?filter=spec.agent=${name}`);
    const [first, second] = [await of("twin-a"), await of("twin-b")];
    expect(first).toEqual(["twin", expect.stringMatching(/^twin-[0-9a-f]{10}$/)]);
    expect(second).toEqual([expect.stringMatching(/^twin-[0-9a-f]{10}$/)]);
    await a.exchange({ discovered: [{ ...app("twin"), deleted: true }] });
    expect(await of("twin-a")).toEqual(first.slice(1));
    await b.exchange({ discovered: [app("twin", { labels: { x: "y" } })] });
    expect(await of("twin-b")).toEqual(second);
  });

  test("made again under its name is another object", async () => {
    const w = await agent("again");
    await w.exchange({ discovered: [app("phoenix")] });
    const { uid } = (await get("/v1/applications/phoenix")).body;
    await w.exchange({ discovered: [app("phoenix", { uid: "k-2" })] });
    const second = (await get("/v1/applications/phoenix")).body;
    expect(second.uid).not.toBe(uid);
    // A late word on the first one.
    await w.exchange({ discovered: [{ ...app("phoenix"), deleted: true }] });
    expect((await get("/v1/applications/phoenix")).body.uid).toBe(second.uid);
  });

  test("beyond the bound is not shown, and a condition of the agent says so until a full round has room", async () => {
    const w = await agent("many");
    const all = Array.from({ length: 45 }, (_, i) => app(`many-${i}`));
    await w.exchange({ discovered: all.map((one) => ({ ...one, round: 1 })), listed: [listed(1, 45)] });
    const condition = async () => (await get("/v1/agents/many")).body.status;
    expect(await condition()).toMatchObject({
      discovered: 40,
      conditions: [{ type: "DiscoveredLimit", status: "True", reason: "TooManyObjects" }],
    });
    await w.open();
    await w.exchange({
      discovered: all
        .slice(3)
        .map((one) => ({ ...one, round: 1 }))
        .slice(0, 40),
      listed: [listed(1, 40)],
    });
    // The first three went with the round; what was beyond the bound before them comes with the next report.
    expect((await condition()).conditions).toMatchObject([{ status: "True" }]);
    await w.open();
    await w.exchange({ discovered: all.slice(3, 43).map((one) => ({ ...one, round: 1 })), listed: [listed(1, 40)] });
    expect(await condition()).toMatchObject({ discovered: 40, conditions: [{ status: "False" }] });
  });
});

describe("an agent is asked to tell everything once more", () => {
  const asked = async (w: TestWorker) =>
    (await w.exchange({ free: 8 })).tasks.some(({ kind }) => kind === "discovered.tell");
  const soon = (w: TestWorker) => eventually("the question", () => asked(w));
  const fill = () => fillUp(s.db, "default", 40);
  /** What stands in the cluster in the end is told in a full round. */
  const tell = (w: TestWorker, names: string[], round: number) =>
    w.exchange({ discovered: names.map((name) => app(name, { round })), listed: [listed(round, names.length)] });

  test("once there is room again below the bound, and not before; then nothing is missing", async () => {
    const w = await agent("full");
    const names = Array.from({ length: 42 }, (_, i) => `full-${i}`);
    await tell(w, names, 1);
    await fill();
    expect(await asked(w)).toBe(false);
    await w.exchange({ discovered: names.slice(0, 3).map((name) => ({ ...app(name), deleted: true })) });
    await soon(w);
    await tell(w, names.slice(3), 2);
    const { status } = (await get("/v1/agents/full")).body;
    expect(status).toMatchObject({ discovered: 39, conditions: [{ type: "DiscoveredLimit", status: "False" }] });
    await w.exchange({ discovered: [{ ...app("full-4"), deleted: true }] });
    await fill();
    expect(await asked(w)).toBe(false);
  });

  test("after the service gave up an object that stays in the cluster, which is shown as discovered then", async () => {
    const w = await agent("forgets");
    await w.exchange({ discovered: [app("kept")] });
    await put("/v1/applications/kept?adopt=true", { agent: "forgets", ...spec });
    const { objects } = await w.exchange({});
    const { uid: mark } = objects.find(({ key }) => key.endsWith("/kept"))!;
    expect((await s.ask("DELETE", "/v1/applications/kept?force=true")).status).toBe(204);
    expect((await get("/v1/applications/kept")).status).toBe(404);
    await soon(w);
    await w.exchange({ discovered: [app("kept", { round: 2, mark })], listed: [listed(2, 1)] });
    expect((await get("/v1/applications/kept")).body).toMatchObject({ origin: "discovered" });
  });
});

test("one tenant's objects leave places to the others, however many they are and from whichever project", async () => {
  for (const path of ["organizations/loud", "organizations/quiet", "projects/web?org=loud"])
    await put(`/v1/${path}`, {});
  const w = await agent("shared");
  const loud = Array.from({ length: 38 }, (_, i) => app(`loud-${i}`, { tenant: i % 2 ? "loud/-" : "loud/web" }));
  await w.exchange({ discovered: loud });
  await w.exchange({
    discovered: [...Array.from({ length: 6 }, (_, i) => app(`quiet-${i}`, { tenant: "quiet/-" })), app("own")],
  });
  const shown = async (query: string) => (await ids(`?filter=origin=discovered&limit=100${query}`)).length;
  expect(await shown("&org=quiet")).toBe(6);
  expect((await shown("&org=loud")) + (await shown("&org=loud&project=web"))).toBe(30);
  expect((await get("/v1/agents/shared")).body.status).toMatchObject({
    discovered: 37,
    conditions: [{ status: "True" }],
  });
});

test("two objects of one report that want the same id get different ones", async () => {
  const w = await agent("alike");
  const { uid } = (await get("/v1/agents/alike")).body;
  const [wanted] = idsFor({ collection: "applications", namespace: "team", name: "web" }, uid, HOME);
  await w.exchange({ discovered: [app("web", { namespace: "team", uid: "k-1" }), app(wanted!, { uid: "k-2" })] });
  const found = await ids("?filter=spec.agent=alike");
  expect([found.length, new Set(found).size, found.includes(wanted!)]).toEqual([2, 2, true]);
});

describe("a full round", () => {
  const round = (names: string[], number = 1) => names.map((name) => app(name, { round: number }));
  const has = (...names: string[]) => ids("?filter=spec.agent=rounds").then((found) => expect(found).toEqual(names));
  let w: TestWorker;
  beforeAll(async () => {
    w = await agent("rounds");
  });

  test("absence removes nothing: not in a delta, not in a new session, not in a round that is open", async () => {
    await w.exchange({ discovered: round(["r1", "r2", "r3"]), listed: [listed(1, 3)] });
    await has("r1", "r2", "r3");
    await w.exchange({ discovered: [app("r1", { labels: { a: "b" } })] });
    await w.open();
    await w.exchange({ discovered: round(["r1"]) });
    await has("r1", "r2", "r3");
  });

  test("of a session that ended in the middle never closes, and the next session's counts by itself", async () => {
    await w.open();
    await w.exchange({ discovered: round(["r2"]) });
    // r1 was reported by the session before: this round is not complete by that.
    await w.exchange({ listed: [listed(1, 2)] });
    await has("r1", "r2", "r3");
    await w.exchange({ discovered: round(["r3"]), listed: [listed(1, 2)] });
    await has("r2", "r3");
  });

  test("keeps what was reported in it without its number, and what is reported as it was known", async () => {
    await w.exchange({ discovered: round(["r2"], 2) });
    await w.exchange({ discovered: [app("r4")] });
    await w.exchange({ discovered: round(["r3"], 2), listed: [listed(2, 2)] });
    await has("r2", "r3", "r4");
  });

  test("of one namespace touches no other, and one with nothing in it removes all", async () => {
    await w.exchange({ discovered: [app("r5", { namespace: "team", uid: "k5" })] });
    await w.exchange({ listed: [listed(3, 0, { namespace: "team" })] });
    await has("r2", "r3", "r4");
    await w.exchange({ listed: [listed(4, 0)] });
    await has();
  });

  test("removes nothing of another agent or another collection", async () => {
    const other = await agent("rounds-2");
    await other.exchange({ discovered: [app("kept")] });
    await w.exchange({
      discovered: [{ collection: "appprojects", namespace: HOME, name: "p", uid: "kp", spec: { sourceRepos: ["*"] } }],
    });
    await w.exchange({ listed: [listed(5, 0)] });
    expect((await get("/v1/applications/kept")).status).toBe(200);
    expect((await get("/v1/appprojects/p")).body).toMatchObject({ origin: "discovered", status: { name: "p" } });
  });

  test("an agent that is deleted takes what it found along, with an event for each", async () => {
    const gone = await agent("gone");
    await gone.exchange({ discovered: [app("gone-1"), app("gone-2")] });
    const { version } = (await get("/v1/applications/gone-2")).body;
    expect((await s.ask("DELETE", "/v1/agents/gone")).status).toBe(204);
    expect((await get("/v1/applications/gone-1")).status).toBe(404);
    const text = await eventsAfter(version);
    for (const id of ["gone-1", "gone-2"]) expect(text).toContain(`event: delete\ndata: {"id":"${id}"`);
  });
});
