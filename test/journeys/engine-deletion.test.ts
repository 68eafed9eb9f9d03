import type { Application } from "../../server/agent/controller/application.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, condition, configMap, synced, value, type World, world } from "./engine-world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop(), 30_000);

const JOB: Resource = { group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true };
const CASCADE = "resources-finalizer.argocd.argoproj.io/background";
const job = (name: string, annotations: string): string => `apiVersion: batch/v1
kind: Job
metadata: {name: ${name}, annotations: {${annotations}}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: registry.example/c}]}}}
`;
/** No Job controller runs here: its word is given by hand. */
const finish = async (namespace: string, name: string, type: "Complete" | "Failed", message = "") => {
  const now = new Date().toISOString().replace(/\.\d+/, "");
  const at = { status: "True", lastTransitionTime: now, lastProbeTime: now, message };
  const first = { type: type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget", ...at };
  const times = type === "Complete" ? { completionTime: now, succeeded: 1 } : {};
  value(
    await w.client.patchStatus(JOB, namespace, name, {
      startTime: now,
      ...times,
      conditions: [first, { type, ...at }],
    }),
  );
};
async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`it was not so within 20 s: ${what}`);
}
const there = async (resource: Resource, namespace: string, name: string) =>
  (await w.object(resource, namespace, name)) !== undefined;
const remove = async (name: string) => value(await w.client.delete(RESOURCES.application, w.namespace, name));
const gone = (name: string) =>
  until(`application ${name} is gone`, async () => !(await w.object(RESOURCES.application, w.namespace, name)));
const annotate = async (name: string, annotations: Record<string, string>) =>
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, { metadata: { annotations } }));

test("hooks before and after a deletion run in their order, also when the controller was restarted between", async () => {
  await w.git.createRepository("hooks", {
    files: {
      "a.yaml": configMap("a", {}),
      "before.yaml": job(
        "before",
        "argocd.argoproj.io/hook: PreDelete, argocd.argoproj.io/hook-delete-policy: HookSucceeded",
      ),
      "after.yaml": job("after", '"helm.sh/hook": post-delete, "helm.sh/hook-delete-policy": hook-succeeded'),
    },
  });
  await w.app("hooks", { repo: "hooks" }, { finalizers: [CASCADE] });
  const app = await w.until("hooks", synced);
  expect(app.status?.conditions).toBeUndefined();
  expect(app.metadata.finalizers).toEqual([
    CASCADE,
    "pre-delete-finalizer.argocd.argoproj.io",
    "pre-delete-finalizer.argocd.argoproj.io/cleanup",
    "post-delete-finalizer.argocd.argoproj.io",
    "post-delete-finalizer.argocd.argoproj.io/cleanup",
  ]);
  expect(await there(JOB, "hooks", "before")).toBe(false);
  await remove("hooks");
  await until("the hook before runs", () => there(JOB, "hooks", "before"));
  expect(await there(CONFIG_MAP, "hooks", "a")).toBe(true);
  await finish("hooks", "before", "Failed", "the database is busy");
  await w.until("hooks", (a) => condition(a, "HookFailed") !== undefined, "told that the hook failed");
  expect(condition(await w.get("hooks"), "HookFailed")).toMatchObject({
    type: "DeletionError",
    message: expect.stringContaining("1 out of 1 PreDelete hooks failed"),
  });
  expect(await there(CONFIG_MAP, "hooks", "a")).toBe(true);
  // After the failed one is deleted it runs again, here by another controller.
  await w.restart();
  const failed = await w.object(JOB, "hooks", "before");
  value(await w.client.delete(JOB, "hooks", "before", { propagation: "Background" }));
  await until("the hook runs again", async () => {
    const again = await w.object(JOB, "hooks", "before");
    return again !== undefined && again.metadata.uid !== failed?.metadata.uid;
  });
  expect(await there(JOB, "hooks", "after")).toBe(false);
  await finish("hooks", "before", "Complete");
  await until("the hook after runs", () => there(JOB, "hooks", "after"));
  expect(await there(CONFIG_MAP, "hooks", "a")).toBe(false);
  expect(await there(JOB, "hooks", "before")).toBe(false);
  await finish("hooks", "after", "Complete");
  await gone("hooks");
  expect(await there(JOB, "hooks", "after")).toBe(false);
}, 60_000);

