import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { Places } from "../../base/places.ts";
import { hashCredential } from "../access/apikey.ts";
import { StrangerBodies } from "./bodies.ts";
import { Doorkeeper } from "./doorkeeper.ts";
import { Gate } from "./gate.ts";
import { Rates } from "./rates.ts";
import { RollCall } from "./roll-call.ts";
import { StrangerSockets } from "./sockets.ts";
import { Strangers } from "./strangers.ts";
import { Turns } from "./turns.ts";

test("places are bounded in all and for one name, and each is given back once", () => {
  const places = new Places({ total: 3, each: 2 });
  const [a, b] = [places.tryTake("a"), places.tryTake("a")];
  expect(a && b).toBeTruthy();
  expect(places.tryTake("a")).toBeUndefined();
  const c = places.tryTake("c");
  expect(places.tryTake("d")).toBeUndefined();
  a!();
  a!();
  expect(places.taken).toBe(2);
  expect(places.tryTake("d")).toBeDefined();
  expect(places.tryTake("d")).toBeUndefined();
  c!();
  expect(places.tryTake("d")).toBeDefined();
});

test("a flood far above a rate takes what the rate allows, and no more: what was refused is not counted", () => {
  let now = 0;
  const rates = new Rates({ burst: 5, perSecond: 10 }, () => now);
  let taken = 0;
  for (; now < 10_000; now++) if (rates.take("flood")) taken++;
  expect(taken).toBeGreaterThanOrEqual(5 + 98);
  expect(taken).toBeLessThanOrEqual(5 + 100);
});

describe("the gate to the store", () => {
  test("runs a few at once, lets addresses take turns, and says full to a flood", async () => {
    const gate = new Gate({ running: 1, waiting: 6, each: 4 });
    const order: string[] = [];
    let release = () => {};
    const first = gate.pass("flood", () => new Promise<void>((resolve) => (release = resolve)));
    const asked = ["flood", "flood", "flood", "flood", "flood", "honest", "other", "third"].map((who) =>
      gate.pass(who, async () => void order.push(who)),
    );
    expect(gate.waiting).toBe(6);
    release();
    await first;
    expect((await Promise.all(asked)).map((x) => x ?? "ran")).toEqual([
      "ran",
      "ran",
      "ran",
      "ran",
      "full",
      "ran",
      "ran",
      "full",
    ]);
    expect(order).toEqual(["flood", "honest", "other", "flood", "flood", "flood"]);
    expect(gate.waiting).toBe(0);
    expect(await gate.pass("later", async () => 7)).toBe(7);
  });
  test("goes on after a look-up that failed", async () => {
    const gate = new Gate({ running: 1, waiting: 1, each: 1 });
    await expect(gate.pass("a", () => Promise.reject(new Error("lost")))).rejects.toThrow("lost");
    expect(await gate.pass("a", async () => 1)).toBe(1);
  });
});

test("a forged key is looked up once, and keys that were valid do not wait behind it", async () => {
  let looks = 0;
  let now = 0;
  const door = new Doorkeeper(() => now);
  const key = (c: string) => `Bearer opk_default_${c.repeat(43)}`;
  const held: (() => void)[] = [];
  let hold = false;
  const row = { account: "default", org: "", project: "", id: "k", role: "admin" };
  const sql = {
    // Which of many there are, or one key.
    query: async (_: string, params: unknown[] = []): Promise<object[]> => {
      looks++;
      const many = Array.isArray(params[1]);
      if (hold && many) await new Promise<void>((resolve) => held.push(resolve));
      const hashes = many ? (params[1] as string[]) : [params[1]];
      return hashes.includes(good) ? [{ ...row, hash: good }] : [];
    },
  };
  const good = hashCredential(key("g").slice("Bearer ".length));
  const signer = { fitsTaskToken: () => false };
  const ask = (header: string) => door.authenticate(sql as never, signer, header, "1.2.3.4");
  expect(await ask(key("g"))).toBeDefined();
  // Does it exist, and what is it.
  expect(looks).toBe(2);
  expect(await ask(key("f"))).toBeUndefined();
  expect(looks).toBe(3);
  for (let i = 0; i < 100; i++) expect(await ask(key("f"))).toBeUndefined();
  expect(await ask(`Bearer ott_default_t-${"0".repeat(20)}_1_${"x".repeat(43)}`)).toBeUndefined();
  expect(looks).toBe(3);
  now += 11_000;
  await ask(key("f"));
  expect(looks).toBe(4);
  hold = true;
  const flood = Array.from({ length: 300 }, (_, i) =>
    ask(`Bearer opk_default_${String(i).padStart(43, "0")}`).catch((e) => e.code),
  );
  expect(await ask(key("g"))).toBeDefined();
  // The known key beside them; the flood waits for its one query.
  expect(looks).toBe(5);
  hold = false;
  for (const go of held) go();
  expect((await Promise.all(flood)).filter((x) => x === "too_many_requests")).toHaveLength(300 - 256);
  expect(looks).toBe(6);
});

