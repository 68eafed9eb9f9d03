import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { request } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { type ApiServer, startApiServer } from "../../../test/cluster/apiserver.ts";
import { KubeClient } from "../../kube/client.ts";
import { parseKubeconfig } from "../../kube/config.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { Application } from "../controller/application.ts";
import { Destinations } from "../controller/destination.ts";
import { testCluster } from "./connections.ts";
import type { AgentContext } from "./context.ts";

/** Clusters as their Secrets describe them, against a real API server. */
jest.setTimeout(300_000);
const folder = mkdtempSync(join(tmpdir(), "clusters-"));
let api: ApiServer;
let client: KubeClient;
let ca: string;
let proxy: Server;
let through = 0;

beforeAll(async () => {
  api = await startApiServer();
  const config = parseKubeconfig(readFileSync(api.kubeconfig, "utf8"));
  ca = Buffer.from(config.ca!).toString("base64");
  client = new KubeClient(config);
  proxy = createServer().on("connect", (request, socket, head) => {
    through++;
    const [host, port] = request.url!.split(":");
    const onward = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      if (head.length) onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    for (const one of [onward, socket]) one.on("error", () => onward.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  await client?.close();
  await api?.stop();
  proxy?.closeAllConnections();
  await new Promise((resolve) => proxy.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  process.env.OUTPOST_EXEC_COMMANDS = join(folder, "plugin");
});
afterEach(() => {
  delete process.env.OUTPOST_EXEC_COMMANDS;
});

/** A new service account's token, as its cluster gives it. */
async function token(name: string): Promise<string> {
  const at = "/api/v1/namespaces/default/serviceaccounts";
  const made = await client.json("POST", at, {
    body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } },
  });
  expect(made.kind).toBe("done");
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const given = await client.json<{ status: { token: string } }>("POST", `${at}/${name}/token`, { body });
  if (given.kind !== "done") throw new Error(given.message);
  return given.value.status.token;
}

function plugin(file: string): string {
  const command = join(folder, "plugin");
  const printed = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s"}}`;
  writeFileSync(command, `#!/bin/sh\nprintf '${printed}' "$(cat "${file}")"\n`);
  chmodSync(command, 0o755);
  return command;
}

const secretOf = (config: object, server = api.url, version = "1"): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: "away",
    namespace: "default",
    uid: "u",
    resourceVersion: version,
    labels: { "argocd.argoproj.io/secret-type": "cluster" },
  },
  data: Object.fromEntries(
    Object.entries({ name: "away", server, config: JSON.stringify(config) }).map(([name, value]) => [
      name,
      Buffer.from(value).toString("base64"),
    ]),
  ),
});

/** What a test of the connection says of a cluster whose Secret is there. */
async function connection(config: object, server = api.url): Promise<{ state: string; reason?: string | undefined }> {
  const { metadata, ...rest } = secretOf(config, server);
  const body = { ...rest, metadata: { name: metadata.name, labels: metadata.labels } };
  const at = "/api/v1/namespaces/default/secrets";
  await client.json("DELETE", `${at}/away`);
  const made = await client.json<KubeObject>("POST", at, { body });
  if (made.kind !== "done") throw new Error(made.message);
  const { connection: said } = await testCluster({ client, namespace: "default" } as AgentContext, made.value);
  return { state: said.state, ...(said.reason ? { reason: said.reason } : {}) };
}

test("a program's token, a proxy and a name for the certificate lead to a real API server", async () => {
  const file = join(folder, "token");
  writeFileSync(file, await token("by-plugin"));
  const execProviderConfig = { command: plugin(file), args: ["x"], apiVersion: "client.authentication.k8s.io/v1" };
  const tlsClientConfig = { insecure: false, caData: ca };
  expect(await connection({ execProviderConfig, tlsClientConfig })).toEqual({ state: "Successful" });
  const before = through;
  const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  expect(await connection({ execProviderConfig, tlsClientConfig, proxyUrl })).toEqual({ state: "Successful" });
  expect(through).toBeGreaterThan(before);
  expect(
    await connection({
      execProviderConfig,
      tlsClientConfig: { ...tlsClientConfig, serverName: "kubernetes.default.svc" },
    }),
  ).toEqual({
    state: "Successful",
  });
});

