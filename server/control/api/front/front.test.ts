import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { ask, eventually, startService, type TestService } from "../../testing/service.ts";
import { TestWorker } from "../../testing/worker.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService({ env: { OUTPOST_TRUSTED_PROXIES: "127.0.0.1" } });
}, 60_000);
afterAll(() => s?.stop());

const key = (c: string) => ({ authorization: `Bearer opk_default_${c.repeat(43)}` });

test.each([
  ["no key", "GET", "/v1/agents", {}, 401, "unauthenticated"],
  ["a text that is not a key", "GET", "/v1/agents", { authorization: "Bearer me" }, 401, "unauthenticated"],
  ["a forged key", "GET", "/v1/agents", key("x"), 401, "unauthenticated"],
  ["the same forged key again", "GET", "/v1/agents", key("x"), 401, "unauthenticated"],
  ["no key, with a body", "PUT", "/v1/agents/a", {}, 401, "unauthenticated"],
  [
    "a forged token of a task",
    "GET",
    "/v1/agents",
    { authorization: `Bearer ott_default_t-${"0".repeat(20)}_1_${"x".repeat(43)}` },
    401,
    "unauthenticated",
  ],
  [
    "a forged session",
    "POST",
    "/v1/worker/exchange",
    { authorization: `Bearer ows_default_${"x".repeat(43)}` },
    401,
    "session_expired",
  ],
  ["a made-up webhook", "POST", "/v1/hooks/default_made-up", {}, 401, "webhook_refused"],
  ["a made-up path", "GET", "/v1/nothing", {}, 404, "not_found"],
  ["an answer nobody can give", "GET", "/v1/agents", { accept: "image/png" }, 406, "not_acceptable"],
])("refused at the front in the words of the contract: %s", async (_, method, path, headers, status, code) => {
  const answer = await ask(s.url, method, path, {
    headers,
    ...(method === "PUT" || method === "POST" ? { body: {} } : {}),
  });
  expect([answer.status, answer.body?.code]).toEqual([status, code]);
  expect(answer.headers.get("content-type")).toMatch("application/problem+json");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("request-id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.body.instance).toBe(answer.headers.get("request-id"));
  if (code === "unauthenticated") expect(answer.headers.get("www-authenticate")).toBe("Bearer");
});

test("what is refused at the front is counted like every other answer", async () => {
  const count = async (line: string) =>
    Number(new RegExp(`^${line} (\\d+)$`, "m").exec((await s.ask("GET", "/metrics")).text)?.[1] ?? 0);
  const lines = [
    'outpost_requests_total\\{operation="listTasks",status="401"\\}',
    'outpost_denied_total\\{code="unauthenticated"\\}',
  ];
  const before = await Promise.all(lines.map(count));
  for (const headers of [{}, key("y"), key("y")])
    expect((await ask(s.url, "GET", "/v1/tasks", { headers })).status).toBe(401);
  expect(await Promise.all(lines.map(count))).toEqual(before.map((n) => n + 3));
});

test("a connection whose call was refused with its whole body takes the next call", async () => {
  const { port } = new URL(s.url);
  const { Agent } = await import("node:http");
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const call = (headers: Record<string, string>) =>
    new Promise<{ status: number | undefined; again: boolean; close: string | undefined }>((resolve, reject) => {
      const req = request(
        {
          port,
          host: "127.0.0.1",
          method: "POST",
          path: "/v1/tasks",
          agent,
          headers: { ...headers, "content-type": "application/json" },
        },
        (res) => {
          res.resume();
          res.on("end", () =>
            resolve({ status: res.statusCode, again: req.reusedSocket, close: res.headers.connection }),
          );
        },
      );
      req.on("error", reject);
      req.end("{}");
    });
  expect((await call({})).status).toBe(401);
  expect(await call(key("z"))).toMatchObject({ status: 401, again: true });
  expect(await call(key("z"))).toMatchObject({ status: 401, again: true });
  agent.destroy();
});

test("the oldest of an address's unfinished enrolments is closed without an answer when a new one needs its room", async () => {
  const half =
    "POST /v1/worker/enrol HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
  const { bodies } = s.running.services.strangers;
  const sockets = [];
  for (let i = 0; i < 65; i++) {
    const socket = connect(Number(new URL(s.url).port), "127.0.0.1");
    let got = "";
    socket.on("data", (bytes: Buffer) => {
      got += bytes;
    });
    const closed = once(socket, "close").then(() => got);
    socket.write(half);
    await eventually("the body is read", async () => bodies.reading === Math.min(i + 1, 64));
    sockets.push({ socket, closed });
  }
  expect(await sockets[0]!.closed).toBe("");
  expect(bodies.reading).toBe(64);
  for (const { socket } of sockets) socket.destroy();
  await eventually("nothing is left", async () => bodies.reading === 0);
});

test("a greeting from the front is the same as that of all steps, and other forms of it still get theirs", async () => {
  const nonce = "n".repeat(22);
  const front = await ask(s.url, "GET", `/v1/worker/hello?nonce=${nonce}`);
  const steps = await ask(s.url, "GET", `/v1/worker/hello?nonce=%6e${nonce.slice(1)}`);
  for (const answer of [front, steps]) {
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body).sort()).toEqual(["keyId", "nonce", "publicKey", "signature"]);
  }
  const fields = (of: typeof front) =>
    [...of.headers].filter(([name]) => !/^(date|request-id|content-length)$/.test(name));
  expect(fields(front)).toEqual(fields(steps));
  expect((await ask(s.url, "GET", "/v1/worker/hello?nonce=short")).body.code).toBe("invalid_request");
});