describe("names that strangers show", () => {
  const LIMITS = { batch: 100, waiting: 250, each: 150, pauseMs: 1 };
  test("are asked for together, and each gets its own answer", async () => {
    const queries: string[][] = [];
    const roll = new RollCall(async (names) => {
      queries.push([...names]);
      return new Set(names.filter((name) => name.startsWith("real")));
    }, LIMITS);
    const asked = Array.from({ length: 150 }, (_, i) =>
      roll.exists(i % 50 === 7 ? `real ${i}` : `made up ${i % 10}`, "flood"),
    );
    expect((await Promise.all(asked)).filter((x) => x === true)).toHaveLength(3);
    expect(queries.length).toBeLessThanOrEqual(3);
    // A name that several show is asked for once.
    for (const names of queries) expect(new Set(names).size).toBe(names.length);
  });
  test("are full for the address that shows too many, and for all when too many wait", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const roll = new RollCall(() => held.then(() => new Set(["honest"])), LIMITS);
    const first = roll.exists("first", "flood");
    const flood = Array.from({ length: 200 }, (_, i) => roll.exists(`${i}`, "flood"));
    const honest = roll.exists("honest", "elsewhere");
    const others = Array.from({ length: 100 }, (_, i) => roll.exists(`${i}`, `other ${i}`));
    expect(roll.waiting).toBe(250);
    release();
    expect(await honest).toBe(true);
    expect(await first).toBe(false);
    expect((await Promise.all(flood)).filter((x) => x === "full")).toHaveLength(50);
    expect((await Promise.all(others)).filter((x) => x === "full")).toHaveLength(1);
    expect(roll.waiting).toBe(0);
  });
  test("fail with the query, and the next ones are asked for again", async () => {
    let broken = true;
    const roll = new RollCall(
      () => (broken ? Promise.reject(new Error("lost")) : Promise.resolve(new Set(["a"]))),
      LIMITS,
    );
    await expect(roll.exists("a", "x")).rejects.toThrow("lost");
    broken = false;
    expect(await roll.exists("a", "x")).toBe(true);
  });
});

describe("a thousand agents behind one address come back within a minute", () => {
  test.each([
    ["alone", { forged: 0, greetings: 0 }, 2],
    ["beside 250 forged proofs a second", { forged: 250, greetings: 0 }, 2],
    ["beside 250 greetings a second", { forged: 0, greetings: 250 }, 60],
    ["beside 250 greetings a second, each with a forged proof after it", { forged: 250, greetings: 250 }, 60],
  ])("%s", (_, flood, withinSeconds) => {
    let now = 0;
    const strangers = new Strangers({ now: () => now });
    /** When each agent greets next, in milliseconds; undefined once its session is open. A greeted one has a nonce, so its proof is looked at. */
    const agents = Array.from({ length: 1_000 }, (_, i) => ({ at: (i % 50) as number | undefined }));
    let seed = 1;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    let looked = 0;
    const due = { forged: 0, greetings: 0 };
    for (now = 0; agents.some(({ at }) => at !== undefined) && now < 120_000; now++) {
      due.forged += flood.forged / 1_000;
      due.greetings += flood.greetings / 1_000;
      let nonces = 0;
      for (; due.greetings >= 1; due.greetings--) if (strangers.mayGreet("nat")) nonces++;
      for (; due.forged >= 1; due.forged--) {
        if (strangers.isDoubted("nat") && nonces-- <= 0) continue;
        looked++;
        strangers.failed("nat");
      }
      for (const agent of agents) {
        if (agent.at === undefined || agent.at > now) continue;
        agent.at = strangers.mayGreet("nat") ? undefined : now + 1_000 * (1 + random() / 5);
      }
    }
    expect(agents.filter(({ at }) => at !== undefined)).toHaveLength(0);
    expect(now / 1_000).toBeLessThan(withinSeconds);
    // What costs a look-up and a signature: a first fifty and two a second, and those that were paid for with a greeting.
    expect(looked).toBeLessThanOrEqual(
      50 + (2 * now) / 1_000 + 1 + (flood.greetings ? 1_000 + (100 * now) / 1_000 : 0),
    );
  });
  test("another address is not doubted for one that fails", () => {
    const strangers = new Strangers({ now: () => 0 });
    for (let i = 0; i < 100; i++) strangers.failed("flood");
    expect(["flood", "honest"].map((network) => strangers.isDoubted(network))).toEqual([true, false]);
    expect(strangers.mayGreet("flood")).toBe(true);
  });
});

