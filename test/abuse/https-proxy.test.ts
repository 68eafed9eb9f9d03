import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { createServer, type Server, request as secureRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startService, type TestService } from "../../server/control/testing/service.ts";
import { makeServerCertificate, type ServerCertificate } from "../servers/tls.ts";

// The service behind a real HTTPS proxy, which connects from 127.0.0.5 and appends to the forwarding headers as nginx and Envoy do.
const PROXY = "127.0.0.5";
const HSTS = "strict-transport-security";
let certificate: ServerCertificate;
let folder: string;
let running: { proxy: Server; service: TestService; url: string } | undefined;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "outpost-proxy-"));
  certificate = await makeServerCertificate(folder);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(async () => {
  running?.proxy.closeAllConnections();
  running?.proxy.close();
  await running?.service.stop();
  running = undefined;
}, 60_000);

type Headers = Record<string, string | string[] | undefined>;

/** Starts the proxy first, because the service is told its address. `proto` is what the proxy says of its client. */
async function behindProxy(env: Record<string, string> = {}, proto = "https") {
  let port = 0;
  const tls = { cert: readFileSync(certificate.certificate), key: readFileSync(certificate.key) };
  const proxy = createServer(tls, (incoming, response) => {
    const { "x-forwarded-for": before, ...headers } = incoming.headers;
    const chain = [before, incoming.socket.remoteAddress].filter(Boolean).join(", ");
    const forwarded = { ...headers, "x-forwarded-for": chain, "x-forwarded-proto": proto };
    const onward = request(
      { host: "127.0.0.1", port, localAddress: PROXY, path: incoming.url, method: incoming.method, headers: forwarded },
      (back) => {
        response.writeHead(back.statusCode!, back.headers);
        back.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const url = `https://localhost:${(proxy.address() as AddressInfo).port}`;
  const service = await startService({ env: { OUTPOST_PUBLIC_URL: url, ...env } });
  port = Number(new URL(service.url).port);
  running = { proxy, service, url };
  return running;
}

/** One request as any client sends it; `from` is its own address. */
function get(
  url: string,
  path: string,
  { headers = {}, from = "127.0.0.1" }: { headers?: Headers; from?: string } = {},
) {
  const ca = readFileSync(certificate.ca);
  return new Promise<{ status: number; headers: Headers; text: string }>((resolve, reject) => {
    const send = url.startsWith("https:") ? secureRequest : request;
    const asked = send(
      `${url}${path}`,
      { headers: headers as Record<string, string>, localAddress: from, ca },
      (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("end", () =>
          resolve({ status: response.statusCode!, headers: response.headers, text: Buffer.concat(parts).toString() }),
        );
      },
    );
    asked.on("error", reject).end();
  });
}

test("through the proxy every answer says that it is to stay with TLS, refusals too; past the proxy none does", async () => {
  const { url, service } = await behindProxy({ OUTPOST_TRUSTED_PROXIES: PROXY });
  for (const path of ["/healthz", "/", "/v1/applications", "/no/such/path", "/v1/worker/hello"])
    expect([path, (await get(url, path)).headers[HSTS]]).toEqual([path, "max-age=31536000"]);
  for (const headers of [
    {},
    { "x-forwarded-proto": "https" },
    { "x-forwarded-proto": "https", "x-forwarded-for": PROXY },
    { host: new URL(url).host },
  ])
    for (const path of ["/healthz", "/v1/applications"])
      expect([headers, (await get(service.url, path, { headers })).headers[HSTS]]).toEqual([headers, undefined]);
}, 120_000);

test("a proxy that was asked over plain HTTP gets an answer without it", async () => {
  const { url } = await behindProxy({ OUTPOST_TRUSTED_PROXIES: PROXY }, "http");
  expect((await get(url, "/healthz")).headers[HSTS]).toBeUndefined();
}, 120_000);

test("without a named proxy one on this machine counts, unless it says http", async () => {
  const { url, service } = await behindProxy();
  expect((await get(url, "/healthz")).headers[HSTS]).toBe("max-age=31536000");
  expect(
    (await get(service.url, "/healthz", { headers: { "x-forwarded-proto": "http" } })).headers[HSTS],
  ).toBeUndefined();
}, 120_000);

test("a service without a public https address never says it, whatever headers claim", async () => {
  const { url, service } = await behindProxy({ OUTPOST_PUBLIC_URL: "", OUTPOST_TRUSTED_PROXIES: PROXY });
  expect((await get(url, "/healthz")).headers[HSTS]).toBeUndefined();
  expect(
    (await get(service.url, "/healthz", { headers: { "x-forwarded-proto": "https" }, from: PROXY })).headers[HSTS],
  ).toBeUndefined();
}, 120_000);

test("the audit trail names the client that the proxy saw, not the one that a client or a stranger claims", async () => {
  const { url, service } = await behindProxy({ OUTPOST_TRUSTED_PROXIES: PROXY });
  const authorization = `Bearer ${service.admin}`;
  const put = (base: string, id: string, from: string) =>
    new Promise<number>((resolve, reject) => {
      const send = base.startsWith("https:") ? secureRequest : request;
      const headers = { authorization, "content-type": "application/json", "x-forwarded-for": "6.6.6.6" };
      const options = { method: "PUT", headers, localAddress: from, ca: readFileSync(certificate.ca) };
      const asked = send(`${base}/v1/organizations/${id}`, options, (response) =>
        response.resume().on("end", () => resolve(response.statusCode!)),
      );
      asked.on("error", reject).end(JSON.stringify({ spec: {} }));
    });
  expect(await put(url, "by-proxy", "127.0.0.9")).toBe(201);
  expect(await put(service.url, "direct", "127.0.0.8")).toBe(201);
  const { items } = JSON.parse((await get(url, "/v1/audit", { headers: { authorization } })).text);
  const address = (id: string) => items.find(({ target }: { target?: string }) => target?.includes(id))?.address;
  expect([address("by-proxy"), address("direct")]).toEqual(["127.0.0.9", "127.0.0.8"]);
}, 120_000);
