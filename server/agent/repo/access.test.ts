import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canHave } from "../../../test/cluster/tools.ts";
import { startFront } from "../../../test/servers/front.ts";
import { type GithubApp, startGithubApp } from "../../../test/servers/github-app.ts";
import { startRegistry } from "../../../test/servers/registry.ts";
import { run } from "../../../test/servers/run.ts";
import { makeServerCertificate } from "../../../test/servers/tls.ts";
import { Secret } from "../../base/secret.ts";
import { tokens as held } from "./auth/tokens.ts";
import { type Bench, configMap, startBench } from "./testing.ts";
import type { RepoAccess } from "./types.ts";

let bench: Bench;
const folder = mkdtempSync(join(tmpdir(), "access-"));
beforeAll(async () => {
  bench = await startBench();
}, 30_000);
afterAll(async () => {
  await bench.stop();
  rmSync(folder, { recursive: true, force: true });
});

const names = (repo: RepoAccess) =>
  bench.names(bench.request("none", { repoURL: repo.url }, { repo, freshness: "hard" }));
const reason = async (repo: RepoAccess) => {
  const got = await bench.service.probe(repo);
  return got.kind === "done" ? "done" : got.reason;
};

describe("a GitHub App", () => {
  let github: GithubApp;
  beforeAll(async () => {
    github = await startGithubApp();
    github.installations.set("team", { kind: "orgs", id: 77 }).set("ana", { kind: "users", id: 78 });
  });
  afterAll(() => github.stop());
  beforeEach(() => {
    held.clear();
    github.requests.length = 0;
  });

  async function closed(name: string): Promise<RepoAccess> {
    await bench.git.createRepository(name, { users: { nobody: "x" }, files: { "a.yaml": configMap("a") } });
    github.onToken = (token) => bench.git.setPassword(name, "x-access-token", token);
    return {
      url: bench.git.cloneUrl(name),
      githubApp: { id: github.id, baseUrl: github.url },
      githubAppPrivateKey: new Secret(github.privateKey),
    };
  }
  const tokens = () => github.requests.filter((one) => one.startsWith("POST")).length;

  test("gets in by a token of the installation that the repository's owner has, asked for once", async () => {
    const repo = await closed("team/app");
    expect(await names(repo)).toEqual(["a"]);
    expect(await Promise.all([names(repo), names(repo)])).toEqual([["a"], ["a"]]);
    expect(github.requests).toEqual(["GET /orgs/team/installation", "POST /app/installations/77/access_tokens"]);
    // A new token is no other way in: the copy is the same.
    held.clear();
    await bench.git.commit("team/app", { "b.yaml": configMap("b") }, "more");
    expect(await names(repo)).toEqual(["a", "b"]);
  });

  test("a user's installation, and one that is named", async () => {
    expect(await names(await closed("ana/app"))).toEqual(["a"]);
    github.requests.length = 0;
    const repo = await closed("other/app");
    expect(await names({ ...repo, githubApp: { ...repo.githubApp!, installationId: "77" } })).toEqual(["a"]);
    expect(github.requests).toEqual(["POST /app/installations/77/access_tokens"]);
  });

  test("a token is asked for again before it ends, and when the host refuses it", async () => {
    const repo = await closed("team/short");
    github.lifeMs = 301_000;
    try {
      await names(repo);
      await names(repo);
      const before = tokens();
      github.lifeMs = 200_000;
      held.clear();
      await names(repo);
      await names(repo);
      // Each command asks: what is left is less than a clone may take.
      expect(tokens() - before).toBeGreaterThan(1);
    } finally {
      github.lifeMs = 3_600_000;
    }
    held.clear();
    expect(await names(repo)).toEqual(["a"]);
    bench.git.setPassword("team/short", "x-access-token", "withdrawn");
    expect(await reason(repo)).toBe("AuthenticationFailed");
    expect(await reason(repo)).toBe("done");
  });

  test.each<[string, (repo: RepoAccess) => RepoAccess, RegExp]>([
    [
      "an owner without it",
      (repo) => ({ ...repo, url: repo.url.replace("team/", "nobody/") }),
      /not installed for nobody/,
    ],
    [
      "an installation that is gone",
      (repo) => ({ ...repo, githubApp: { ...repo.githubApp!, installationId: "99" } }),
      /no installation 99/,
    ],
    [
      "one that is suspended",
      (repo) => ({ ...repo, githubApp: { ...repo.githubApp!, installationId: "80" } }),
      /suspended/,
    ],
    [
      "another app's key",
      (repo) => ({ ...repo, githubAppPrivateKey: new Secret(otherKey()) }),
      /does not accept GitHub App/,
    ],
    ["what is not a key", (repo) => ({ ...repo, githubAppPrivateKey: new Secret("x") }), /not a private key in PEM/],
  ])("%s is told", async (what, change, want) => {
    github.installations.set("late", { kind: "orgs", id: 80, suspended: true });
    const got = await bench.service.probe(change(await closed(`team/${what.replace(/\W/g, "")}`)));
    expect(got).toMatchObject({ kind: "stop", reason: "AuthenticationFailed", message: expect.stringMatching(want) });
    expect(JSON.stringify(got)).not.toContain("BEGIN");
  });
});

const otherKey = () =>
  generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" }) as string;

