import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTls } from "node:tls";
import { makeCertificates } from "../cluster/certificates.ts";
import { type Daemon, until } from "../servers/run.ts";
import { ok, program, type Service, startService } from "./link-world.ts";

let service: Service;
let token = "";
let dir = "";
const running: Daemon[] = [];
const servers: { server: Server; sockets: Set<Socket> }[] = [];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "outpost-networks-"));
  [service] = await Promise.all([startService(), makeCertificates(dir)]);
  ok(await service.api.PUT("/v1/delegates/{id}", { params: { path: { id: "one" } }, body: { spec: { capacity: 2 } } }));
  token = ok(await service.api.POST("/v1/delegates/{id}/tokens", { params: { path: { id: "one" } }, body: {} })).token!;
}, 90_000);
afterEach(async () => {
  await Promise.all(running.splice(0).map((delegate) => delegate.stop("SIGKILL")));
  for (const { server, sockets } of servers.splice(0)) {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}, 20_000);
afterAll(async () => {
  await service?.stop();
  rmSync(dir, { recursive: true, force: true });
}, 30_000);

let count = 0;
function delegate(endpoint: string, env: NodeJS.ProcessEnv = {}): Daemon {
  const started = program(["delegate"], {
    MANAGER_HOST_AND_PORT: endpoint,
    DELEGATE_TOKEN: token,
    OUTPOST_WORK_DIR: join(dir, `work-${count++}`),
    OUTPOST_LISTEN: "127.0.0.1:0",
    ...env,
  });
  running.push(started);
  return started;
}
const says = (started: Daemon, what: string) =>
  until(`the delegate to say "${what}"`, () => started.said().includes(what), 20_000).catch((error) => {
    throw new Error(`${error.message}; it said:\n${started.said()}`);
  });

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  servers.push({ server, sockets });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** TLS in front of the service, with a certificate that only the test's own authority stands for. */
function tlsFront(): Promise<number> {
  return listening(
    createTls(
      { key: readFileSync(join(dir, "apiserver.key")), cert: readFileSync(join(dir, "apiserver.crt")) },
      (near) => {
        const far = connect(service.port, "127.0.0.1");
        near.pipe(far).pipe(near);
        near.on("error", () => undefined).on("close", () => far.destroy());
        far.on("error", () => undefined).on("close", () => near.destroy());
      },
    ) as unknown as Server,
  );
}

/** A proxy that knows CONNECT, and asks for a name and password when it is given one. */
async function proxy(password?: string) {
  const server = createHttp();
  const seen: string[] = [];
  server.on("connect", (request, near: Socket) => {
    const wanted = password === undefined ? undefined : `Basic ${Buffer.from(`user:${password}`).toString("base64")}`;
    near.on("error", () => undefined);
    if (wanted && request.headers["proxy-authorization"] !== wanted)
      return void near.end("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n");
    seen.push(request.url!);
    const [host, port] = request.url!.split(":");
    const far = connect(Number(port), host, () => {
      near.write("HTTP/1.1 200 OK\r\n\r\n");
      near.pipe(far).pipe(near);
    });
    far.on("error", () => near.destroy()).on("close", () => near.destroy());
    near.on("close", () => far.destroy());
  });
  return { port: await listening(server), seen };
}

test("a private authority is trusted by naming its file, and its absence is named as TLS", async () => {
  const port = await tlsFront();
  const distrustful = delegate(`https://localhost:${port}`);
  await says(distrustful, "TlsFailed");
  await says(distrustful, "OUTPOST_CA_FILE");
  await says(
    delegate(`https://localhost:${port}`, { OUTPOST_CA_FILE: join(dir, "ca.crt") }),
    "connected to https://localhost",
  );
}, 60_000);

test("everything goes through a proxy that asks who we are", async () => {
  const port = await tlsFront();
  const asked = await proxy("secret-of-the-proxy");
  const env = { OUTPOST_CA_FILE: join(dir, "ca.crt"), NO_PROXY: "" };
  const nobody = delegate(`https://localhost:${port}`, { ...env, HTTPS_PROXY: `http://127.0.0.1:${asked.port}` });
  await says(nobody, "answered 407 to CONNECT");
  expect(asked.seen).toEqual([]);
  const known = delegate(`https://localhost:${port}`, {
    ...env,
    HTTPS_PROXY: `http://user:secret-of-the-proxy@127.0.0.1:${asked.port}`,
  });
  await says(known, "connected to https://localhost");
  expect(new Set(asked.seen)).toEqual(new Set([`localhost:${port}`]));
  expect(known.said()).not.toContain("secret-of-the-proxy");
}, 60_000);

test("NO_PROXY goes around the proxy", async () => {
  const asked = await proxy();
  const direct = delegate(service.url, { HTTP_PROXY: `http://127.0.0.1:${asked.port}`, NO_PROXY: "127.0.0.1" });
  await says(direct, "connected to http://127.0.0.1");
  expect(asked.seen).toEqual([]);
}, 40_000);

test("a sign-in page that answers 200 is named, and nothing is lost when it goes away", async () => {
  let captive = true;
  const front = createHttp((request, response) => {
    if (captive)
      return void response.writeHead(200, { "content-type": "text/html" }).end("<html>Please sign in</html>");
    void fetch(`${service.url}${request.url}`, {
      method: request.method!,
      headers: request.headers as Record<string, string>,
      ...(request.method === "POST" ? { body: request, duplex: "half" } : {}),
    } as unknown as RequestInit).then(
      async (answer) =>
        response
          .writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" })
          .end(await answer.text()),
      () => response.destroy(),
    );
  });
  const port = await listening(front);
  const started = delegate(`http://127.0.0.1:${port}`);
  await says(started, "answered 200 with text/html, which Outpost never does");
  captive = false;
  await says(started, "connected to");
}, 60_000);

test("the enrolment token is never sent", async () => {
  const heard: string[] = [];
  const port = await listening(
    createHttp((request, response) => {
      heard.push(`${request.url} ${JSON.stringify(request.headers)}`);
      request.on("data", (chunk) => heard.push(String(chunk)));
      void fetch(`${service.url}${request.url}`).then(async (answer) =>
        response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text()),
      );
    }),
  );
  delegate(`http://127.0.0.1:${port}`);
  await until("the enrolment", () => heard.some((text) => text.includes("tokenId")), 20_000);
  // Its id and the service's pin may be known; its secret part may not.
  expect(heard.join()).not.toContain(/^ot1_[^_]+_(.{43})_/.exec(token)![1]);
}, 40_000);
