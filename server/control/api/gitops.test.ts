import { open } from "../../../openapi/seal.ts";
import { ADA, ADA_FINGERPRINT, ADA_ID, BOB, CERTIFICATE } from "../../base/testing.ts";
import { agentsOf } from "../testing/agents.ts";
import { startService, type TestService } from "../testing/service.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
  await put("/v1/organizations/o1", {});
  await put("/v1/projects/p1?org=o1", {});
}, 60_000);
afterAll(() => s?.stop());
const { put, agent } = agentsOf(() => s);
const get = async (path: string) => (await s.ask("GET", path)).body;

const set = {
  generators: [{ list: { elements: [{ name: "a" }] } }],
  template: { metadata: { name: "{{ .name }}" }, spec: { project: "default" } },
};
/** Each noun: what makes it, what changes it, and what cannot change. */
const NOUNS: [collection: string, spec: object, change: object, fixed: [string, unknown][]][] = [
  ["applicationsets", set, { syncPolicy: { applicationsSync: "create-only" } }, [["agent", "spare"]]],
  ["appprojects", { sourceRepos: ["*"] }, { description: "team" }, [["agent", "spare"]]],
  ["repositorycredentials", { url: "https://git.example/team/" }, { username: "u" }, [["agent", "spare"]]],
  [
    "repositorycertificates",
    { host: "git.example", type: "https", data: CERTIFICATE },
    { data: `# again\n${CERTIFICATE}` },
    [["agent", "spare"]],
  ],
  ["gnupgkeys", { publicKey: ADA }, { publicKey: BOB }, [["agent", "spare"]]],
];

describe.each(NOUNS)("%s", (collection, spec, change, fixed) => {
  const path = `/v1/${collection}/x`;
  test("is made, changed, listed, watched, delivered and goes when its agent says so", async () => {
    const name = `of-${collection}`;
    const w = await agent(name);
    const made = await put(path, { agent: name, ...spec });
    expect(made).toMatchObject({
      status: 201,
      body: { generation: 1, spec, status: { delivery: { state: "Pending" } } },
    });
    expect(await put(path, { agent: name, ...spec })).toMatchObject({
      status: 200,
      body: { version: made.body.version },
    });
    expect(await s.ask("PATCH", path, { body: { spec: change } })).toMatchObject({
      status: 200,
      body: { generation: 2, spec: change },
    });
    expect((await get(`/v1/${collection}?filter=spec.agent=${name}`)).items).toHaveLength(1);
    const events = await s.ask("GET", `/v1/watch/${collection}?id=x&timeoutSeconds=1`);
    expect(events.text).toContain(`"uid":"${made.body.uid}"`);

    const { objects } = await w.exchange();
    expect(objects).toMatchObject([{ op: "put", collection, key: "-/-/x", name: "x", spec: change }]);
    await w.acknowledge(objects);
    const delivered = await get(path);
    expect(delivered.status).toMatchObject({ delivery: { state: "Delivered" } });
    // A set's controller says itself what it has seen.
    expect(delivered.status.observedGeneration).toBe(collection === "applicationsets" ? undefined : 2);

    expect(await s.ask("DELETE", `/v1/agents/${name}`)).toMatchObject({ status: 409, body: { code: "in_use" } });
    expect(await s.ask("DELETE", path)).toMatchObject({
      status: 202,
      body: { status: { delivery: { state: "Deleting" } } },
    });
    const tombstones = (await w.exchange()).objects;
    expect(tombstones).toMatchObject([{ op: "delete", collection, uid: made.body.uid }]);
    await w.acknowledge(tombstones);
    expect((await s.ask("GET", path)).status).toBe(404);
    expect((await s.ask("DELETE", `/v1/agents/${name}`)).status).toBe(204);
  });

  test("what cannot change is refused by its field, and so is what the contract does not know", async () => {
    for (const id of ["spare", "fixed"]) await put(`/v1/agents/${id}`, {});
    await put(path, { agent: "fixed", ...spec });
    for (const [field, value] of fixed)
      expect(await s.ask("PATCH", path, { body: { spec: { [field]: value } } })).toMatchObject({
        status: 422,
        body: { code: "immutable_field", pointer: `/spec/${field}` },
      });
    expect(await put(path, { agent: "fixed", ...spec, nonsense: 1 })).toMatchObject({
      status: 400,
      body: { code: "invalid_request", pointer: "/spec/nonsense" },
    });
    expect((await s.ask("DELETE", path)).status).toBe(204);
  });

  test("a reference leads up and never down or aside", async () => {
    await put("/v1/agents/inorg?org=o1", {});
    await put("/v1/agents/above", {});
    // A set below its agent's scope may name `default` where there is one for it.
    await put("/v1/appprojects/default", { agent: "above" });
    await put("/v1/appprojects/default?org=o1", { agent: "inorg" });
    expect(await put(path, { agent: "inorg", ...spec })).toMatchObject({
      status: 422,
      body: { code: "reference_not_found", pointer: "/spec/agent" },
    });
    for (const reference of ["org.inorg", "account.above"]) {
      const at = `${path}?org=o1&project=p1`;
      expect((await put(at, { agent: reference, ...spec })).status).toBe(201);
      expect((await s.ask("DELETE", at)).status).toBe(204);
    }
  });
});