test("hooks that Git has no longer hold no deletion up", async () => {
  await w.git.createRepository("unhooked", {
    files: { "a.yaml": configMap("a", {}), "j.yaml": job("j", "argocd.argoproj.io/hook: PreDelete") },
  });
  await w.app("unhooked", { repo: "unhooked" }, { finalizers: [CASCADE] });
  await w.until("unhooked", (a) => synced(a) && a.metadata.finalizers?.length === 3);
  await w.git.commit("unhooked", { "j.yaml": null }, "without the hook");
  await w.refresh("unhooked");
  await w.until("unhooked", (a) => a.metadata.finalizers?.length === 1);
  await remove("unhooked");
  await gone("unhooked");
  expect(await there(CONFIG_MAP, "unhooked", "a")).toBe(false);
});

test("what asks for confirmation is deleted when a person agreed after the deletion began, and what is to be kept is kept", async () => {
  const options = (text: string) => `, annotations: {argocd.argoproj.io/sync-options: ${text}}`;
  await w.git.createRepository("confirm", {
    files: {
      "a.yaml": configMap("a", {}, options("Delete=confirm")),
      "b.yaml": configMap("b", {}),
      "kept.yaml": configMap("kept", {}, options("Delete=false")),
      "helm.yaml": configMap("helm", {}, ", annotations: {helm.sh/resource-policy: keep}"),
    },
  });
  await w.app("confirm", { repo: "confirm" }, { finalizers: [CASCADE] });
  const app = await w.until("confirm", synced);
  const asking = (a: Application) =>
    a.status?.resources?.filter((r) => r.requiresDeletionConfirmation).map((r) => r.name);
  expect(asking(app)).toEqual(["a"]);
  // Agreed to something else, long ago.
  await annotate("confirm", { "argocd.argoproj.io/deletion-approved": "2020-01-01T00:00:00Z" });
  await remove("confirm");
  const blocked = await w.until("confirm", (a) => condition(a, "ConfirmationNeeded") !== undefined, "asking");
  expect(condition(blocked, "ConfirmationNeeded")?.message).toMatch(
    /^waiting for deletion confirmation of ConfigMap confirm\/a/,
  );
  expect(await there(CONFIG_MAP, "confirm", "b")).toBe(true);
  await annotate("confirm", { "argocd.argoproj.io/deletion-approved": new Date(Date.now() + 1_000).toISOString() });
  await gone("confirm");
  expect(await Promise.all(["a", "b", "kept", "helm"].map((name) => there(CONFIG_MAP, "confirm", name)))).toEqual([
    false,
    false,
    true,
    true,
  ]);
});

test("what asks for confirmation is pruned when a person agreed after the sync began", async () => {
  await w.git.createRepository("ask", {
    files: {
      "a.yaml": configMap("a", { a: "1" }),
      "b.yaml": configMap("b", {}),
      "c.yaml": configMap("c", {}, ", annotations: {argocd.argoproj.io/sync-options: Prune=confirm}"),
    },
  });
  await w.app("ask", { repo: "ask" });
  await w.until("ask", synced);
  await w.git.commit("ask", { "c.yaml": null, "a.yaml": configMap("a", { a: "2" }) }, "without c");
  await w.refresh("ask");
  const message = "waiting for pruning confirmation of /ConfigMap/c";
  await w.until("ask", (a) => a.status?.operationState?.message === message, "asking");
  expect((await w.object(CONFIG_MAP, "ask", "a"))?.data).toEqual({ a: "1" });
  await annotate("ask", { "argocd.argoproj.io/deletion-approved": new Date(Date.now() + 1_000).toISOString() });
  await w.until("ask", synced);
  expect(await there(CONFIG_MAP, "ask", "c")).toBe(false);
  expect((await w.object(CONFIG_MAP, "ask", "a"))?.data).toEqual({ a: "2" });
});

test("an application of a cluster that nobody knows any more goes without a word to its objects", async () => {
  await w.git.createRepository("unknown", { files: { "a.yaml": configMap("a", {}) } });
  await w.app(
    "lost",
    { repo: "unknown", destination: { server: "https://gone.example", namespace: "x" } },
    { finalizers: [CASCADE] },
  );
  await w.until("lost", (a) => condition(a, "ClusterNotFound") !== undefined);
  await remove("lost");
  await gone("lost");
});
