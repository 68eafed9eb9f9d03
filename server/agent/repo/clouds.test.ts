import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clouds, GOOGLE_EMAIL, startClouds } from "../../../test/servers/clouds.ts";
import { startFront } from "../../../test/servers/front.ts";
import { isCloudOrigin } from "../../base/cloud/cloud-origin.ts";
import { Secret } from "../../base/secret.ts";
import { tokens } from "./auth/tokens.ts";
import { type Bench, configMap, startBench } from "./testing.ts";
import type { RepoAccess } from "./types.ts";
import { identityOf } from "./url.ts";

let bench: Bench;
let clouds: Clouds;
const folder = mkdtempSync(join(tmpdir(), "clouds-"));
const before = { ...process.env };
beforeAll(async () => {
  [bench, clouds] = await Promise.all([startBench(), startClouds()]);
}, 60_000);
beforeEach(() => {
  tokens.clear();
  clouds.requests.length = clouds.tokens.length = 0;
  clouds.onToken = () => {};
  clouds.lifeSeconds = 3_600;
  for (const name of Object.keys(process.env)) if (/^(AZURE|OUTPOST_CLOUD)_/.test(name)) delete process.env[name];
  process.env.OUTPOST_CLOUD_ORIGINS = clouds.url;
});
afterAll(async () => {
  process.env = before;
  await Promise.all([bench?.stop(), clouds?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

const names = (repo: RepoAccess) =>
  bench.names(bench.request("none", { repoURL: repo.url }, { repo, freshness: "hard" }));
const probed = async (repo: RepoAccess) => {
  const got = await bench.service.probe(repo);
  return got.kind === "done" ? "done" : `${got.reason}: ${got.message}`;
};
const otherKey = () =>
  generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" }) as string;

describe("a service account of Google Cloud", () => {
  async function closed(name: string, change?: Record<string, unknown>): Promise<RepoAccess> {
    await bench.git.createRepository(name, { users: { nobody: "x" }, files: { "a.yaml": configMap("a") } });
    clouds.onToken = (_, token) => bench.git.setPassword(name, GOOGLE_EMAIL, token);
    return { url: bench.git.cloneUrl(name), gcpServiceAccountKey: new Secret(clouds.keyFile(change)) };
  }

  test("gets in by a token for its signed assertion, asked for once however many want it", async () => {
    const repo = await closed("google/app");
    expect(await Promise.all([names(repo), names(repo), names(repo)])).toEqual([["a"], ["a"], ["a"]]);
    expect(await probed(repo)).toBe("done");
    expect(clouds.requests).toEqual(["POST /token"]);
  });

  test("a token is asked for again shortly before it ends, and after the host has refused it", async () => {
    const repo = await closed("google/short");
    clouds.lifeSeconds = 200;
    await names(repo);
    await names(repo);
    // What is left is less than a clone may take.
    expect(clouds.requests.length).toBeGreaterThan(1);
    clouds.lifeSeconds = 3_600;
    expect(await names(repo)).toEqual(["a"]);
    bench.git.setPassword("google/short", GOOGLE_EMAIL, "withdrawn");
    expect(await probed(repo)).toMatch(/^AuthenticationFailed: .* does not accept the credentials given for it/);
    expect(await probed(repo)).toBe("done");
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ["another account's key", { private_key: otherKey() }, /^TokenRefused: .*Invalid JWT Signature/],
    [
      "an account that is gone",
      { client_email: "gone@project.iam.gserviceaccount.com" },
      /^TokenRefused: .*account not found/,
    ],
    [
      "a key that is none",
      { private_key: "canary" },
      /^AuthenticationFailed: private_key of gcpServiceAccountKey is not a private key/,
    ],
    ["a file of another kind", { type: "external_account" }, /^AuthenticationFailed: .*not service_account/],
    [
      "a sign-in that is not Google's",
      { token_uri: "https://evil.example/token" },
      /^AuthenticationFailed: .*not Google's/,
    ],
    [
      "a sign-in that nobody listens at",
      { token_uri: "http://127.0.0.1:1/token" },
      /^ConnectionRefused: nothing listens at/,
    ],
  ])("%s is told, and no key with it", async (what, change, want) => {
    process.env.OUTPOST_CLOUD_ORIGINS = `${clouds.url}, http://127.0.0.1:1`;
    const said = await probed(await closed(`google/${what.replace(/\W/g, "")}`, change));
    expect(said).toMatch(want);
    expect(said).not.toMatch(/BEGIN|canary/);
  });

  test("a sign-in that fails for a moment is asked again", async () => {
    const repo = await closed("google/moment");
    clouds.fail = 503;
    expect(await probed(repo)).toMatch(/^RepositoryUnreachable: .*answered 503/);
    expect(await probed(repo)).toBe("done");
  });
});

describe("an identity in Azure", () => {
  const principal = (change: Partial<RepoAccess["azurePrincipal"]> = {}) => ({
    azurePrincipal: { tenantId: clouds.tenant, clientId: clouds.client, authority: clouds.url, ...change },
    azurePrincipalSecret: new Secret(clouds.secret),
  });
  /** As the Pod of a service account with an identity has it. */
  function inPod(token = clouds.federated): Partial<RepoAccess> {
    const file = join(folder, "federated");
    writeFileSync(file, `${token}\n`);
    const { tenant: AZURE_TENANT_ID, client: AZURE_CLIENT_ID, url: AZURE_AUTHORITY_HOST } = clouds;
    Object.assign(process.env, {
      AZURE_FEDERATED_TOKEN_FILE: file,
      AZURE_TENANT_ID,
      AZURE_CLIENT_ID,
      AZURE_AUTHORITY_HOST,
    });
    return { azureWorkloadIdentity: true };
  }

  test.each<[string, () => Partial<RepoAccess>]>([
    ["the repo server's own", inPod],
    ["a service principal's", principal],
  ])("%s opens a repository by a bearer token for Azure DevOps", async (_, way) => {
    const name = await bench.repository({ "a.yaml": configMap("a") });
    const access = way();
    let front: Awaited<ReturnType<typeof startFront>> | undefined;
    const token = new Promise<string>((resolve) => {
      clouds.onToken = (_what, given) => resolve(given);
    });
    try {
      // The guard knows the token before it is used.
      const first = bench.service.probe({ ...access, url: `${clouds.url}/none` });
      front = await startFront({ to: bench.git.port, authorization: `Bearer ${await token}` });
      await first;
      process.env.OUTPOST_CLOUD_ORIGINS = `${clouds.url},${front.url}`;
      expect(await names({ ...access, url: `${front.url}/${name}.git` })).toEqual(["a"]);
      expect(clouds.tokens.map(({ what }) => what)).toEqual(["azure 499b84ac-1321-427f-aa17-267ca6975798/.default"]);
    } finally {
      await front?.stop();
    }
  });

  test.each<[string, () => Partial<RepoAccess>]>([
    ["the repo server's own", inPod],
    ["a service principal's", principal],
  ])("%s opens a registry of Azure by what the registry gives for it", async (_, way) => {
    const repo = { ...way(), type: "oci" as const, forceHttp: true, url: `oci://${clouds.host}/team/app` };
    expect(await probed(repo)).toBe("done");
    expect(clouds.tokens.map(({ what }) => what)).toEqual(["azure https://management.core.windows.net/.default"]);
    expect(clouds.requests).toContain("POST /oauth2/exchange");
  });

  test("is shown to no host but Azure's", async () => {
    const through = { ...inPod(), url: `${clouds.url}/x.git` };
    for (const way of [{ insecure: true }, { proxy: "http://127.0.0.1:1" }])
      expect(await probed({ ...through, ...way })).toMatch(/^RepositoryUrlRefused: .*no unchecked server/);
    delete process.env.OUTPOST_CLOUD_ORIGINS;
    const none = { azureWorkloadIdentity: true };
    for (const url of [
      `${clouds.url}/x.git`,
      "https://dev.azure.com.evil.example/x",
      "https://ana@dev.azure.com:8443/x",
      "http://dev.azure.com/x",
    ])
      expect(await probed({ ...none, url })).toMatch(/^RepositoryUrlRefused: .*shown to no other host|^HostNotFound/);
    expect(await probed({ ...none, type: "oci", url: `oci://${clouds.host}/x`, forceHttp: true })).toMatch(
      /^RepositoryUrlRefused/,
    );
    expect(
      await probed({ url: "https://dev.azure.com/o/_git/r", ...principal({ authority: "https://evil.example" }) }),
    ).toMatch(/^RepositoryUrlRefused: azureActiveDirectoryEndpoint/);
    expect(clouds.requests.filter((one) => one.startsWith("POST"))).toEqual([]);
  });

  test.each<[string, () => Partial<RepoAccess>, RegExp]>([
    [
      "a Pod without an identity",
      () => ({ azureWorkloadIdentity: true }),
      /^CloudIdentityMissing: .*azure.workload.identity\/use/,
    ],
    ["a token of somebody else", () => inPod("other"), /^TokenRefused: .*AADSTS700213/],
    [
      "another secret",
      () => ({ ...principal(), azurePrincipalSecret: new Secret("canary") }),
      /^TokenRefused: .*AADSTS7000215/,
    ],
    ["another application", () => principal({ clientId: "other" }), /^TokenRefused: .*AADSTS700016/],
    ["another tenant", () => principal({ tenantId: "other" }), /^TokenRefused: .*no such tenant/],
    ["a tenant that is a path", () => principal({ tenantId: "../x" }), /^AuthenticationFailed: .*must be ids/],
  ])("%s is told", async (_, way, want) => {
    const said = await probed({ url: `${clouds.url}/x.git`, ...way() });
    expect(said).toMatch(want);
    expect(said).not.toContain("canary");
  });
});

test.each<[string, boolean]>([
  ["https://login.microsoftonline.com/x", true],
  ["http://login.microsoftonline.com/x", false],
  ["https://login.microsoftonline.com:8443/x", false],
  ["https://user@login.microsoftonline.com/x", false],
  ["https://login.microsoftonline.com.evil.example/x", false],
  ["https://allowed.example/x", true],
  ["https://allowed.example:8443/x", false],
  ["no address", false],
])("%s is a cloud's own: %s", (url, want) => {
  process.env.OUTPOST_CLOUD_ORIGINS = "https://allowed.example, no address,";
  expect(isCloudOrigin(url, /^login\.microsoftonline\.com$/)).toBe(want);
});

test("another key, secret or identity is another way in, whose copies are apart", () => {
  const url = "https://h/x";
  const ways: RepoAccess[] = [
    { url },
    { url, gcpServiceAccountKey: new Secret("a") },
    { url, gcpServiceAccountKey: new Secret("b") },
    { url, azureWorkloadIdentity: true },
    { url, azurePrincipal: { clientId: "c", tenantId: "t" }, azurePrincipalSecret: new Secret("a") },
    { url, azurePrincipal: { clientId: "c", tenantId: "t" }, azurePrincipalSecret: new Secret("b") },
  ];
  expect(new Set(ways.map((way) => JSON.stringify(identityOf(way)))).size).toBe(ways.length);
});