describe("bodies of strangers", () => {
  const reading = (bodies: StrangerBodies, sender: string, deadlineMs = 60_000) => {
    const stream = new PassThrough();
    const done = bodies.read(stream, { sender, max: 100, deadlineMs }).then(
      (bytes) => bytes.length as number | string,
      (problem) => problem.code as string,
    );
    return { stream, done };
  };
  test("the oldest unfinished one makes room, and an honest sender gets in", async () => {
    const bodies = new StrangerBodies({ total: 3, each: 2, held: 1_000 });
    const [a, b] = [reading(bodies, "flood"), reading(bodies, "flood")];
    const c = reading(bodies, "flood");
    expect(await a.done).toBe("too_many_requests");
    const d = reading(bodies, "other");
    const honest = reading(bodies, "honest");
    expect(await b.done).toBe("too_many_requests");
    for (const one of [c, d, honest]) one.stream.end("12345");
    expect(await Promise.all([c.done, d.done, honest.done])).toEqual([5, 5, 5]);
    expect(bodies.reading).toBe(0);
  });
  test("the sender with the most bytes makes room, not the newcomer", async () => {
    const bodies = new StrangerBodies({ total: 10, each: 10, held: 100 });
    const flood = [reading(bodies, "flood"), reading(bodies, "flood")];
    for (const one of flood) one.stream.write(Buffer.alloc(45));
    const honest = reading(bodies, "honest");
    honest.stream.end(Buffer.alloc(40));
    expect(await honest.done).toBe(40);
    expect(await flood[0]!.done).toBe("too_many_requests");
    flood[1]!.stream.end();
    expect(await flood[1]!.done).toBe(45);
  });
  test("a slow one ends by its deadline, a large one by its size, a cut one at once", async () => {
    const bodies = new StrangerBodies({ total: 10, each: 10, held: 1_000 });
    expect(await reading(bodies, "slow", 10).done).toBe("request_timeout");
    const large = reading(bodies, "large");
    large.stream.write(Buffer.alloc(101));
    expect(await large.done).toBe("body_too_large");
    const cut = reading(bodies, "cut");
    cut.stream.destroy();
    expect(await cut.done).toBe("invalid_request");
    expect(bodies.reading).toBe(0);
  });
});

test("the oldest connection of a stranger makes room for a new one; a known caller's stays", () => {
  const closed: string[] = [];
  const sockets = new StrangerSockets({ total: 3, each: 2 });
  const open = (name: string, address: string) => {
    const socket = Object.assign(new EventEmitter(), {
      destroy: () => {
        closed.push(name);
        socket.emit("close");
      },
    }) as unknown as Socket;
    sockets.opened(socket, address);
    return socket;
  };
  sockets.known(open("known", "a"));
  open("a1", "a");
  open("a2", "a");
  open("a3", "a");
  expect(closed).toEqual(["a1"]);
  open("b1", "b");
  open("c1", "c");
  expect(closed).toEqual(["a1", "a2"]);
  expect(sockets.size).toBe(3);
});

describe("work for strangers", () => {
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

  test("is done a piece a turn, so that what callers with a key send comes between", async () => {
    const turns = new Turns();
    const done: string[] = [];
    for (const name of ["a", "b", "c"]) turns.add(() => done.push(name));
    expect(done).toEqual([]);
    for (const want of [["a"], ["a", "b"], ["a", "b", "c"]]) {
      await turn();
      expect(done).toEqual(want);
    }
    turns.add(() => done.push("d"));
    await turn();
    expect(done.at(-1)).toBe("d");
  });

  test("does not pile up when a flood outruns the turns", async () => {
    const turns = new Turns();
    let done = 0;
    for (let n = 0; n < 10_000; n++) turns.add(() => done++);
    let took = 0;
    for (; done < 10_000; took++) await turn();
    expect(took).toBeLessThan(500);
  });
});
