import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { request } from "undici";
import { done } from "../../base/outcome.ts";
import { Secret } from "../../base/secret.ts";
import { RepoClient } from "./client.ts";
import { repoServer } from "./server.ts";
import { REPO, type RepoAccess, type RepoApi } from "./types.ts";
import { WIRE } from "./wire.ts";

const secret = new Secret("a secret that both of them share");
const repo: RepoAccess = { url: "https://git.example.com/a.git", password: new Secret("canary") };
const servers: Server[] = [];
const clients: RepoClient[] = [];

async function listen(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function clientOf(address: string): RepoClient {
  const client = new RepoClient(address, secret);
  clients.push(client);
  return client;
}

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  for (const server of servers.splice(0)) server.close();
});

test("a call arrives with its credentials", async () => {
  const seen: RepoAccess[] = [];
  const door = {
    refs: async (one: RepoAccess) => {
      seen.push(one);
      return done({});
    },
  } as unknown as RepoApi;
  const asked = await clientOf(await listen(repoServer(door, secret))).refs(repo);
  expect(asked.kind).toBe("done");
  expect(seen[0]?.password?.reveal()).toBe("canary");
});

test.each([
  ["an older version that knows no other", 404],
  ["a version that says which one it speaks", 409],
])("a repo server of %s is named as that, and is asked again", async (_name, status) => {
  const other = createServer((asked, answer) => void asked.resume().on("end", () => answer.writeHead(status).end()));
  expect(await clientOf(await listen(other)).refs(repo)).toMatchObject({
    kind: "again",
    reason: REPO.server,
    message: expect.stringMatching(/another version than this controller: upgrade both/),
  });
});

test("a controller of another version is refused before its call is opened, in words that it shows", async () => {
  const door = new Proxy({} as RepoApi, {
    get: () => () => {
      throw new Error("it was asked");
    },
  });
  const address = await listen(repoServer(door, secret));
  const answer = await request(`${address}/v${WIRE - 1}/call`, { method: "POST", body: "sealed" });
  expect(answer.statusCode).toBe(409);
  expect(await answer.body.text()).toMatch(`speaks version ${WIRE} of the calls, not v${WIRE - 1}: upgrade both`);
});

/** The compiler asks for every field here. Raise WIRE when this list changes. */
const FIELDS: Record<keyof RepoAccess, true> = {
  url: true,
  name: true,
  type: true,
  username: true,
  password: true,
  sshPrivateKey: true,
  knownHosts: true,
  ca: true,
  insecure: true,
  insecureIgnoreHostKey: true,
  proxy: true,
  noProxy: true,
  forceHttp: true,
  bearerToken: true,
  forceHttpBasicAuth: true,
  tlsClientCertData: true,
  tlsClientCertKey: true,
  githubApp: true,
  githubAppPrivateKey: true,
  gcpServiceAccountKey: true,
  azureWorkloadIdentity: true,
  azurePrincipal: true,
  azurePrincipalSecret: true,
  enableLfs: true,
  submodules: true,
  ways: true,
  sourceRepos: true,
  depth: true,
  project: true,
  lentBelow: true,
  borrowed: true,
  trust: true,
  refused: true,
  keyring: true,
};

test("the fields of an access are those of this version of the wire", () => {
  expect([WIRE, Object.keys(FIELDS).length]).toEqual([2, 34]);
});
