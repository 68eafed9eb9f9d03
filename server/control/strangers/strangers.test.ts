import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { Places } from "../../base/places.ts";
import { hashCredential } from "../access/apikey.ts";
import { StrangerBodies } from "./bodies.ts";
import { Doorkeeper } from "./doorkeeper.ts";
import { Gate } from "./gate.ts";
import { StrangerSockets } from "./sockets.ts";

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
    expect((await Promise.all(asked)).map((x) => x ?? "ran")).toEqual(["ran", "ran", "ran", "ran", "full", "ran", "ran", "full"]);
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
  const sql = {
    query: async (_: string, params?: unknown[]): Promise<object[]> => {
      looks++;
      if (hold) await new Promise<void>((resolve) => held.push(resolve));
      return params?.[1] === good ? [{ account: "default", org: "", project: "", id: "k", role: "admin" }] : [];
    },
  };
  const good = hashCredential(key("g").slice("Bearer ".length));
  const signer = { fitsTaskToken: () => false };
  const ask = (header: string) => door.authenticate(sql as never, signer, header, "1.2.3.4");
  expect(await ask(key("g"))).toBeDefined();
  expect(await ask(key("f"))).toBeUndefined();
  expect(looks).toBe(2);
  for (let i = 0; i < 100; i++) expect(await ask(key("f"))).toBeUndefined();
  expect(await ask(`Bearer ott_default_t-${"0".repeat(20)}_1_${"x".repeat(43)}`)).toBeUndefined();
  expect(looks).toBe(2);
  now += 11_000;
  await ask(key("f"));
  expect(looks).toBe(3);
  hold = true;
  const flood = Array.from({ length: 200 }, (_, i) => ask(`Bearer opk_default_${String(i).padStart(43, "0")}`).catch((e) => e.code));
  const honest = ask(key("g"));
  // Four look-ups of strangers, and the known key beside them.
  expect(looks).toBe(8);
  hold = false;
  for (const go of held) go();
  expect(await honest).toBeDefined();
  expect((await Promise.all(flood)).filter((x) => x === "too_many_requests")).toHaveLength(200 - 4 - 128);
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
