import { generateSealKeys, open, seal } from "../../../openapi/seal.ts";
import { agentsOf } from "../testing/agents.ts";
import { eventually, startService, type TestService } from "../testing/service.ts";
import { TestWorker } from "../testing/worker.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());
const { put, tokenOf, agent } = agentsOf(() => s);

describe("credentials", () => {
  test("are sealed at the edge, shown nowhere, and dropped once the agent has them", async () => {
    const w = await agent("c1");
    const spec = {
      agent: "c1",
      url: "https://git.example/c.git",
      username: "u",
      credentials: { password: "canary-s3cret" },
      credentialsVersion: "1",
    };
    const made = await put("/v1/repositories/c1-repo", spec);
    expect(made.body).toMatchObject({ status: { credentials: "Pending" }, spec: { credentialsVersion: "1" } });
    expect(made.text).not.toContain("canary");
    const dump = JSON.stringify([
      await s.db.query("select * from objects"),
      await s.db.query("select * from events"),
      await s.db.query("select * from deliveries"),
      await s.db.query("select * from audit"),
    ]);
    expect(dump).not.toContain("canary");
    const { objects } = await w.exchange();
    const context = { account: "default", collection: "repositories" as const, id: "c1-repo" };
    expect(await open(w.seal.privateKey, context, objects[0]!.sealed!)).toEqual({ password: "canary-s3cret" });
    expect(objects[0]!.spec).not.toHaveProperty("credentials");
    await w.acknowledge(objects);
    expect((await s.ask("GET", "/v1/repositories/c1-repo")).body.status.credentials).toBe("Delivered");
    expect(await s.db.query("select 1 from deliveries where id = 'c1-repo' and sealed is not null")).toEqual([]);
    // Leaving them out keeps what the agent has.
    const { credentials: _, ...without } = spec;
    const again = await put("/v1/repositories/c1-repo", without);
    expect(again.body).toMatchObject({
      version: (await s.ask("GET", "/v1/repositories/c1-repo")).body.version,
      status: { credentials: "Delivered" },
    });
  });
  test("sealed to another key are refused, and both ways at once too", async () => {
    const w = await agent("c2");
    const other = await generateSealKeys();
    const sealedCredentials = { keyId: other.publicKey.slice(0, 16), enc: "AA", ciphertext: "AA" };
    expect(await put("/v1/repositories/c2-repo", { agent: "c2", url: "https://h/x", sealedCredentials })).toMatchObject(
      {
        status: 422,
        body: { code: "credentials_key_mismatch", pointer: "/spec/sealedCredentials/keyId" },
      },
    );
    expect(
      await put("/v1/repositories/c2-repo", {
        agent: "c2",
        url: "https://h/x",
        sealedCredentials,
        credentials: { password: "p" },
      }),
    ).toMatchObject({ status: 422, body: { code: "invalid_field" } });
    void w;
  });
  test("are given again when a change would send them elsewhere, and the answer names the field", async () => {
    await agent("c4");
    const spec = { agent: "c4", url: "https://git.example/platform/", credentialsVersion: "1" };
    const path = "/v1/repositorycredentials/c4-creds";
    expect((await put(path, { ...spec, credentials: { password: "p" } })).status).toBe(201);
    for (const [change, pointer] of [
      [{ url: "https://evil.example/platform/" }, "/spec/url"],
      [{ url: "https://git.example/" }, "/spec/url"],
      [{ url: "http://git.example:443/platform/" }, "/spec/url"],
      [{ type: "helm" }, "/spec/type"],
      [{ proxy: "http://evil.example:1" }, "/spec/proxy"],
    ] as const) {
      const refused = await put(path, { ...spec, ...change });
      expect([refused.status, refused.body.code, refused.body.pointer]).toEqual([422, "credentials_required", pointer]);
      expect(refused.body.detail).toContain("change `credentialsVersion`");
      const patched = await s.ask("PATCH", path, {
        body: { spec: change },
        headers: { "content-type": "application/merge-patch+json" },
      });
      expect([patched.status, patched.body.code]).toEqual([422, "credentials_required"]);
    }
    expect((await put(path, { ...spec, url: "https://git.example/platform/team/" })).status).toBe(200);
    const again = { ...spec, url: "https://other.example/", credentialsVersion: "2", credentials: { password: "q" } };
    expect((await put(path, again)).status).toBe(200);
  });
  test("are given again for a cluster that is trusted in another way, and nothing is asked where there are none", async () => {
    await agent("c5");
    const spec = { agent: "c5", server: "https://k8s.example", caData: "pem" };
    expect((await put("/v1/clusters/c5-bare", spec)).status).toBe(201);
    expect((await put("/v1/clusters/c5-bare", { ...spec, caData: "other" })).status).toBe(200);
    expect((await put("/v1/clusters/c5-creds", { ...spec, credentials: { bearerToken: "t" } })).status).toBe(201);
    for (const change of [
      { caData: "other" },
      { serverName: "x" },
      { proxyUrl: "http://p:1" },
      { caData: undefined },
    ]) {
      const refused = await put("/v1/clusters/c5-creds", { ...spec, ...change });
      expect([refused.status, refused.body.code, refused.body.pointer]).toEqual([
        422,
        "credentials_required",
        `/spec/${Object.keys(change)[0]}`,
      ]);
    }
    // An agent that signs in by itself keeps none.
    const awsAuth = { clusterName: "c" };
    expect((await put("/v1/clusters/c5-creds", { ...spec, caData: "other", awsAuth })).status).toBe(200);
  });
  test("go with the way to sign in that they were for: a repository without its App has none, and may get a proxy", async () => {
    const w = await agent("c7");
    const spec = { agent: "c7", url: "https://git.example/c7.git" };
    const path = "/v1/repositories/c7-repo";
    const azure = { azureServicePrincipal: { clientId: "a", tenantId: "b" } };
    const given = { credentials: { azureServicePrincipalClientSecret: "s" }, credentialsVersion: "1" };
    expect((await put(path, { ...spec, ...azure, ...given })).status).toBe(201);
    expect(await put(path, spec)).toMatchObject({ status: 200, body: { status: { credentials: "None" } } });
    expect((await w.exchange()).objects).toMatchObject([{ op: "put", collection: "repositories" }]);
    expect((await put(path, { ...spec, proxy: "http://proxy.example:3128" })).status).toBe(200);
  });
  test("sealed by a client go with the specification that they were sealed for", async () => {
    const w = await agent("c6");
    const spec = { agent: "c6", url: "https://git.example/a.git" };
    const key = (await s.ask("GET", "/v1/agents/c6")).body.status.sealKey;
    const context = { account: "default", collection: "repositories" as const, id: "c6-repo" };
    const sealedCredentials = await seal(key, context, spec, { password: "p" });
    const path = "/v1/repositories/c6-repo";
    expect(await put(path, { ...spec, url: "https://evil.example/a.git", sealedCredentials })).toMatchObject({
      status: 422,
      body: { code: "credentials_audience_mismatch", pointer: "/spec/url" },
    });
    expect(await put(path, { ...spec, insecure: true, sealedCredentials })).toMatchObject({
      body: { pointer: "/spec/insecure" },
    });
    const { id: _, audience: __, ...older } = sealedCredentials;
    expect(await put(path, { ...spec, sealedCredentials: older })).toMatchObject({
      status: 422,
      body: { code: "credentials_audience_mismatch", detail: expect.stringContaining("Upgrade") },
    });
    expect((await put(path, { ...spec, sealedCredentials })).status).toBe(201);
    const { objects } = await w.exchange();
    expect(objects[0]!.sealed).toEqual(sealedCredentials);
    expect(await open(w.seal.privateKey, context, objects[0]!.sealed!)).toEqual({ password: "p" });
  });
  test("that wait for an old key are dropped when the agent enrols anew", async () => {
    await agent("c3");
    await put("/v1/repositories/c3-repo", { agent: "c3", url: "https://h/x", credentials: { password: "p" } });
    const w = await new TestWorker(s.url, "new", "cluster-of-c3").enrol(await tokenOf("c3"));
    await w.open();
    expect((await s.ask("GET", "/v1/repositories/c3-repo")).body.status.credentials).toBe("None");
    expect((await w.exchange()).objects[0]!.sealed).toBeUndefined();
  });
});