test.each<[string, string, Partial<RepoAccess>]>([
  ["a bearer token", "Bearer canary-token", { bearerToken: new Secret("canary-token") }],
  [
    "a password that nobody asks for",
    `Basic ${Buffer.from("ana:canary").toString("base64")}`,
    { username: "ana", password: new Secret("canary"), forceHttpBasicAuth: true },
  ],
])("%s goes with the first request", async (_, authorization, credentials) => {
  const name = await bench.repository({ "a.yaml": configMap("a") });
  const front = await startFront({ to: bench.git.port, authorization });
  try {
    expect(await names({ url: `${front.url}/${name}.git`, ...credentials })).toEqual(["a"]);
    expect(new Set(front.seen)).toEqual(new Set([authorization]));
    expect(await reason({ url: `${front.url}/${name}.git` })).toBe("AuthenticationFailed");
  } finally {
    await front.stop();
  }
});

test("a client's certificate, and the authority of a host", async () => {
  const name = await bench.repository({ "a.yaml": configMap("a") });
  const made = await makeServerCertificate(folder);
  const [ca, certificate, key] = [made.ca, made.certificate, made.key].map((file) => readFileSync(file, "utf8"));
  const own = (file: string) => join(folder, file);
  const pair = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=client", "-days", "2"];
  await run("openssl", [
    ...pair,
    "-keyout",
    own("client.key"),
    "-out",
    own("client.crt"),
    "-config",
    own("openssl.conf"),
  ]);
  const [clientCert, clientKey] = ["client.crt", "client.key"].map((file) => readFileSync(own(file), "utf8"));
  const front = await startFront({
    to: bench.git.port,
    tls: { certificate: certificate!, key: key!, clients: clientCert },
  });
  try {
    const url = `${front.url}/${name}.git`;
    const whole = { url, ca, tlsClientCertData: clientCert, tlsClientCertKey: new Secret(clientKey!) };
    expect(await names(whole)).toEqual(["a"]);
    expect(await reason({ ...whole, ca: undefined })).toBe("CertificateUntrusted");
    expect(await reason({ url, ca })).not.toBe("done");
    // Charts go the same way.
    expect(await reason({ ...whole, type: "helm" })).toBe("RepositoryNotFound");
    expect(await reason({ ...whole, ca: undefined, type: "helm" })).toBe("CertificateUntrusted");
  } finally {
    await front.stop();
  }
});

describe("a test of a connection tells the layer that fails", () => {
  let page: Server;
  let url: string;
  beforeAll(async () => {
    page = createServer((_, response) => void response.end("<html>sign in</html>"));
    await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => page.close(resolve)));

  test.each<[string, () => RepoAccess, string]>([
    ["Git: no such host", () => ({ url: "https://nowhere.invalid/x.git" }), "HostNotFound"],
    ["Git: nobody listens", () => ({ url: "http://127.0.0.1:1/x.git" }), "ConnectionRefused"],
    ["Git: no such repository", () => ({ url: bench.git.cloneUrl("nope") }), "RepositoryNotFound"],
    ["Git: a page", () => ({ url: `${url}/x.git` }), "NotARepository"],
    ["Git: an address nobody may ask", () => ({ url: "http://169.254.169.254/x.git" }), "RepositoryUrlRefused"],
    ["SSH: no such host", () => ({ url: "git@nowhere.invalid:x.git" }), "HostNotFound"],
    ["SSH: nobody listens", () => ({ url: "ssh://git@127.0.0.1:1/x.git" }), "ConnectionRefused"],
    ["Helm: no such host", () => ({ type: "helm", url: "https://nowhere.invalid/" }), "HostNotFound"],
    ["Helm: nobody listens", () => ({ type: "helm", url: "http://127.0.0.1:1" }), "ConnectionRefused"],
    ["Helm: a page", () => ({ type: "helm", url }), "NotARepository"],
    ["OCI: no such host", () => ({ type: "oci", url: "oci://nowhere.invalid/x" }), "HostNotFound"],
    ["OCI: nobody listens", () => ({ type: "oci", url: "oci://127.0.0.1:1/x", forceHttp: true }), "ConnectionRefused"],
    [
      "an identity in Azure, for another host",
      () => ({ url: bench.git.cloneUrl("nope"), azureWorkloadIdentity: true }),
      "RepositoryUrlRefused",
    ],
    [
      "an identity in Azure, which is not there",
      () => ({ url: "https://dev.azure.com/o/p/_git/r", azureWorkloadIdentity: true }),
      "CloudIdentityMissing",
    ],
  ])("%s", async (_, repo, want) => expect(await reason(repo())).toBe(want));

  test("Git: credentials", async () => {
    await bench.git.createRepository("guarded", { users: { ana: "pw" }, files: { "a.yaml": configMap("a") } });
    const repo = { url: bench.git.cloneUrl("guarded"), username: "ana" };
    expect(await reason({ ...repo, password: new Secret("pw") })).toBe("done");
    expect(await reason({ ...repo, password: new Secret("no") })).toBe("AuthenticationFailed");
    expect(await reason({ url: repo.url })).toBe("AuthenticationFailed");
  });

  (canHave("registry") ? test : test.skip)(
    "OCI: a registry, a name in it that has no tags, and credentials",
    async () => {
      const registry = await startRegistry({ users: { robot: "pw" } });
      try {
        const repo = { type: "oci" as const, forceHttp: true, username: "robot", password: new Secret("pw") };
        for (const path of ["", "/team", "/team/chart"])
          expect(await reason({ ...repo, url: `oci://${registry.host}${path}` })).toBe("done");
        expect(await reason({ ...repo, url: `oci://${registry.host}/team`, password: new Secret("no") })).toBe(
          "AuthenticationFailed",
        );
        expect(await reason({ ...repo, url: `oci://${bench.git.url.slice(7)}/team` })).toBe("NotARepository");
      } finally {
        await registry.stop();
      }
    },
    60_000,
  );
});
