import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { isMetadata } from "../../base/cloud/address.ts";
import { type Fetch, makeFetch } from "./fetch.ts";

type Handle = (request: IncomingMessage, response: ServerResponse) => void;
const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  // The clients' connections first.
  for (const close of closing.reverse()) await close();
});

async function serve(handle: Handle): Promise<string> {
  const server = createServer(handle).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function client(env: NodeJS.ProcessEnv = {}, signal = new AbortController().signal): Fetch {
  const { fetch, close } = makeFetch({ env, caBundle: () => undefined, signal });
  closing.push(close);
  return fetch;
}

test.each<[string, boolean]>([
  ["169.254.169.254", true],
  ["169.254.170.2", true],
  ["[fd00:ec2::254]", true],
  ["[::ffff:169.254.169.254]", true],
  ["[fe80::1]", true],
  ["100.100.100.200", true],
  ["127.0.0.1", false],
  ["10.0.0.1", false],
  ["example.org", false],
])("%s is a cloud's metadata: %j", (address, want) => expect(isMetadata(address)).toBe(want));

test.each(["http://169.254.169.254/latest", "http://2852039166/", "http://0xa9fea9fe/", "http://[::ffff:a9fe:a9fe]/"])(
  "%s is not asked",
  async (url) => {
    expect(await client()(url)).toMatchObject({ kind: "stop", reason: "AddressRefused" });
  },
);

test("a redirect to a cloud's metadata, or to any other host, is not followed", async () => {
  const other = await serve((_, response) => response.end("other"));
  const url = await serve((request, response) => {
    const to = { "/meta": "http://169.254.169.254/", "/other": other, "/loop": "/loop" }[request.url ?? ""] ?? "/end";
    if (request.url === "/end") response.end(request.method + (request.headers.authorization ?? ""));
    else response.writeHead(302, { location: to }).end();
  });
  const ask = { redirect: "sameHost", headers: { authorization: "Bearer it" } } as const;
  for (const path of ["meta", "other", "loop"])
    expect(await client()(`${url}/${path}`, ask)).toMatchObject({ kind: "stop", reason: "RedirectRefused" });
  const ended = await client()(`${url}/a`, { ...ask, method: "POST", body: "x" });
  expect(ended.kind === "done" && ended.value.body.toString()).toBe("GETBearer it");
  expect(await client()(`${url}/other`)).toMatchObject({ kind: "done", value: { status: 302 } });
});

test("an answer is bounded, cut where that is asked, and late ones are given up", async () => {
  const url = await serve((request, response) => {
    if (request.url === "/long") response.end("x".repeat(100_000));
    else response.write("begun");
  });
  expect(await client()(`${url}/long`, { maxBytes: 1_000 })).toMatchObject({ kind: "stop", reason: "AnswerTooLarge" });
  const cut = await client()(`${url}/long`, { maxBytes: 1_000, cut: true });
  expect(cut.kind === "done" && cut.value.body.length).toBe(1_000);
  expect(await client()(`${url}/slow`, { deadlineMs: 100 })).toMatchObject({ kind: "again", reason: "TimedOut" });
});

test("the end of the task ends a request", async () => {
  const task = new AbortController();
  const url = await serve(() => task.abort());
  expect(await client({}, task.signal)(url)).toMatchObject({ kind: "stop", reason: "Ended" });
});

test("requests go through the delegate's proxy, but for the hosts that are excepted", async () => {
  const seen: string[] = [];
  const url = await serve((_, response) => response.end("it"));
  const proxy = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => proxy.once("listening", resolve));
  proxy.on("connect", (request, socket) => {
    seen.push(request.url!);
    const there = connect(Number(new URL(url).port), "127.0.0.1", () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
    there.pipe(socket).pipe(there);
    for (const end of [there, socket]) end.on("error", () => undefined);
  });
  closing.push(() => new Promise((resolve) => void proxy.close(() => resolve())));
  const env = { HTTP_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
  const ask = async (address: string, more = {}) => {
    const answer = await client({ ...env, ...more })(address);
    return answer.kind === "done" ? answer.value.body.toString() : answer;
  };
  expect([await ask("http://somewhere.example/x"), seen]).toEqual(["it", ["somewhere.example:80"]]);
  expect([await ask(url, { NO_PROXY: "127.0.0.1" }), seen.length]).toEqual(["it", 1]);
});

test("what is not there is named by its layer", async () => {
  expect(await client()("http://nowhere.invalid/")).toMatchObject({ kind: "again", reason: "NameNotResolved" });
  expect(await client()("no address")).toMatchObject({ kind: "stop", reason: "AddressInvalid" });
});

test("an answer that breaks off before its file is open is a failure, and ends nothing else", async () => {
  const unheard: unknown[] = [];
  const take = (error: unknown) => void unheard.push(error);
  process.on("uncaughtException", take);
  let broken!: () => void;
  const closed = new Promise<void>((resolve) => {
    broken = resolve;
  });
  const url = await serve((_, response) => {
    response.writeHead(200, { "content-length": "1000" }).write("begin");
    response.once("close", broken);
    setImmediate(() => response.destroy());
  });
  const to = async () => {
    await closed;
    // Until this side knows it too.
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    throw new Error("no space left");
  };
  expect((await client()(url, { to })).kind).not.toBe("done");
  process.off("uncaughtException", take);
  expect(unheard).toEqual([]);
});
