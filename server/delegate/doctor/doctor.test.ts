import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTls } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { freePort } from "../../../test/servers/run.ts";
import { makeServerCertificate, type ServerCertificate } from "../../../test/servers/tls.ts";
import { startService, type TestService } from "../../control/testing/service.ts";
import { foreignToken, startFakeService } from "../../link/testing/fake-service.ts";
import { makeDelegate, startDelegate } from "../testing/delegate.ts";
import { temporaryFolder } from "../testing/temporary.ts";
import type { Check } from "./check.ts";
import { examine, runDoctor } from "./doctor.ts";

/** Each layer fails for real, and is the one that is named. */
jest.setTimeout(60_000);
const dir = temporaryFolder();
const servers: { close(): unknown }[] = [];
let service: TestService;
let token: string;
let tokenId: string;
let certificate: ServerCertificate;
let other: ServerCertificate;

beforeAll(async () => {
  const folder = (name: string) => {
    mkdirSync(join(dir, name));
    return join(dir, name);
  };
  [service, certificate, other] = await Promise.all([
    startService(),
    makeServerCertificate(folder("one"), ["DNS:localhost"]),
    makeServerCertificate(folder("two"), ["DNS:outpost.test", "IP:127.0.0.1"]),
  ]);
  ({ token, tokenId } = await makeDelegate(service, "one"));
}, 60_000);
afterAll(async () => {
  for (const server of servers) server.close();
  await service?.stop();
});

const listen = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  servers.push({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  return (server.address() as AddressInfo).port;
};
const tls = (from: ServerCertificate, handler: RequestListener = (_, response) => void response.end("{}")) =>
  listen(
    createTls({ cert: readFileSync(from.certificate), key: readFileSync(from.key) }, handler) as unknown as Server,
  );
const html: RequestListener = (_, response) =>
  void response.writeHead(200, { "content-type": "text/html" }).end("<html>sign in</html>");
let count = 0;
const look = (env: NodeJS.ProcessEnv, now?: () => number) =>
  examine(
    {
      PATH: process.env.PATH,
      OUTPOST_WORK_DIR: join(dir, `work-${++count}`),
      OUTPOST_CONFIG_FILE: "",
      OUTPOST_ALLOW_METADATA: "true",
      DELEGATE_TOKEN: token,
      ...env,
    },
    now,
  );
const of = (checks: Check[], layer: string) => checks.find((check) => check.layer === layer)!;
const failing = (checks: Check[]) => [
  ...new Set(checks.filter(({ state }) => state === "fail").map(({ layer }) => layer)),
];

/** A proxy for CONNECT that wants this user, if any. */
async function proxy(user?: string): Promise<number> {
  const server = createServer();
  server.on("connect", (request, socket, head) => {
    const given = Buffer.from(String(request.headers["proxy-authorization"] ?? "").slice(6), "base64").toString();
    if (user && given !== user) return void socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const [host, port] = request.url!.split(":") as [string, string];
    const out = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      out.write(head);
      out.pipe(socket).pipe(out);
    });
    out.on("error", () => socket.destroy());
    socket.on("error", () => out.destroy());
  });
  return listen(server);
}

test("all is well: nothing fails, the token is not used up, and a delegate that works is not disturbed", async () => {
  const env = { OUTPOST_ENDPOINT: service.url };
  const before = await look(env);
  expect([failing(before), of(before, "token").message, of(before, "identity").state]).toEqual([
    [],
    `${tokenId} can be used`,
    "skipped",
  ]);
  const workDir = join(dir, "running");
  const delegate = await startDelegate(service, { id: "one", token, workDir });
  try {
    const [session] = await service.db.query("select hash from sessions");
    const checks = await look({ ...env, OUTPOST_WORK_DIR: workDir });
    expect([failing(checks), of(checks, "identity").message]).toEqual([
      [],
      expect.stringMatching(/^delegate one of account default, worker /),
    ]);
    expect(of(checks, "workdir").message).toContain("a delegate works in it now");
    expect(await service.db.query("select hash from sessions")).toEqual([session]);
    expect((await service.db.query("select uses from tokens where id = $1", [tokenId]))[0]!.uses).toBe(1);
  } finally {
    await delegate.stop();
  }
});