test("sync and refresh ride on the object, the newest of each kind, and its generation stays", async () => {
  const w = await agent("a1");
  await put("/v1/applications/a1-app", { agent: "a1", destination: {}, source: { repoUrl: "https://h/x", path: "." } });
  await w.acknowledge((await w.exchange()).objects);
  expect((await s.ask("POST", "/v1/applications/a1-app/sync", { body: { revision: "main" } })).status).toBe(202);
  expect((await s.ask("POST", "/v1/applications/a1-app/sync", { body: { prune: true } })).status).toBe(202);
  expect((await s.ask("POST", "/v1/applications/a1-app/refresh")).status).toBe(202);
  const [o] = (await w.exchange()).objects;
  expect(o).toMatchObject({
    action: { sync: { by: "key:admin", request: { prune: true } }, refresh: { hard: false } },
  });
  expect((await s.ask("GET", "/v1/applications/a1-app")).body.generation).toBe(1);
});

test("questions to the agent are answered by it, or end with a named reason", async () => {
  const w = await agent("q1");
  await put("/v1/repositories/q1-repo", { agent: "q1", url: "https://h/x" });
  const asking = s.ask("GET", "/v1/repositories/q1-repo/refs");
  const { tasks } = await w.exchange({ wait: 10, free: 5 });
  const task = tasks[0] ?? (await w.exchange({ wait: 10, free: 5 })).tasks[0]!;
  expect(task).toMatchObject({ kind: "repository.refs", params: { key: "-/-/q1-repo", name: "q1-repo" }, fence: 1 });
  const outputs = { defaultBranch: "main", branches: [{ name: "main", revision: "abc" }], tags: [] };
  expect((await w.call(`tasks/${task.task}/result`, { fence: 1, outcome: "succeeded", outputs })).status).toBe(204);
  expect(await asking).toMatchObject({ status: 200, body: outputs });

  const testing = s.ask("POST", "/v1/repositories/q1-repo/test");
  const next = await eventually("the test's task", async () => (await w.exchange({ free: 5 })).tasks[0]);
  await w.call(`tasks/${next.task}/result`, {
    fence: next.fence,
    outcome: "failed",
    reason: "AuthRequired",
    message: "the repository asks for a password",
  });
  expect(await testing).toMatchObject({
    status: 200,
    body: { state: "Failed", reason: "AuthRequired", message: "the repository asks for a password" },
  });

  await put("/v1/agents/q2", {});
  await put("/v1/repositories/q2-repo", { agent: "q2", url: "https://h/x" });
  expect(await s.ask("GET", "/v1/repositories/q2-repo/refs")).toMatchObject({
    status: 409,
    body: { code: "agent_not_enrolled" },
  });
  expect((await s.ask("GET", "/v1/tasks")).body.items).toEqual([]);
});

