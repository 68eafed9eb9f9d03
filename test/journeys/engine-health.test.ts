import { CONFIG_MAP, configMap, synced, value, type World, world } from "./engine-world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop(), 30_000);

type App = Parameters<typeof synced>[0];
const KEY = "resource.customizations.health.ConfigMap";
const settings = async (data: Record<string, string>) =>
  value(
    await w.client.apply(CONFIG_MAP, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "argocd-cm", namespace: w.namespace, labels: { "app.kubernetes.io/part-of": "argocd" } },
      data,
    }),
  );
/** Says what a ConfigMap says of itself. */
const BY_DATA = `hs = {}
if obj.data.state == nil then return nil end
hs.status = obj.data.state
hs.message = "says " .. obj.metadata.name
return hs`;
const row = (app: App, name: string) => app.status?.resources?.find((r) => r.name === name)?.health;
const says = (name: string, status: string) => (app: App) => row(app, name)?.status === status;

test("users' checks decide the health of what has none, of each version of an object, and of each version of the check", async () => {
  await settings({ [KEY]: BY_DATA });
  await w.git.createRepository("lua", {
    files: { "a.yaml": configMap("a", { state: "Healthy" }), "b.yaml": configMap("b", { other: "1" }) },
  });
  await w.app("lua", { repo: "lua" });
  const healthy = await w.until("lua", (app) => synced(app) && says("a", "Healthy")(app));
  expect(row(healthy, "a")).toEqual({ status: "Healthy", message: "says a" });
  expect(row(healthy, "b")).toBeUndefined();

  await w.git.commit("lua", { "a.yaml": configMap("a", { state: "Degraded" }) }, "Break it");
  await w.refresh("lua");
  const degraded = await w.until("lua", says("a", "Degraded"));
  expect(degraded.status?.health?.status).toBe("Degraded");

  await settings({ [KEY]: "return obj.none.such" });
  const broken = await w.until("lua", says("a", "Unknown"));
  expect(row(broken, "a")?.message).toMatch(/the health script failed: .*attempt to index a nil value/);

  await settings({ [KEY]: "while true do end" });
  const slow = await w.until("lua", (app) => row(app, "a")?.message?.includes("did not end") === true);
  expect(row(slow, "a")?.status).toBe("Unknown");

  await settings({});
  await w.until("lua", (app) => row(app, "a") === undefined && app.status?.health?.status === "Healthy");
});

test("a wave waits for what a check has not called healthy yet", async () => {
  await settings({ [KEY]: BY_DATA });
  const wave = (n: number) => `, annotations: {argocd.argoproj.io/sync-wave: "${n}"}`;
  const files = {
    "a.yaml": configMap("first", { state: "Progressing" }, wave(0)),
    "b.yaml": configMap("second", { state: "Healthy" }, wave(1)),
  };
  await w.git.createRepository("wave", { files });
  await w.app("wave", { repo: "wave" });
  await w.until(
    "wave",
    (app) => app.status?.operationState?.message?.includes("waiting for healthy state of /ConfigMap/first") === true,
  );
  expect(await w.object(CONFIG_MAP, "wave", "second")).toBeUndefined();
  value(await w.client.mergePatch(CONFIG_MAP, "wave", "first", { data: { state: "Healthy" } }));
  await w.until("wave", (app) => says("second", "Healthy")(app));
});
