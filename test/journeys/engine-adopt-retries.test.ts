import { RESOURCES } from "../../server/kube/path.ts";
import { configMap, synced, value, type World, world } from "./engine-world.ts";
import { leave } from "./former-engine.ts";

let w: World;
beforeAll(async () => {
  w = await world();
  await w.halt();
}, 90_000);
afterAll(() => w?.stop(), 30_000);

test("a sync that Argo CD was to try again is tried again, once, and its request goes", async () => {
  const at = new Date(Date.now() - 60_000).toISOString().replace(/\.\d+/, "");
  const operation = { sync: { prune: true }, initiatedBy: { username: "ana" }, retry: { limit: 5 } };
  // As its controller leaves it: the hour of the next attempt without a day, the count of that attempt, and the request beside the state.
  const state = {
    operation,
    phase: "Running",
    message: "one or more objects failed to apply. Retrying attempt #2 at 3:58PM.",
    startedAt: at,
    finishedAt: at,
    retryCount: 2,
  };
  const syncPolicy = { syncOptions: ["CreateNamespace=true"] };
  await leave(w, {
    name: "tried",
    manifests: configMap("a", { v: "1" }),
    spec: { syncPolicy },
    status: { operationState: state as never },
  });
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, "tried", { operation }));
  await w.restart();
  const app = await w.until("tried", synced, "synced by the next attempt");
  expect([app.operation, app.status?.operationState?.retryCount, app.status?.history?.length]).toEqual([
    undefined,
    2,
    2,
  ]);
});