test("what installs an agent follows its engine, and what only Outpost's own engine has is refused beside Argo CD", async () => {
  const engineIs = (engine: string) => put("/v1/agents/switch", { namespace: "argocd", engine });
  const draw = async (what: string, body: object = {}) => s.ask("POST", `/v1/agents/switch/${what}`, { body });
  for (const [engine, value, has] of [
    ["argocd", "none", false],
    ["outpost", "outpost", true],
  ] as const) {
    await engineIs(engine);
    expect((await draw("values")).text).toMatch(new RegExp(`^engine: "${value}"$`, "m"));
    const { text } = await draw("manifest");
    expect([text.includes("CustomResourceDefinition"), text.includes("outpost-agent-repo-server")]).toEqual([has, has]);
  }
  await engineIs("argocd");
  const refused = await draw("values", { shards: 2 });
  expect([refused.status, refused.body.code, refused.body.pointer]).toEqual([422, "invalid_field", "/shards"]);
});

test("the installation of an agent and a delegate carries a token that enrols", async () => {
  await put("/v1/agents/inst", {});
  const values = await s.ask("POST", "/v1/agents/inst/values", { body: { endpoint: "https://outpost.example" } });
  expect(values.status).toBe(200);
  expect(values.text).toContain("https://outpost.example");
  const token = /ot1_[A-Za-z0-9_-]+/.exec(values.text)![0];
  expect((await new TestWorker(s.url).tryEnrol(token)).body).toMatchObject({ kind: "agent", id: "inst" });
  expect((await s.ask("POST", "/v1/agents/inst/manifest", { body: {} })).text).toContain("kind: ");
  await put("/v1/delegates/inst", { tags: ["linux"] });
  expect((await s.ask("POST", "/v1/delegates/inst/manifest", { body: {} })).text).toContain("ot1_");
});

