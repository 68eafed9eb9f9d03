import type { Application } from "../../server/agent/controller/application.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { configMap, value, type World, world } from "./engine-world.ts";
import { leave } from "./former-engine.ts";

// Argo CD leaves `operation` in place until the sync has ended. Killed in the middle of one, it leaves the request and the running state.
let w: World;
beforeAll(async () => {
  w = await world();
}, 120_000);
afterAll(() => w?.stop(), 30_000);

const HOOK =
  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pre, annotations: {argocd.argoproj.io/hook: PreSync}}\ndata: {v: NUMBER}\n";
const hook = (n: number) => HOOK.replace("NUMBER", `"${n}"`);

test.each([
  ["before it wrote what it syncs", false],
  ["after it wrote what it syncs", true],
])(
  "a sync that Argo CD had begun when it was killed %s is done once, hooks included",
  async (_, told) => {
    const name = told ? "told" : "untold";
    await w.halt();
    await leave(w, { name, manifests: [configMap("a", { v: "1" }), hook(1)].join("---\n") });
    const revision = await w.git.commit(
      name,
      { "app/all.yaml": [configMap("a", { v: "2" }), hook(2)].join("---\n") },
      "change",
    );
    const { spec } = await w.get(name);
    const operation = {
      sync: { revision, prune: true, source: spec.source },
      initiatedBy: { automated: true },
      retry: { limit: 5 },
    };
    const startedAt = new Date(Date.now() - 5_000).toISOString().replace(/\.\d+/, "");
    const operationState = {
      phase: "Running",
      message: "",
      startedAt,
      finishedAt: null,
      operation,
      syncResult: told ? { revision, source: spec.source, resources: [] } : null,
    };
    const patch = { operation, status: { operationState, sync: { status: "OutOfSync", revision } } };
    value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, patch));

    await w.restart();
    const done = (app: Application) =>
      app.status?.operationState?.phase === "Succeeded" && app.status.sync?.status === "Synced";
    const app = await w.until(name, (now) => done(now) && now.operation === undefined, "synced, with no request left");
    const first = await w.object(RESOURCES.configMap, name, "pre");
    await w.refresh(name);
    const { status } = await w.until(name, done);
    expect(status?.history?.map((entry) => entry.revision).slice(1)).toEqual([revision]);
    expect(status?.operationState?.startedAt).toBe(app.status?.operationState?.startedAt);
    expect((await w.object(RESOURCES.configMap, name, "pre"))?.metadata.uid).toBe(first?.metadata.uid);
    expect(first?.data).toEqual({ v: "2" });
    expect(status?.operationState?.startedAt).toBe(startedAt);
    await w.halt();
  },
  120_000,
);
