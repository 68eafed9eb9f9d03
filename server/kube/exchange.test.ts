import { getEventListeners } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "undici";
import { waitingFor } from "../base/process/signal.ts";
import { DeadlineOver, exchange } from "./exchange.ts";

let server: Server;
let pool: Pool;
let asked: string[] = [];

beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    asked.push(request.url!);
    if (request.url === "/parts") {
      response.write("one, ");
      setImmediate(() => response.end("two ü"));
    } else if (request.url === "/cut") {
      response.writeHead(200, { "content-length": "10" });
      response.write("half", () => response.destroy());
    } else if (request.url === "/early") {
      response.writeEarlyHints({ link: "</x>; rel=preload" });
      response.writeHead(404).end("no");
    } else if (request.url !== "/never") {
      response.writeHead(204).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  pool = new Pool(`http://127.0.0.1:${port}`, { connections: 1 });
});

afterEach(async () => {
  await pool.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const ask = (path: string, deadlineMs = 5_000, signal?: AbortSignal) =>
  exchange(pool, { path, method: "GET" }, { deadlineMs, signal }).catch((error: Error) => error);

test.each([
  ["/parts", { status: 200, text: "one, two ü" }],
  ["/early", { status: 404, text: "no" }],
  ["/empty", { status: 204, text: "" }],
])("an answer is given whole: %s", async (path, want) => {
  expect(await ask(path)).toEqual(want);
});

test("an answer that is cut off is none", async () => {
  expect(await ask("/cut")).toBeInstanceOf(Error);
});

test("who is not answered in time is told so, and neither is he that waits behind for the connection", async () => {
  const [first, second] = await Promise.all([ask("/never", 300), ask("/behind", 50)]);
  expect(first).toBeInstanceOf(DeadlineOver);
  expect(second).toBeInstanceOf(DeadlineOver);
  expect(await ask("/parts")).toMatchObject({ status: 200 });
  // What was given up before it had a connection was never sent.
  expect(asked).toEqual(["/never", "/parts"]);
});

test("a request that is given up ends at once, and leaves no listener behind", async () => {
  const abort = new AbortController();
  const asking = ask("/never", 5_000, abort.signal);
  abort.abort();
  expect(await asking).toMatchObject({ message: "the request was given up" });
  expect(await ask("/parts", 5_000, abort.signal)).toMatchObject({ message: "the request was given up" });
});

test("a pool that is closed says so", async () => {
  await pool.destroy();
  expect(await ask("/parts")).toBeInstanceOf(Error);
});

test("a hundred requests at once on one signal leave no listeners and no warning", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on("warning", note);
  const all = new AbortController();
  const many = Array.from({ length: 100 }, () => ask("/parts", 5_000, all.signal));
  expect(getEventListeners(all.signal, "abort")).toHaveLength(1);
  await Promise.all(many);
  expect(waitingFor(all.signal)).toBe(0);
  const given = Array.from({ length: 50 }, () => ask("/never", 5_000, all.signal));
  all.abort();
  for (const outcome of await Promise.all(given)) expect(outcome).toBeInstanceOf(Error);
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  expect(warnings).toEqual([]);
});