describe("forged proofs are held against the network that they came from", () => {
  const forged = (url: string, from: string) =>
    ask(url, "POST", "/v1/worker/session", {
      headers: { "x-forwarded-for": from },
      body: {
        worker: `default-${"0".repeat(24)}`,
        nonce: "n".repeat(22),
        instance: "i",
        version: "0.1.0",
        capabilities: [],
        signature: "s".repeat(86),
      },
    });
  let untrusting: TestService;
  beforeAll(async () => {
    untrusting = await startService();
  }, 60_000);
  afterAll(() => untrusting?.stop());

  test.each([
    ["an IPv4 address that a trusted proxy names", () => s, "1.1.1.1", "1.1.1.1"],
    ["the last address, the others are the caller's own text", () => s, "9.9.9.9, 1.1.1.2", "1.1.1.2"],
    ["the /64 of an IPv6 address", () => s, "2001:db8:0:1::7", "2001:db8:0:1::/64"],
    ["the /64 of its neighbour", () => s, "2001:db8:0:1:ffff::1", "2001:db8:0:1::/64"],
    ["the connection's address, where no proxy is trusted", () => untrusting, "1.1.1.1", "127.0.0.1"],
  ])("%s", async (_, of, from, network) => {
    const { strangers } = of().running.services;
    const { failed, isDoubted } = strangers;
    const told: string[] = [];
    try {
      strangers.failed = (name) => void told.push(name);
      strangers.isDoubted = () => false;
      expect((await forged(of().url, from)).status).toBe(401);
      expect(told).toEqual([network]);
      // Doubted, it is refused before anything is looked up; every other network is not.
      strangers.isDoubted = (name) => name === network;
      const refused = await forged(of().url, from);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
      expect(told).toEqual([network]);
      if (of() === s) expect((await forged(s.url, "2001:db8:0:2::7")).status).toBe(401);
    } finally {
      Object.assign(strangers, { failed, isDoubted });
    }
  });
  test("valid proofs do not count: one agent opens its session two hundred times", async () => {
    await s.ask("PUT", "/v1/agents/many", { body: { spec: { mode: "cluster", namespace: "outpost" } } });
    const token = (await s.ask("POST", "/v1/agents/many/tokens", { body: {} })).body.token;
    const worker = await new TestWorker(s.url, "i-1", "cluster").enrol(token);
    for (let i = 0; i < 200; i++) expect((await worker.tryOpen()).status).toBe(200);
  }, 120_000);
  test("an honest worker of a doubted address enrols and opens its session", async () => {
    const plain = await startService();
    try {
      await plain.ask("PUT", "/v1/agents/honest", { body: { spec: { mode: "cluster", namespace: "outpost" } } });
      const token = (await plain.ask("POST", "/v1/agents/honest/tokens", { body: {} })).body.token;
      plain.running.services.strangers.isDoubted = () => true;
      const worker = await new TestWorker(plain.url, "i-1", "cluster").enrol(token);
      expect((await worker.tryOpen()).status).toBe(200);
      expect((await worker.tryOpen({ nonce: "n".repeat(22) })).status).toBe(429);
      // A recorded call: its nonce was given, and is used up.
      const nonce = await worker.hello();
      expect((await worker.tryOpen({ nonce })).status).toBe(401);
      expect((await ask(plain.url, "POST", "/v1/worker/session", { raw: "{" })).body.code).toBe("invalid_json");
    } finally {
      await plain.stop();
    }
  }, 60_000);
});