test("what stands before an API server and asks for a name and a password is given those of the Secret, for watches too", async () => {
  const { ca: trusted, cert, key, token: signIn } = client.config;
  const given = (await signIn?.())?.reveal();
  const seen = new Set<string>();
  // As a proxy that signs people in does: it knows names, and speaks to the API server by itself.
  const front = createServer((asked, answer) => {
    seen.add(asked.headers.authorization ?? "");
    const { authorization, host: _, ...headers } = asked.headers;
    if (authorization !== `Basic ${Buffer.from("ana:pass:word").toString("base64")}`)
      return void answer.writeHead(401).end("{}");
    const onward = request(`${api.url}${asked.url}`, {
      method: asked.method,
      headers: { ...headers, ...(given ? { authorization: `Bearer ${given}` } : {}) },
      ca: trusted,
      cert,
      key: key?.reveal(),
    });
    onward.on("response", (said) => said.pipe(answer.writeHead(said.statusCode!, said.headers)));
    asked.pipe(onward);
    answer.on("close", () => onward.destroy());
    onward.on("error", () => answer.destroy());
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const destinations = new Destinations({
    home: client,
    own: "default",
    namespaces: [],
    changed: () => {},
    signal: new AbortController().signal,
  });
  const abort = new AbortController();
  try {
    expect(await connection({ username: "ana", password: "pass:word" }, url)).toEqual({ state: "Successful" });
    expect(await connection({ username: "ana", password: "other" }, url)).toEqual({
      state: "Failed",
      reason: "AuthenticationFailed",
    });
    seen.clear();
    expect(await connection({ username: "ana", password: "pass:word", bearerToken: "t" }, url)).toMatchObject({
      state: "Failed",
    });
    expect([...seen]).toEqual(["Bearer t"]);

    destinations.replace([secretOf({ username: "ana", password: "pass:word" }, url)]);
    const found = await destinations.find({ spec: { destination: { name: "away" } } } as Application);
    if (found.kind !== "done") throw new Error(found.message);
    const watched = await found.value.client.stream("/api/v1/namespaces", { watch: true }, abort.signal);
    if (watched.kind !== "done") throw new Error(watched.message);
    for await (const line of watched.value) {
      expect(JSON.parse(line.toString().split("\n")[0]!)).toMatchObject({
        type: "ADDED",
        object: { kind: "Namespace" },
      });
      break;
    }
  } finally {
    abort.abort();
    await destinations.close();
    front.closeAllConnections();
    await new Promise((resolve) => front.close(resolve));
  }
});

test.each<[string, () => object, string | undefined, string]>([
  ["no such host", () => ({}), "https://nowhere.invalid", "HostNotFound"],
  ["nobody listens", () => ({}), "https://127.0.0.1:1", "ConnectionRefused"],
  ["another authority", () => ({ tlsClientConfig: {} }), undefined, "CertificateUntrusted"],
  [
    "another name",
    () => ({ tlsClientConfig: { caData: ca, serverName: "other.example" } }),
    undefined,
    "CertificateUntrusted",
  ],
  [
    "a token that is none",
    () => ({ bearerToken: "x", tlsClientConfig: { insecure: true } }),
    undefined,
    "AuthenticationFailed",
  ],
  [
    "a program that is not allowed",
    () => ({ execProviderConfig: { command: "aws" }, tlsClientConfig: { insecure: true } }),
    undefined,
    "SignInFailed",
  ],
  ["an address nobody may ask", () => ({}), "https://169.254.169.254", "ClusterSecretInvalid"],
  [
    "a proxy that is not spoken to",
    () => ({ bearerToken: "x", proxyUrl: "socks5://127.0.0.1:1" }),
    undefined,
    "ClusterSecretInvalid",
  ],
])("a test of a cluster's connection tells the layer that fails: %s", async (_, config, server, reason) => {
  expect(await connection(config(), server)).toEqual({ state: "Failed", reason });
});

test("a token that was changed is used without a restart: in the Secret at once, of a program when the old one is refused", async () => {
  const destinations = new Destinations({
    home: client,
    own: "default",
    namespaces: [],
    changed: () => {},
    signal: new AbortController().signal,
  });
  const ask = async () => {
    const found = await destinations.find({ spec: { destination: { name: "away" } } } as Application);
    if (found.kind !== "done") throw new Error(found.message);
    const said = await found.value.client.json("GET", "/version");
    return said.kind === "done" ? "done" : said.reason;
  };
  const gone = (name: string) => client.json("DELETE", `/api/v1/namespaces/default/serviceaccounts/${name}`);
  const until = async (want: string) => {
    const deadline = Date.now() + 120_000;
    while (Date.now() < deadline) {
      if ((await ask()) === want) return want;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return ask();
  };
  const tlsClientConfig = { caData: ca };
  try {
    destinations.replace([secretOf({ bearerToken: await token("first"), tlsClientConfig })]);
    expect(await ask()).toBe("done");
    await gone("first");
    // The API server remembers for a while whom it has let in.
    expect(await until("Unauthorized")).toBe("Unauthorized");
    destinations.replace([secretOf({ bearerToken: await token("second"), tlsClientConfig }, api.url, "2")]);
    expect(await ask()).toBe("done");

    const file = join(folder, "changing");
    writeFileSync(file, await token("third"));
    destinations.replace([secretOf({ execProviderConfig: { command: plugin(file) }, tlsClientConfig }, api.url, "3")]);
    expect(await ask()).toBe("done");
    await gone("third");
    writeFileSync(file, await token("fourth"));
    expect(await until("done")).toBe("done");
    await gone("fourth");
    expect(await until("Unauthorized")).toBe("Unauthorized");
    writeFileSync(file, await token("fifth"));
    expect(await until("done")).toBe("done");
  } finally {
    await destinations.close();
  }
});
