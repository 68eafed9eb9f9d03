import { readFileSync, writeFileSync } from "node:fs";
import { createServer as createPlain, request } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { type ApiServer, startApiServer } from "../../../test/cluster/apiserver.ts";
import { buildTools, canHave } from "../../../test/cluster/tools.ts";
import { makeServerCertificate } from "../../../test/servers/tls.ts";
import { startVault, type Vault } from "../../../test/servers/vault.ts";
import { KubeClient } from "../../kube/client.ts";
import { parseKubeconfig } from "../../kube/config.ts";
import { temporaryFolder } from "../testing/temporary.ts";
import { type VaultConfig, VaultSource } from "./vault.ts";

jest.setTimeout(90_000);
const dir = temporaryFolder();
const possible = canHave("vault") ? describe : describe.skip;

possible("a real Vault (skipped without Go to build it)", () => {
  let vault: Vault;
  let reader: string;

  const admin = (method: string, path: string, body?: unknown) => vault.api(method, `/${path}`, body);

  const tokenFor = async (more: object = {}): Promise<string> =>
    (await admin("POST", "auth/token/create", { policies: ["read"], no_default_policy: false, ...more })).auth
      .client_token;

  beforeAll(async () => {
    await buildTools(() => {}, ["vault"]);
    vault = await startVault();
    await admin("POST", "sys/mounts/old/kv", { type: "kv", options: { version: "1" } });
    await admin("POST", "secret/data/team/db", {
      data: { password: "password-of-v2", port: 54_320_000, "with space": "value-by-space" },
    });
    await admin("POST", "secret/data/team/gone", { data: { a: "deleted-value" } });
    await admin("DELETE", "secret/data/team/gone");
    await admin("POST", "secret/data/closed/x", { data: { a: "closed-value" } });
    await admin("PUT", "old/kv/team/db", { password: "password-of-v1" });
    const policy =
      'path "secret/data/team/*" { capabilities = ["read"] }\npath "old/kv/team/*" { capabilities = ["read"] }';
    await admin("PUT", "sys/policies/acl/read", { policy });
    reader = await tokenFor();
  }, 20 * 60_000);
  afterAll(() => vault?.stop());

  const tokenFile = (token: string) => {
    const file = join(dir, `token-${Math.random().toString(36).slice(2)}`);
    writeFileSync(file, `${token}\n`);
    return file;
  };
  const source = (more: Partial<VaultConfig> = {}, env: NodeJS.ProcessEnv = {}) =>
    new VaultSource({ address: vault.url, auth: { token: { env: "READER" } }, ...more }, { READER: reader, ...env });
  const read = (path: string, key: string | undefined, from = source()) =>
    from.read(path, key, new AbortController().signal);

  test("an entry is read by its key, from version 1 and 2 of the engine, found or told", async () => {
    expect(await read("secret/team/db", "password")).toEqual({ kind: "done", value: "password-of-v2" });
    expect(await read("old/kv/team/db", "password")).toEqual({ kind: "done", value: "password-of-v1" });
    expect(await read("secret/team/db", "port")).toEqual({ kind: "done", value: "54320000" });
    expect(await read("secret/team/db", "with space")).toEqual({ kind: "done", value: "value-by-space" });
    expect(await read("secret/team/db", "password", source({ kv: 2 }))).toEqual({
      kind: "done",
      value: "password-of-v2",
    });
  });

  test.each<[string, () => ReturnType<typeof read>, object]>([
    [
      "an entry that is not there",
      () => read("secret/team/none", "a"),
      { kind: "stop", reason: "SecretNotFound", message: "Vault has nothing at secret/team/none" },
    ],
    ["an entry that was deleted", () => read("secret/team/gone", "a"), { kind: "stop", reason: "SecretNotFound" }],
    [
      "a key that is not there",
      () => read("secret/team/db", "none"),
      { kind: "stop", reason: "SecretNotFound", message: "the entry secret/team/db has no key none" },
    ],
    [
      "no key",
      () => read("secret/team/db", undefined),
      { kind: "stop", reason: "SecretRefused", message: expect.stringMatching(/#KEY/) },
    ],
    ["no path", () => read("secret", "a"), { kind: "stop", reason: "SecretRefused" }],
    ["a way out", () => read("secret/team/../closed/x", "a"), { kind: "stop", reason: "SecretRefused" }],
    [
      "a right that is missing",
      () => read("secret/closed/x", "a"),
      { kind: "stop", reason: "SecretRefused", message: expect.stringMatching(/does not let/) },
    ],
    ["an engine that is not there", () => read("nowhere/a", "a"), { kind: "stop", reason: "SecretRefused" }],
    [
      "a token that is none",
      () => read("secret/team/db", "password", source({}, { READER: "hvs.wrong-token" })),
      { kind: "stop", reason: "SecretRefused" },
    ],
    [
      "a token that is not there",
      () => read("secret/team/db", "password", source({}, { READER: "" })),
      { kind: "stop", reason: "SecretRefused", message: expect.stringMatching(/READER/) },
    ],
    [
      "a Vault that is away",
      () => read("secret/team/db", "password", source({ address: "http://127.0.0.1:1" })),
      { kind: "again", reason: "SecretSourceUnavailable" },
    ],
  ])("%s is said by name, and no value", async (_name, asking, want) => {
    const outcome = await asking();
    expect(outcome).toMatchObject(want);
    expect(JSON.stringify(outcome)).not.toMatch(/hvs\.|password-of|closed-value|deleted-value/);
  });

  test("a token that was replaced in its file is used without a restart", async () => {
    const first = await tokenFor();
    const file = tokenFile(first);
    const from = source({ auth: { token: { file } } });
    expect(await read("secret/team/db", "password", from)).toMatchObject({ kind: "done" });
    await admin("POST", "auth/token/revoke", { token: first });
    expect(await read("secret/team/db", "password", from)).toMatchObject({ kind: "stop", reason: "SecretRefused" });
    writeFileSync(file, await tokenFor());
    expect(await read("secret/team/db", "password", from)).toMatchObject({ kind: "done" });
  });

  test("a token that is about to end is renewed by its use", async () => {
    const token = await tokenFor({ ttl: "10s", explicit_max_ttl: "60s" });
    const from = source({ auth: { token: { file: tokenFile(token) } } });
    const ends = Date.now() + 13_000;
    while (Date.now() < ends) {
      expect(await read("secret/team/db", "password", from)).toMatchObject({ kind: "done" });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });

  test("an AppRole logs in, and again when its token has ended", async () => {
    await admin("POST", "auth/approle/role/delegate", { token_policies: ["read"], token_ttl: "1h" });
    const roleId = (await admin("GET", "auth/approle/role/delegate/role-id")).data.role_id;
    const secretId = (await admin("POST", "auth/approle/role/delegate/secret-id", {})).data.secret_id;
    const from = source({ auth: { appRole: { roleId, secretId: { env: "SECRET_ID" } } } }, { SECRET_ID: secretId });
    expect(await read("secret/team/db", "password", from)).toMatchObject({ kind: "done" });
    const { keys } = (await admin("LIST", "auth/token/accessors")).data;
    for (const accessor of keys) {
      const { data } = await admin("POST", "auth/token/lookup-accessor", { accessor });
      if (data.path === "auth/approle/login") await admin("POST", "auth/token/revoke-accessor", { accessor });
    }
    expect(await read("secret/team/db", "password", from)).toMatchObject({ kind: "done" });
    const wrong = source({ auth: { appRole: { roleId, secretId: { env: "SECRET_ID" } } } }, { SECRET_ID: "wrong" });
    expect(await read("secret/team/db", "password", wrong)).toMatchObject({
      kind: "stop",
      reason: "SecretRefused",
      message: expect.stringMatching(/log in at auth\/approle/),
    });
  });

  test("a Pod logs in with its service account, which Vault asks the API server about", async () => {
    const api: ApiServer = await startApiServer();
    try {
      const config = parseKubeconfig(readFileSync(api.kubeconfig, "utf8"));
      const client = new KubeClient(config);
      const post = async (path: string, body: unknown) => {
        const made = await client.json<{ status: { token: string } }>("POST", path, { body });
        if (made.kind !== "done") throw new Error(made.message);
        return made.value;
      };
      const account = async (name: string) => {
        await post("/api/v1/namespaces/default/serviceaccounts", {
          apiVersion: "v1",
          kind: "ServiceAccount",
          metadata: { name },
        });
        const asked = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
        return (await post(`/api/v1/namespaces/default/serviceaccounts/${name}/token`, asked)).status.token;
      };
      const [reviewer, delegate] = [await account("vault"), await account("delegate")];
      await post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: "vault" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:auth-delegator" },
        subjects: [{ kind: "ServiceAccount", name: "vault", namespace: "default" }],
      });
      await client.close();
      await admin("POST", "sys/auth/k8s/eu", { type: "kubernetes" });
      await admin("POST", "auth/k8s/eu/config", {
        kubernetes_host: api.url,
        kubernetes_ca_cert: config.ca,
        token_reviewer_jwt: reviewer,
      });
      const bound = {
        bound_service_account_names: "delegate",
        bound_service_account_namespaces: "default",
        token_policies: ["read"],
        token_ttl: "1h",
      };
      await admin("POST", "auth/k8s/eu/role/delegate", bound);
      const as = (jwt: string) =>
        source({ auth: { kubernetes: { role: "delegate", mount: "k8s/eu", tokenFile: tokenFile(jwt) } } });
      expect(await read("secret/team/db", "password", as(delegate))).toEqual({ kind: "done", value: "password-of-v2" });
      expect(await read("secret/team/db", "password", as(reviewer))).toMatchObject({
        kind: "stop",
        reason: "SecretRefused",
      });
    } finally {
      await api.stop();
    }
  });

  test("the namespace goes along with every request", async () => {
    const from = source({ namespace: "team/a" });
    const before = vault.requests.length;
    expect(await read("secret/team/db", "password", from)).toMatchObject({ kind: "done" });
    expect(vault.requests.slice(before).map(({ method, path, namespace }) => [method, path, namespace])).toEqual([
      ["GET", "/v1/auth/token/lookup-self", "team/a"],
      ["GET", "/v1/sys/internal/ui/mounts/secret/team/db", "team/a"],
      ["GET", "/v1/secret/data/team/db", "team/a"],
    ]);
  });

  test("a private CA is trusted from its file, and the token follows no redirect", async () => {
    const { ca, certificate, key } = await makeServerCertificate(dir);
    let elsewhere = false;
    const front = createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, (asked, response) => {
      if (elsewhere) return void response.writeHead(307, { location: vault.url + asked.url }).end();
      const { host: _, ...headers } = asked.headers;
      const inner = request(vault.url + asked.url, { method: asked.method ?? "GET", headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      asked.pipe(inner);
    });
    await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
    const address = `https://127.0.0.1:${(front.address() as AddressInfo).port}`;
    expect(await read("secret/team/db", "password", source({ address }))).toMatchObject({
      kind: "again",
      reason: "SecretSourceUnavailable",
      message: expect.stringMatching(/not trusted/),
    });
    const from = source({ address, caFile: ca });
    expect(await read("secret/team/db", "password", from)).toMatchObject({ kind: "done" });
    elsewhere = true;
    const before = vault.requests.length;
    expect(await read("secret/team/db", "password", from)).toMatchObject({
      kind: "stop",
      reason: "SecretRefused",
      message: expect.stringMatching(/active node/),
    });
    expect(vault.requests.length).toBe(before);
    front.close();
  });

  test("a Vault that is sealed or too busy may come back", async () => {
    const from = source();
    expect(await read("secret/team/db", "password", from)).toMatchObject({ kind: "done" });
    vault.fail("/v1/secret/", { status: 429, times: 1 });
    expect(await read("secret/team/db", "password", from)).toMatchObject({
      kind: "again",
      reason: "SecretSourceUnavailable",
    });
    expect(await read("secret/team/db", "password", from)).toMatchObject({ kind: "done" });
    await vault.seal();
    expect(await read("secret/team/db", "password", from)).toMatchObject({ kind: "again", message: "Vault is sealed" });
  });
});

test.each(["auth/token/lookup-self", "sys/internal/x", "identity/oidc/token/x", "cubbyhole/x"])(
  "what Vault keeps for itself is no secret of tasks: %s",
  async (path) => {
    const vault = createPlain((_, response) => {
      response.end(JSON.stringify({ data: { id: "the-token-of-the-delegate", ttl: 0 } }));
    });
    await new Promise<void>((resolve) => vault.listen(0, "127.0.0.1", resolve));
    try {
      const address = `http://127.0.0.1:${(vault.address() as AddressInfo).port}`;
      const from = new VaultSource(
        { address, kv: 1, auth: { token: { env: "T" } } },
        { T: "the-token-of-the-delegate" },
      );
      expect(await from.read(path, "id", new AbortController().signal)).toMatchObject({
        kind: "stop",
        reason: "SecretRefused",
      });
    } finally {
      vault.close();
    }
  },
);
