import { fourObjects, synced, type World, world } from "./engine-world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
}, 60_000);
afterAll(() => w?.stop(), 30_000);

test("an application that is created becomes Synced", async () => {
  await w.git.createRepository("first", { files: { "web/all.yaml": fourObjects() } });
  const started = Date.now();
  await w.app("first", { repo: "first", path: "web" });
  const app = await w.until("first", synced, "Synced");
  console.log("create → Synced", Date.now() - started, "ms");
  console.log(JSON.stringify(app, null, 1));
  expect(app.status).toMatchObject({ sync: { status: "Synced" }, sourceType: "Directory" });
});
