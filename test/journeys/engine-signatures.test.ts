import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryCache } from "../../server/agent/cache/memory.ts";
import { testRepository } from "../../server/agent/link/connections.ts";
import type { AgentContext } from "../../server/agent/link/context.ts";
import { RepoService } from "../../server/agent/repo/service.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { type Gpg, startGpg } from "../servers/gpg.ts";
import { CONFIG_MAP, condition, configMap, synced, value, type World, world } from "./engine-world.ts";

let w: World;
let gpg: Gpg;
let key: string;
beforeAll(async () => {
  w = await world();
  gpg = await startGpg();
  key = await gpg.key("ana");
}, 90_000);
afterAll(async () => {
  await gpg?.stop();
  await w?.stop();
}, 30_000);

const everything = {
  sourceRepos: ["*"],
  destinations: [{ server: "*", namespace: "*" }],
  clusterResourceWhitelist: [{ group: "*", kind: "*" }],
};
async function project(name: string, spec: object): Promise<void> {
  const object: KubeObject = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "AppProject",
    metadata: { name, namespace: w.namespace },
    spec,
  };
  value(await w.client.apply(RESOURCES.appProject, object));
}
const trust = async (keys: string[]) => {
  const data = Object.fromEntries(
    await Promise.all(keys.map(async (one) => [one.slice(-16), await gpg.armoured(one)] as const)),
  );
  const metadata = {
    name: "argocd-gpg-keys-cm",
    namespace: w.namespace,
    labels: { "app.kubernetes.io/part-of": "argocd" },
  };
  value(await w.client.apply(CONFIG_MAP, { apiVersion: "v1", kind: "ConfigMap", metadata, data }));
};
async function secret(name: string, type: string, data: Record<string, string>): Promise<KubeObject> {
  const metadata = { name, namespace: w.namespace, labels: { "argocd.argoproj.io/secret-type": type } };
  const encoded = Object.fromEntries(
    Object.entries(data).map(([field, text]) => [field, Buffer.from(text).toString("base64")]),
  );
  return value(await w.client.create(RESOURCES.secret, { apiVersion: "v1", kind: "Secret", metadata, data: encoded }));
}
const shown = async (namespace: string) => (await w.object(CONFIG_MAP, namespace, "a"))?.data?.v;

test("what is not signed by a key of the project is not synced, and policy and keys are obeyed as soon as they change", async () => {
  const name = "signed";
  const policy = (mode: string) => ({
    sourceIntegrity: { git: { policies: [{ repos: [{ url: "http://127.0.0.1*" }], gpg: { mode, keys: [key] } }] } },
  });
  await project("careful", { ...everything, ...policy("strict") });
  const repository = await w.git.createRepository(name, { files: { "a.yaml": configMap("a", { v: "1" }) } });
  await w.app(name, { repo: name, project: "careful" });
  const refused = await w.until(name, (app) => condition(app, "SignatureMissing") !== undefined, "refused");
  expect(condition(refused, "SignatureMissing")).toMatchObject({
    type: "ComparisonError",
    message: expect.stringMatching(/commit -S/),
  });
  expect(refused.status?.sync?.status).toBe("Unknown");
  expect(await shown(name)).toBeUndefined();

  await gpg.signTip(repository, key);
  await w.refresh(name);
  await w.until(name, (app) => condition(app, "SignatureKeyUnknown") !== undefined, "refused");
  await trust([key]);
  await w.until(name, synced, "Synced");
  expect(await shown(name)).toBe("1");

  // One that is not signed, under one that is: strict looks below, head does not.
  await w.git.commit(name, { "a.yaml": configMap("a", { v: "2" }) }, "not signed");
  await w.git.commit(name, { "b.yaml": configMap("b", {}) }, "signed");
  await gpg.signTip(repository, key);
  await w.refresh(name);
  await w.until(name, (app) => condition(app, "SignatureMissing") !== undefined, "refused");
  expect(await shown(name)).toBe("1");
  await project("careful", { ...everything, ...policy("head") });
  await w.until(name, (app) => synced(app) && app.status?.conditions?.length !== 1, "Synced");
  expect(await shown(name)).toBe("2");

  await trust([]);
  const withdrawn = await w.until(name, (app) => condition(app, "SignatureKeyUnknown") !== undefined, "refused");
  expect(withdrawn.status?.sync?.status).toBe("Unknown");
  expect(await shown(name)).toBe("2");
  await project("careful", everything);
  await w.until(name, (app) => synced(app) && !app.status?.conditions?.length, "Synced");
}, 60_000);

