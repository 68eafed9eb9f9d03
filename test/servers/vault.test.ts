import { readFile } from "node:fs/promises";
import { Agent, fetch } from "undici";
import { type ApiServer, startApiServer } from "../cluster/apiserver.ts";
import { buildTools, canHave } from "../cluster/tools.ts";
import { startVault, type Vault } from "./vault.ts";

const possible = canHave("vault") ? describe : describe.skip;

possible("Vault (skipped without Go to build it)", () => {
  let vault: Vault;
  beforeAll(async () => {
    await buildTools(() => {}, ["vault", "etcd", "kubernetes"]);
    vault = await startVault();
  }, 40 * 60_000);
  afterAll(() => vault?.stop());

  const ask = async (path: string, headers: Record<string, string> = {}, body?: unknown) => {
    const answer = await fetch(`${vault.url}/v1${path}`, {
      headers,
      ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
    });
    // biome-ignore lint/suspicious/noExplicitAny: Vault's own documents.
    return { status: answer.status, body: (await answer.json()) as any };
  };

  test("both versions of its key-value store are read, by whom a policy lets", async () => {
    await vault.put("secret/team/db", { password: "hunter2" });
    await vault.put("kv1/team/db", { password: "old" });
    await vault.policy("reader", { "secret/data/team/*": ["read"], "kv1/team/*": ["read"] });
    const token = await vault.createToken({ policies: ["reader"] });
    const headers = { "x-vault-token": token, "x-vault-namespace": "team-a" };
    expect((await ask("/secret/data/team/db", headers)).body.data.data).toEqual({ password: "hunter2" });
    expect((await ask("/kv1/team/db", headers)).body.data).toEqual({ password: "old" });
    expect((await ask("/secret/data/other", headers)).status).toBe(403);
    expect((await ask("/secret/data/team/none", headers)).status).toBe(404);
    expect((await ask("/secret/data/team/db", { "x-vault-token": "wrong" })).status).toBe(403);
    expect((await ask("/auth/token/lookup-self", headers)).body.data.policies).toEqual(["default", "reader"]);
    expect(vault.requests[0]).toEqual({
      method: "GET",
      path: "/v1/secret/data/team/db",
      namespace: "team-a",
      token,
      status: 200,
    });
  });

  test("AppRole lets in with a secret id, as often as it may be used", async () => {
    const { roleId, secretId } = await vault.appRole("delegate", ["reader"], { ttl: "15m", secretIdUses: 1 });
    const login = () => ask("/auth/approle/login", {}, { role_id: roleId, secret_id: secretId });
    expect((await login()).body.auth).toMatchObject({
      lease_duration: 900,
      renewable: true,
      token_policies: ["default", "reader"],
    });
    expect((await login()).status).toBe(400);
  });

  test("a failure is Vault's own words, once", async () => {
    const look = () => ask("/auth/token/lookup-self", { "x-vault-token": vault.token });
    vault.fail("/v1/auth/token/lookup-self", { status: 500, errors: ["1 error occurred"] });
    expect(await look()).toMatchObject({ status: 500, body: { errors: ["1 error occurred"] } });
    expect((await look()).status).toBe(200);
  });

  describe("with a cluster", () => {
    let cluster: ApiServer | undefined;
    afterAll(() => cluster?.stop());

    test("a service account is let in as the role it is bound to", async () => {
      cluster = await startApiServer();
      const config = JSON.parse(await readFile(cluster.kubeconfig, "utf8"));
      const ca = Buffer.from(config.clusters[0].cluster["certificate-authority-data"], "base64").toString();
      const dispatcher = new Agent({ connect: { ca, checkServerIdentity: () => undefined } });
      const authorization = `Bearer ${config.users[0].user.token}`;
      const create = async (path: string, object: unknown) => {
        const headers = { authorization, "content-type": "application/json" };
        const answer = await fetch(cluster!.url + path, {
          method: "POST",
          headers,
          body: JSON.stringify(object),
          dispatcher,
        });
        if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
        // biome-ignore lint/suspicious/noExplicitAny: Kubernetes' own documents.
        return (await answer.json()) as any;
      };
      const account = { kind: "ServiceAccount", name: "delegate", namespace: "default" };
      const rbac = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:auth-delegator" };
      await create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        metadata: { name: "reviewers" },
        roleRef: rbac,
        subjects: [account],
      });
      const accounts = "/api/v1/namespaces/default/serviceaccounts";
      await create(accounts, { metadata: { name: "delegate" } });
      const { status } = await create(`${accounts}/delegate/token`, { spec: { expirationSeconds: 600 } });
      await vault.kubernetes({
        host: cluster.url,
        ca,
        roles: {
          deploys: { namespace: "default", serviceAccount: "delegate", policies: ["reader"] },
          other: { namespace: "default", serviceAccount: "other", policies: [] },
        },
      });
      const login = (role: string, jwt: string) => ask("/auth/kubernetes/login", {}, { role, jwt });
      expect((await login("deploys", status.token)).body.auth).toMatchObject({ token_policies: ["default", "reader"] });
      expect((await login("other", status.token)).status).toBe(403);
      expect((await login("deploys", `${status.token.slice(0, -4)}AAAA`)).status).toBe(403);
      await dispatcher.close();
    }, 60_000);
  });

  test("sealed, it answers 503", async () => {
    await vault.seal();
    expect(await ask("/secret/data/team/db", { "x-vault-token": vault.token })).toMatchObject({
      status: 503,
      body: { errors: [expect.stringMatching(/sealed/)] },
    });
  });
});
