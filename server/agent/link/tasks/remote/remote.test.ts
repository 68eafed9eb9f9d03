import type { AddressInfo } from "node:net";
import { request } from "undici";
import { done, type Outcome, stop } from "../../../../base/outcome.ts";
import { Secret } from "../../../../base/secret.ts";
import type { QueryApi } from "../../queries/task.ts";
import { ReadsClient } from "./client.ts";
import { readsServer } from "./server.ts";
import { framesIn, lengthOf, MAX_CALL_BYTES, MAX_FRAME_BYTES, PATH } from "./wire.ts";

const SECRET = "the-link-and-the-controller-share-this";
const log = { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined } as never;
const never = new AbortController().signal;
const question = { task: "t", kind: "application.tree", params: { key: "a" }, fence: 7, token: "of-the-lease" };

/** A controller that answers as `door` says, and the link's client of it. */
async function between<T>(
  door: Partial<QueryApi>,
  work: (client: ReadsClient, url: string) => Promise<T>,
  secret = SECRET,
): Promise<T> {
  const server = readsServer(
    { answer: async () => done({}), logs: async () => done(undefined), ...door },
    new Secret(SECRET),
    log,
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new ReadsClient(url, new Secret(secret));
  try {
    return await work(client, url);
  } finally {
    await client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

test("a question reaches the controller without its lease, and the answer comes back as it was given", async () => {
  const answers: Outcome<Record<string, unknown>>[] = [
    done({ nodes: [{ name: "ü".repeat(100_000) }] }),
    stop("NotDelivered", "not here yet"),
  ];
  for (const want of answers) {
    const asked: unknown[] = [];
    const answer: QueryApi["answer"] = async (account, given) => {
      asked.push([account, given]);
      return want;
    };
    expect(await between({ answer }, (client) => client.answer("acme", question, never))).toEqual(want);
    expect(asked).toEqual([["acme", { task: "t", kind: "application.tree", params: { key: "a" } }]]);
  }
});

test("log lines arrive in order and no faster than they are taken", async () => {
  const told: string[] = [];
  let ahead = 0;
  let most = 0;
  const logs: QueryApi["logs"] = async (_, __, tell) => {
    for (let i = 0; i < 300; i++) {
      most = Math.max(most, ++ahead);
      await tell("stdout", `${i} ${"x".repeat(100_000)}`);
    }
    return done(undefined);
  };
  const outcome = await between({ logs }, (client) =>
    client.logs(
      "acme",
      question,
      async (stream, text) => {
        ahead--;
        told.push(`${stream} ${text.split(" ")[0]}`);
        await new Promise((resolve) => setImmediate(resolve));
      },
      never,
    ),
  );
  expect(outcome).toEqual(done(undefined));
  expect(told).toEqual(Array.from({ length: 300 }, (_, i) => `stdout ${i}`));
  // Sockets hold some; 300 would be 30 MB in memory.
  expect(most).toBeLessThan(250);
}, 30_000);

test("a reader that leaves ends the reading in the controller", async () => {
  let ended: Promise<void> | undefined;
  const reader = new AbortController();
  const logs: QueryApi["logs"] = async (_, __, tell, signal) => {
    ended = new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    await tell("stdout", "first");
    await ended;
    return done(undefined);
  };
  const outcome = await between({ logs }, async (client) => {
    const read = await client.logs("acme", question, async () => reader.abort(), reader.signal);
    await ended;
    return read;
  });
  expect(outcome).toEqual(done(undefined));
});

test("without the shared secret nothing is asked and nothing can be read", async () => {
  let asked = 0;
  const answer: QueryApi["answer"] = async () => {
    asked++;
    return done({ secret: "of the cluster" });
  };
  const refused = await between(
    { answer },
    (client) => client.answer("acme", question, never),
    "another-secret-of-enough-length",
  );
  expect(refused).toMatchObject({
    kind: "again",
    reason: "ControllerUnreachable",
    message: expect.stringContaining("401"),
  });
  const codes = await between({ answer }, async (_, url) => {
    const post = (path: string, time: string, body: Buffer) =>
      request(url + path, { method: "POST", headers: { "x-outpost-time": time }, body }).then(async (got) => {
        await got.body.dump();
        return got.statusCode;
      });
    const now = String(Date.now());
    return [
      await post("/v1/call", now, Buffer.alloc(64)),
      await post(PATH, now, Buffer.alloc(64)),
      await post(PATH, now, Buffer.alloc(0)),
      await post(PATH, String(Date.now() - 600_000), Buffer.alloc(64)),
      await post(PATH, "now", Buffer.alloc(64)),
      await post(PATH, now, Buffer.alloc(MAX_CALL_BYTES + 1)),
    ];
  });
  expect(codes).toEqual([404, 401, 401, 401, 401, 413]);
  expect(asked).toBe(0);
});

test("a controller that fails or cannot be reached is named", async () => {
  const answer: QueryApi["answer"] = async () => {
    throw new Error("a defect");
  };
  expect(await between({ answer }, (client) => client.answer("acme", question, never))).toMatchObject({
    reason: "InternalError",
  });
  const client = new ReadsClient("http://127.0.0.1:1", new Secret(SECRET));
  expect(await client.answer("acme", question, never)).toMatchObject({
    reason: "ControllerUnreachable",
    message: expect.stringContaining("http://127.0.0.1:1 cannot be reached"),
  });
  await client.close();
});

test("the controller answers a bounded number of questions at once", async () => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let begun = 0;
  const answer: QueryApi["answer"] = async () => {
    begun++;
    await gate;
    return done({});
  };
  const kinds = await between({ answer }, async (one, url) => {
    const two = new ReadsClient(url, new Secret(SECRET));
    const asked = Array.from({ length: 60 }, (_, i) => (i % 2 ? one : two).answer("acme", question, never));
    // 48 wait behind the gate, so the others are the first to be answered.
    let refused = 0;
    await new Promise<void>((resolve) => {
      for (const each of asked)
        void each.then((end) => end.kind === "stop" && ++refused === asked.length - 48 && resolve());
    });
    release();
    const all = await Promise.all(asked);
    await two.close();
    return all.map((each) => each.kind);
  });
  expect([begun, kinds.filter((kind) => kind === "done").length]).toEqual([48, 48]);
});

const frame = (text: string) => Buffer.concat([lengthOf(Buffer.from(text)), Buffer.from(text)]);
const huge = Buffer.alloc(4);
huge.writeUInt32BE(MAX_FRAME_BYTES + 1);
const cut = (bytes: Buffer, size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
test.each([
  ["as they were written", [frame("one"), frame("two")], ["one", "two"]],
  ["byte by byte", cut(Buffer.concat([frame("one"), frame("two")]), 1), ["one", "two"]],
  ["together", [Buffer.concat([frame("one"), frame(""), frame("two")])], ["one", "", "two"]],
  ["broken off", [frame("one"), frame("two").subarray(0, 5)], ["one"]],
  ["too large", [frame("one"), huge, Buffer.alloc(100)], ["one", undefined]],
])("frames are cut where they end: %s", async (_, chunks, want) => {
  async function* body() {
    yield* chunks;
  }
  const found: (string | undefined)[] = [];
  for await (const one of framesIn(body())) found.push(one?.toString("utf8"));
  expect(found).toEqual(want);
});