test("a source that only lends its values is judged as well", async () => {
  await trust([key]);
  await project("values", { ...everything, signatureKeys: [{ keyID: key.slice(-16) }] });
  const chart = await w.git.createRepository("chart", {
    files: {
      "Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
      "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: {{ .Values.v | quote }}}\n",
    },
  });
  const values = await w.git.createRepository("values", { files: { "v.yaml": "v: lent\n" } });
  await gpg.signTip(chart, key);
  const sources = [
    { repoURL: w.git.cloneUrl("chart"), path: ".", helm: { valueFiles: ["$lent/v.yaml"] } },
    { repoURL: w.git.cloneUrl("values"), ref: "lent" },
  ];
  await w.app("lent", { repo: "chart", project: "values", source: undefined, sources });
  const refused = await w.until("lent", (app) => condition(app, "SignatureMissing") !== undefined, "refused");
  expect(condition(refused, "SignatureMissing")?.message).toMatch(/values\.git/);
  await gpg.signTip(values, key);
  await w.refresh("lent");
  await w.until("lent", synced, "Synced");
  expect(await shown("lent")).toBe("lent");
}, 60_000);

test("credentials that are kept for a project are used for its applications alone", async () => {
  await project("one", everything);
  await project("two", everything);
  await w.git.createRepository("closed", { users: { ana: "pw" }, files: { "a.yaml": configMap("a", { v: "1" }) } });
  const data = { url: w.git.cloneUrl("closed"), username: "ana", password: "pw", project: "one", type: "git" };
  await secret("repo-closed", "repository", data);
  await w.app("inside", { repo: "closed", project: "one" });
  await w.app("outside", { repo: "closed", project: "two" });
  await w.until("inside", synced, "Synced");
  await w.until("outside", (app) => condition(app, "AuthenticationFailed") !== undefined, "refused");
  // The shared look at a repository goes in by the way of each project.
  await w.git.commit("closed", { "a.yaml": configMap("a", { v: "2" }) }, "change");
  await w.controller.repositoryChanged(w.git.cloneUrl("closed"), {});
  await w.until(
    "inside",
    (app) => app.status?.sync?.status === "Synced" && app.status.history?.length === 2,
    "Synced anew",
  );
  expect([await shown("inside"), await shown("outside")]).toEqual(["2", undefined]);
}, 60_000);

test("a connection is tried as its own Secret says, with what templates lend, for every type of repository", async () => {
  const folder = mkdtempSync(join(tmpdir(), "connections-"));
  const repo = new RepoService({ folder, cache: new MemoryCache() });
  await repo.start();
  try {
    const ctx = { client: w.client, namespace: w.namespace } as AgentContext;
    await w.git.createRepository("tried/one", { users: { ana: "pw" }, files: { "a.yaml": configMap("a", {}) } });
    await secret("creds-tried", "repo-creds", {
      url: w.git.cloneUrl("tried/one").replace("one.git", ""),
      username: "ana",
      password: "pw",
    });
    const tried = async (name: string, data: Record<string, string>) => {
      const { connection } = await testRepository(ctx, repo, await secret(name, "repository", data));
      return connection.state === "Failed" ? connection.reason : connection.state;
    };
    const url = w.git.cloneUrl("tried/one");
    expect(await tried("t1", { url })).toBe("Successful");
    expect(await tried("t2", { url, username: "ana", password: "no", project: "one" })).toBe("AuthenticationFailed");
    expect(await tried("t3", { url, type: "helm" })).toBe("RepositoryNotFound");
    expect(await tried("t4", { url: "oci://127.0.0.1:1/x", type: "oci", insecureOCIForceHttp: "true" })).toBe(
      "ConnectionRefused",
    );
    expect(await tried("t5", { url: "https://nowhere.invalid/x", gcpServiceAccountKey: "{}" })).toBe(
      "AuthenticationFailed",
    );
  } finally {
    repo.close();
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);