test("a delegate's installation comes in every format of the contract, each with a token that enrols", async () => {
  await put("/v1/delegates/every", { tags: ["linux"] });
  const types: Record<string, string> = {
    kubernetes: "application/yaml",
    "helm-values": "application/yaml",
    docker: "text/plain",
    ecs: "application/yaml",
    shell: "text/plain",
    powershell: "text/plain",
  };
  for (const [format, type] of Object.entries(types)) {
    const { status, text, headers } = await s.ask("POST", `/v1/delegates/every/manifest?format=${format}`, {
      body: {},
    });
    expect([format, status, headers.get("content-type")]).toEqual([format, 200, expect.stringContaining(type)]);
    const token = /ot1_[A-Za-z0-9_-]+/.exec(text)![0];
    expect((await new TestWorker(s.url).tryEnrol(token)).body).toMatchObject({ kind: "delegate", id: "every" });
  }
});

test("without a token, or with a Secret that holds it, the installation makes none and is the same each time", async () => {
  await put("/v1/delegates/plain", {});
  const draw = async (format: string, body: object) =>
    (await s.ask("POST", `/v1/delegates/plain/manifest?format=${format}`, { body })).text;
  for (const format of ["kubernetes", "helm-values", "docker", "ecs", "shell", "powershell"]) {
    const text = await draw(format, { withToken: false });
    expect([format, text]).toEqual([format, expect.not.stringContaining("ot1_")]);
    expect(await draw(format, { withToken: false })).toBe(text);
  }
  for (const format of ["kubernetes", "helm-values", "ecs"])
    expect(await draw(format, { existingSecret: "mine" })).toContain("mine");
  expect((await s.ask("GET", "/v1/delegates/plain/tokens")).body.items).toEqual([]);
});

test.each([
  ["delegates", "docker", { permissions: "cluster-admin" }, "/permissions"],
  ["delegates", "docker", { existingSecret: "mine" }, "/existingSecret"],
  ["delegates", "ecs", { replicas: 2 }, "/replicas"],
  ["delegates", "ecs", { initScript: "x".repeat(65_000) }, "/initScript"],
  ["delegates", "shell", { image: "mine:1" }, "/image"],
  ["delegates", "powershell", { namespace: "n" }, "/namespace"],
  ["delegates", "kubernetes", { caCertificate: "no PEM" }, "/caCertificate"],
  ["delegates", "kubernetes", { httpsProxy: "p:1" }, "/httpsProxy"],
  ["delegates", "docker", { image: "a b" }, "/image"],
  ["agents", "kubernetes", { replicas: 2 }, "/replicas"],
  ["agents", "kubernetes", { withToken: false }, "/withToken"],
])(
  "what a format has no place for is refused by name, and no token is made: %s as %s, case %#",
  async (collection, format, body, pointer) => {
    await put(`/v1/${collection}/refused`, {});
    const query = collection === "delegates" ? `?format=${format}` : "";
    const answer = await s.ask("POST", `/v1/${collection}/refused/manifest${query}`, { body });
    expect([answer.status, answer.body.pointer]).toEqual([422, pointer]);
    expect((await s.ask("GET", `/v1/${collection}/refused/tokens`)).body.items).toEqual([]);
  },
);