test.each<[string, (env: NodeJS.ProcessEnv) => Promise<NodeJS.ProcessEnv>, string, RegExp]>([
  ["no address", async () => ({}), "settings", /OUTPOST_ENDPOINT is not set/],
  [
    "a name that does not exist",
    async () => ({ OUTPOST_ENDPOINT: "https://nowhere.invalid" }),
    "dns",
    /nowhere\.invalid cannot be resolved \(ENOTFOUND|EAI_AGAIN/,
  ],
  [
    "a port where nobody listens",
    async () => ({ OUTPOST_ENDPOINT: `http://127.0.0.1:${await freePort()}` }),
    "tcp",
    /ECONNREFUSED.*nothing listens/,
  ],
  [
    "a proxy that is not there",
    async () => ({ OUTPOST_ENDPOINT: service.url, HTTP_PROXY: `http://127.0.0.1:${await freePort()}` }),
    "proxy",
    /no connection to the proxy/,
  ],
  [
    "a proxy that wants a password",
    async () => ({
      OUTPOST_ENDPOINT: service.url,
      PROXY_HOST: "127.0.0.1",
      PROXY_PORT: String(await proxy("me:right")),
      PROXY_USER: "me",
      PROXY_PASSWORD: "wrong",
    }),
    "proxy",
    /answered 407.*PROXY_PASSWORD/,
  ],
  [
    "a private CA that is not trusted",
    async () => ({ OUTPOST_ENDPOINT: `https://localhost:${await tls(certificate)}` }),
    "tls",
    /not trusted.*issued by test servers.*OUTPOST_CA_FILE/,
  ],
  [
    "another CA than the one that is trusted",
    async () => ({ OUTPOST_ENDPOINT: `https://localhost:${await tls(certificate)}`, OUTPOST_CA_FILE: other.ca }),
    "tls",
    /issued by test servers/,
  ],
  [
    "a certificate for another host",
    async () => ({ OUTPOST_ENDPOINT: `https://localhost:${await tls(other)}`, OUTPOST_CA_FILE: other.ca }),
    "tls",
    /is for DNS:outpost\.test.*not for localhost/,
  ],
  [
    "http where https is expected",
    async () => ({ OUTPOST_ENDPOINT: service.url.replace("http:", "https:") }),
    "tls",
    /does not speak TLS/,
  ],
  [
    "a sign-in page with status 200",
    async () => ({ OUTPOST_ENDPOINT: `http://127.0.0.1:${await listen(createServer(html))}` }),
    "http",
    /answered 200 with text\/html, which Outpost never does/,
  ],
  [
    "a token that was cut",
    async () => ({ OUTPOST_ENDPOINT: service.url, DELEGATE_TOKEN: token.slice(0, -3) }),
    "token",
    /is not complete/,
  ],
  [
    "a token of another service",
    async () => ({ OUTPOST_ENDPOINT: service.url, DELEGATE_TOKEN: await foreignToken() }),
    "token",
    /was made by another service/,
  ],
  ["no token", async () => ({ OUTPOST_ENDPOINT: service.url, DELEGATE_TOKEN: "" }), "token", /set OUTPOST_TOKEN/],
  [
    "a work folder that is somebody else's",
    async () => ({ OUTPOST_ENDPOINT: service.url, OUTPOST_WORK_DIR: "/proc/none/work" }),
    "workdir",
    /cannot be written/,
  ],
])("%s: the layer is named", async (_name, make, layer, message) => {
  const env = await make({});
  const checks = await look(env);
  expect(failing(checks)).toEqual([layer]);
  expect(of(checks, layer).message).toMatch(message);
});

test("an expired certificate says when it expired", async () => {
  const at = join(dir, "old");
  mkdirSync(at);
  const config =
    "[ca]\ndefault_ca=c\n[c]\ndatabase=index\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\nserial=serial\ncopy_extensions=copy\n[p]\ncommonName=supplied\n[req]\ndistinguished_name=dn\n[dn]\n";
  for (const [name, text] of Object.entries({ config, index: "", serial: "01\n" })) writeFileSync(join(at, name), text);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: at, stdio: "ignore" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key"];
  openssl(
    "req",
    "-new",
    "-config",
    "config",
    ...key,
    "-subj",
    "/CN=localhost",
    "-addext",
    "subjectAltName=DNS:localhost",
    "-out",
    "request",
  );
  const dates = ["-startdate", "20200101000000Z", "-enddate", "20200201000000Z"];
  openssl(
    "ca",
    "-config",
    "config",
    "-batch",
    "-selfsign",
    "-notext",
    "-keyfile",
    "key",
    "-in",
    "request",
    ...dates,
    "-out",
    "old.crt",
  );
  const cert = join(at, "old.crt");
  const port = await tls({ ca: cert, certificate: cert, key: join(at, "key") });
  const checks = await look({ OUTPOST_ENDPOINT: `https://localhost:${port}`, OUTPOST_CA_FILE: cert });
  expect(of(checks, "tls").message).toMatch(/the certificate expired on Feb .* 2020 GMT; this machine's clock says/);
});

test("a token that was revoked is told from one that can be used, and neither is used up", async () => {
  const { token: revoked, tokenId: id } = await makeDelegate(service, "two");
  expect(of(await look({ OUTPOST_ENDPOINT: service.url, DELEGATE_TOKEN: revoked }), "token").state).toBe("ok");
  await service.ask("DELETE", `/v1/delegates/two/tokens/${id}`);
  const checks = await look({ OUTPOST_ENDPOINT: service.url, DELEGATE_TOKEN: revoked });
  expect([failing(checks), of(checks, "token").message]).toEqual([
    ["token"],
    expect.stringMatching(/unknown, used by another worker, expired or revoked/),
  ]);
});

test("a clock that is wrong is a warning with its seconds", async () => {
  const checks = await look({ OUTPOST_ENDPOINT: service.url }, () => Date.now() - 600_000);
  expect(of(checks, "clock")).toMatchObject({
    state: "warn",
    message: expect.stringMatching(/(599|600|601) s behind/),
  });
});

test("through a proxy with a user, and with a private CA, the way is found good", async () => {
  const fake = await startFakeService("delegate");
  servers.push(fake);
  const forward: RequestListener = (request, response) => {
    void fetch(`${fake.endpoint}${request.url}`).then(async (answer) => {
      response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
    });
  };
  const checks = await look({
    OUTPOST_ENDPOINT: `https://localhost:${await tls(certificate, forward)}`,
    OUTPOST_CA_FILE: certificate.ca,
    HTTPS_PROXY: `http://me:right@127.0.0.1:${await proxy("me:right")}`,
    DELEGATE_TOKEN: await foreignToken(),
  });
  expect(["dns", "proxy", "tls", "http", "clock"].map((layer) => of(checks, layer).state)).toEqual([
    "skipped",
    "ok",
    "ok",
    "ok",
    "ok",
  ]);
  expect(JSON.stringify(checks)).not.toContain("right@");
});

test("for machines it is one JSON object, for people a table that ends with the layer", async () => {
  const said: string[] = [];
  const env = {
    OUTPOST_ENDPOINT: "https://nowhere.invalid",
    OUTPOST_WORK_DIR: join(dir, "said"),
    PATH: process.env.PATH,
  };
  const write = (text: string) => void said.push(text);
  expect(await runDoctor(env, { format: "json", colour: false, write })).toBe(1);
  expect(await runDoctor(env, { format: "table", colour: true, write })).toBe(1);
  const { ok, checks } = JSON.parse(said[0]!);
  expect([ok, checks[1].layer, checks[1].state, checks[3].message]).toEqual([
    false,
    "dns",
    "fail",
    "not looked at: dns comes first",
  ]);
  expect(said[1]).toMatch(/fails at: dns/);
  expect(said[1]).toContain("\u001b[31m");
});