test("a fault of each noun is told with its place and all others behind it", async () => {
  await put("/v1/agents/faults", {});
  const got = await put("/v1/appprojects/x", {
    agent: "faults",
    destinations: [{ namespace: "n" }],
    syncWindows: [{ kind: "allow", schedule: "* * * * * *", duration: "1h", applications: ["*"] }],
  });
  expect(got).toMatchObject({
    status: 422,
    body: {
      code: "invalid_field",
      pointer: "/spec/destinations/0/server",
      errors: [
        { code: "invalid_field", pointer: "/spec/destinations/0/server" },
        { code: "invalid_field", pointer: "/spec/syncWindows/0/schedule" },
      ],
    },
  });
});

describe("an app project", () => {
  test("reaches what belongs to it by its name at the agent, is in use until nothing does, and comes first", async () => {
    const w = await agent("pa");
    await put("/v1/appprojects/team?org=o1", { agent: "account.pa" });
    const belongs = { agent: "account.pa", appProject: "team" };
    await put("/v1/repositories/r?org=o1", { ...belongs, url: "https://git.example/a.git" });
    await put("/v1/clusters/c?org=o1", { ...belongs, server: "https://k8s.example" });
    await put("/v1/repositorycredentials/rc?org=o1", { ...belongs, url: "https://git.example/" });
    await put("/v1/applications/a?org=o1", {
      ...belongs,
      destination: { cluster: "c" },
      source: { repository: "r", path: "." },
    });
    const { objects } = await w.exchange();
    expect(objects.map((o) => o.collection)).toEqual([
      "appprojects",
      "repositorycredentials",
      "clusters",
      "repositories",
      "applications",
    ]);
    const [project, ...others] = objects;
    expect(project!.name).toMatch(/^team-[0-9a-f]{12}$/);
    for (const other of others) expect(other.resolved!.appProject).toBe(project!.name);
    expect(others.at(-1)!.resolved).toMatchObject({
      cluster: { server: "https://k8s.example" },
      repositories: ["https://git.example/a.git"],
    });

    const refused = await s.ask("DELETE", "/v1/appprojects/team?org=o1");
    expect(refused).toMatchObject({ status: 409, body: { code: "in_use" } });
    for (const user of ["applications/o1/a", "clusters/o1/c", "repositories/o1/r", "repositorycredentials/o1/rc"])
      expect(refused.body.detail).toContain(user);
    for (const path of ["applications/a", "clusters/c", "repositories/r", "repositorycredentials/rc"])
      expect((await s.ask("DELETE", `/v1/${path}?org=o1&force=true`)).status).toBe(204);
    expect((await s.ask("DELETE", "/v1/appprojects/team?org=o1")).status).toBe(202);
  });

  test("keeps what belongs to it from other applications", async () => {
    for (const id of ["pb", "pc"]) await put(`/v1/agents/${id}`, {});
    await put("/v1/appprojects/one", { agent: "pb" });
    await put("/v1/appprojects/two", { agent: "pb" });
    await put("/v1/appprojects/elsewhere", { agent: "pc" });
    await put("/v1/repositories/closed", { agent: "pb", appProject: "one", url: "https://git.example/a.git" });
    const app = { agent: "pb", destination: {}, source: { repository: "closed", path: "." } };
    for (const change of [{}, { appProject: "two" }, { argoProject: "one" }])
      expect(await put("/v1/applications/closed", { ...app, ...change })).toMatchObject({
        status: 422,
        body: { code: "invalid_field", pointer: "/spec/source/repository" },
      });
    expect(await put("/v1/applications/closed", { ...app, appProject: "elsewhere" })).toMatchObject({
      status: 422,
      body: { code: "invalid_field", pointer: "/spec/appProject" },
    });
    expect(await put("/v1/applications/closed", { ...app, appProject: "nobody" })).toMatchObject({
      status: 422,
      body: { code: "reference_not_found", pointer: "/spec/appProject" },
    });
    expect((await put("/v1/applications/closed", { ...app, appProject: "one" })).status).toBe(201);
  });
});

