import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { configMap, synced, value, type World, world } from "./engine-world.ts";
import { leave } from "./former-engine.ts";

/** Server-side applies of Argo CD: plain texts of Secrets, and applications that are created again over their objects. */
const JOB: Resource = { group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true };
const FILE = "app/all.yaml";
const NAMES = ["texts", "mixed", "late-texts", "client-texts"];
const secret = (fields: string) => `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n${fields}\n`;
const job = (name: string, phase: string) => `apiVersion: batch/v1
kind: Job
metadata: {name: ${name}, annotations: {argocd.argoproj.io/hook: ${phase}}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}
`;

let w: World;
let versions: (string | undefined)[];
beforeAll(async () => {
  w = await world();
  await w.halt();
  const texts = secret('stringData: {a: "1", b: "2"}');
  await leave(w, { name: "texts", manifests: texts, serverSide: true });
  await leave(w, {
    name: "mixed",
    manifests: secret('data: {c: Mw==}\nstringData: {a: "1", b: "2"}'),
    serverSide: true,
  });
  await leave(w, { name: "late-texts", manifests: texts, serverSide: true, spec: { syncPolicy: {} } });
  await leave(w, { name: "client-texts", manifests: texts });
  await w.git.commit("late-texts", { [FILE]: secret('stringData: {a: "1"}') }, "without b");
  versions = await Promise.all(NAMES.map(async (name) => (await live(name))?.metadata.resourceVersion));
  await w.restart();
  for (const name of NAMES) await w.refresh(name);
}, 240_000);
afterAll(() => w?.stop(), 30_000);

const live = (namespace: string): Promise<KubeObject | undefined> => w.object(RESOURCES.secret, namespace, "a");
const data = async (name: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(((await live(name))?.data ?? {}) as Record<string, string>).map(([key, text]) => [
      key,
      Buffer.from(text, "base64").toString(),
    ]),
  );

test("taking over Secrets with plain texts changes none of them", async () => {
  for (const [i, name] of NAMES.entries()) {
    await w.until(
      name,
      (app) => app.status?.sync?.status === (name === "late-texts" ? "OutOfSync" : "Synced"),
      "compared",
    );
    expect((await live(name))?.data).toBeDefined();
    expect(Object.keys(await data(name))).toEqual(expect.arrayContaining(["a", "b"]));
    expect(versions[i]).toBeDefined();
  }
});

test.each(["texts", "mixed", "client-texts"])("a plain text that leaves Git leaves the cluster: %s", async (name) => {
  const added = { data: { theirs: Buffer.from("x").toString("base64") } };
  await w.client.mergePatch(RESOURCES.secret, name, "a", added, { manager: "theirs" });
  await w.git.commit(
    name,
    { [FILE]: secret(`${name === "mixed" ? "data: {c: Mw==}\n" : ""}stringData: {a: "1"}`) },
    "without b",
  );
  await w.refresh(name);
  await w.settled(async () => !("b" in (await data(name))), `without b: ${name}`);
  expect(await data(name)).toEqual({ a: "1", theirs: "x", ...(name === "mixed" ? { c: "3" } : {}) });
  await w.until(name, synced, "Synced");
});

test("a plain text that left Git while no engine ran is a difference, and goes with the next sync", async () => {
  await w.until("late-texts", (app) => app.status?.sync?.status === "OutOfSync", "OutOfSync");
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, "late-texts", { operation: { sync: {} } }));
  await w.settled(async () => !("b" in (await data("late-texts"))), "without b");
  expect(await data("late-texts")).toEqual({ a: "1" });
});

test.each([true, false])(
  "an application created again over server-side applied objects (%s) starts no sync and runs no hook",
  async (serverSide) => {
    const name = serverSide ? "anew-server" : "anew-client";
    await w.halt();
    await leave(w, { name, manifests: [configMap("b", { v: "1" }), job("pre", "PreSync")].join("---\n"), serverSide });
    const { metadata, spec } = await w.get(name);
    value(await w.client.delete(JOB, name, "pre", { propagation: "Background" }));
    value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, { metadata: { finalizers: null } }));
    value(await w.client.delete(RESOURCES.application, w.namespace, name));
    const { labels, annotations } = metadata;
    // A second later, as the API server's times are whole seconds.
    const applied = Date.parse(value(await w.client.get(RESOURCES.configMap, name, "b")).metadata.creationTimestamp!);
    await w.settled(async () => Date.now() > applied + 1_000, "a second later");
    const again = {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Application",
      metadata: { name, namespace: w.namespace, labels, annotations },
      spec,
    };
    value(await w.client.create(RESOURCES.application, again as KubeObject));
    await w.restart();
    await w.until(name, (app) => app.status?.sync?.status === "Synced", "Synced");
    await w.refresh(name, "hard");
    const app = await w.until(
      name,
      (one) =>
        one.status?.sync?.status === "Synced" && one.metadata.annotations?.["argocd.argoproj.io/refresh"] === undefined,
      "compared again",
    );
    expect(app.status?.operationState).toBeUndefined();
    expect(await w.object(JOB, name, "pre")).toBeUndefined();
  },
);