test("a key by which a project's commits must be signed cannot be deleted, until no project asks for it", async () => {
  for (const id of ["ka", "kb"]) await put(`/v1/agents/${id}`, {});
  await put("/v1/gnupgkeys/signer", { agent: "ka", publicKey: ADA });
  const policies = (mode: string, ...keys: string[]) => ({
    git: { policies: [{ repos: [{ url: "*" }], gpg: { mode, keys } }] },
  });
  await put("/v1/appprojects/elsewhere-signed", { agent: "kb", sourceIntegrity: policies("strict", ADA_ID) });
  await put("/v1/appprojects/signed", { agent: "ka", sourceIntegrity: policies("strict", ADA_ID.toLowerCase()) });
  const refused = await s.ask("DELETE", "/v1/gnupgkeys/signer");
  expect(refused).toMatchObject({ status: 409, body: { code: "in_use" } });
  expect(refused.body.detail).toContain("appprojects/signed.");
  await put("/v1/appprojects/signed", { agent: "ka", signatureKeys: [{ keyID: ADA_FINGERPRINT }] });
  expect((await s.ask("DELETE", "/v1/gnupgkeys/signer")).body.code).toBe("in_use");
  await put("/v1/appprojects/signed", { agent: "ka", sourceIntegrity: policies("none", ADA_ID) });
  expect((await s.ask("DELETE", "/v1/gnupgkeys/signer")).status).toBe(204);
});

describe("credentials for many repositories", () => {
  const path = "/v1/repositorycredentials/sealed";
  const spec = { agent: "sa", url: "https://git.example/team/", username: "u" };
  test("are sealed to their agent, shown to nobody, kept when none come and dropped when they arrive", async () => {
    const w = await agent("sa");
    const made = await put(path, { ...spec, credentials: { password: "canary-password" } });
    expect(made).toMatchObject({ status: 201, body: { status: { credentials: "Pending" } } });
    expect(made.text).not.toContain("canary");
    expect(JSON.stringify(await s.db.query("select * from objects, deliveries"))).not.toContain("canary");
    const { objects } = await w.exchange();
    const context = { account: "default", collection: "repositorycredentials" as const, id: "sealed" };
    expect(await open(w.seal.privateKey, context, objects[0]!.sealed!)).toEqual({ password: "canary-password" });
    await w.acknowledge(objects);
    expect((await get(path)).status.credentials).toBe("Delivered");
    expect(await s.db.query("select 1 from deliveries where id = 'sealed' and sealed is not null")).toEqual([]);
    expect(await put(path, { ...spec, username: "robot" })).toMatchObject({ status: 200 });
    const next = (await w.exchange()).objects;
    expect(next[0]!.sealed).toBeUndefined();
    await w.acknowledge(next);
    expect((await get(path)).status.credentials).toBe("Delivered");
  });

  test("are lost when the agent is installed in another cluster, and say so", async () => {
    const { body } = await s.ask("POST", "/v1/agents/sa/tokens", { body: {} });
    const { TestWorker } = await import("../testing/worker.ts");
    await new TestWorker(s.url, "sa-1", "another-cluster").enrol(body.token);
    expect((await get(path)).status.credentials).toBe("None");
  });
});

test("a set's status comes from its controller, and speaks of the newest generation when that does", async () => {
  const w = await agent("ss");
  await put("/v1/applicationsets/ss", { agent: "ss", ...set });
  const [o] = (await w.exchange()).objects;
  await w.acknowledge([o!]);
  const report = (observedGeneration: number, status: string) =>
    w.exchange({
      reports: [
        {
          collection: "applicationsets",
          key: o!.key,
          uid: o!.uid,
          status: {
            observedGeneration,
            health: { status },
            applications: [{ name: "a", sync: "Synced", health: "Healthy" }],
            delivery: { state: "Refused" },
          },
        },
      ],
    });
  await report(o!.generation, "Healthy");
  expect((await get("/v1/applicationsets/ss")).status).toMatchObject({
    observedGeneration: 1,
    delivery: { state: "Delivered" },
    health: { status: "Healthy" },
    applications: [{ name: "a", sync: "Synced", health: "Healthy" }],
    reportedAt: expect.any(String),
  });
  await s.ask("PATCH", "/v1/applicationsets/ss", { body: { spec: { goTemplate: false } } });
  await report(o!.generation, "Degraded");
  expect((await get("/v1/applicationsets/ss")).status).toMatchObject({
    observedGeneration: 1,
    health: { status: "Degraded" },
  });
});
