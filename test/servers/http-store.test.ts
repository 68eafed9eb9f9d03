import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FormData, fetch } from "undici";
import { buildTools, canHave } from "../cluster/tools.ts";
import { type HttpStore, startHttpStore } from "./http-store.ts";
import { run } from "./run.ts";

let store: HttpStore | undefined;
afterEach(async () => {
  await store?.stop();
  store = undefined;
});
const basic = (who: string) => ({ authorization: `Basic ${Buffer.from(who).toString("base64")}` });

test("a file is put, read, asked for, written over and removed", async () => {
  store = await startHttpStore();
  const { url, files, requests } = store;
  const ask = async (method: string, body?: string) =>
    fetch(`${url}/repository/raw/a%20b/1.tgz`, { method, ...(body ? { body } : {}) });
  expect((await ask("GET")).status).toBe(404);
  expect((await ask("PUT", "one")).status).toBe(201);
  const read = await ask("GET");
  expect([await read.text(), read.headers.get("content-length")]).toEqual(["one", "3"]);
  const head = await ask("HEAD");
  expect([head.status, head.headers.get("content-length"), head.headers.get("etag")]).toEqual([
    200,
    "3",
    read.headers.get("etag"),
  ]);
  expect((await ask("PUT", "two")).status).toBe(204);
  expect(files.get("/repository/raw/a b/1.tgz")?.toString()).toBe("two");
  expect((await ask("DELETE")).status).toBe(204);
  expect(requests.map(({ method, status, size }) => [method, status, size])).toEqual([
    ["GET", 404, 0],
    ["PUT", 201, 3],
    ["GET", 200, 0],
    ["HEAD", 200, 0],
    ["PUT", 204, 3],
    ["DELETE", 204, 0],
  ]);
});

test.each([
  ["no password", {}, 401],
  ["a wrong one", basic("robot:no"), 401],
  ["another's name", basic("toString:x"), 401],
  ["the right one", basic("robot:p:w"), 201],
])("a store with users and %s", async (_, headers, want) => {
  store = await startHttpStore({ users: { robot: "p:w" } });
  expect((await fetch(`${store.url}/f`, { method: "PUT", body: "x", headers })).status).toBe(want);
});

test("a repository of releases keeps what it has", async () => {
  store = await startHttpStore({ once: true });
  const put = async (body: string) => (await fetch(`${store!.url}/f`, { method: "PUT", body })).status;
  expect([await put("1"), await put("2"), store.files.get("/f")?.toString()]).toEqual([201, 400, "1"]);
});

test("faults: a status, and a connection that is cut", async () => {
  store = await startHttpStore();
  store.fail("PUT", { status: 503 });
  store.fail("PUT", { cut: true });
  const put = async () => (await fetch(`${store!.url}/f`, { method: "PUT", body: "x" })).status;
  expect(await put()).toBe(503);
  await expect(put()).rejects.toThrow();
  expect(await put()).toBe(201);
});

const possible = canHave("helm") ? describe : describe.skip;
possible("with helm (skipped without Go to build it)", () => {
  let dir: string;
  let helm: string;
  beforeAll(async () => {
    helm = (await buildTools(() => {}, ["helm"])).helm!;
    dir = await mkdtemp(join(tmpdir(), "store-"));
    await mkdir(join(dir, "app/templates"), { recursive: true });
    await writeFile(join(dir, "app/Chart.yaml"), "apiVersion: v2\nname: app\nversion: 1.2.3\n");
    await run(helm, ["package", "app"], { cwd: dir });
  }, 10 * 60_000);
  afterAll(() => rm(dir, { recursive: true, force: true }));

  test("a chart that is posted can be pulled, and not be posted again", async () => {
    store = await startHttpStore({ users: { robot: "pw" } });
    const { url } = store;
    const chart = await readFile(join(dir, "app-1.2.3.tgz"));
    const post = async (body: Buffer | FormData) =>
      (await fetch(`${url}/api/charts`, { method: "POST", body, headers: basic("robot:pw") })).status;
    expect(await post(Buffer.from("no chart"))).toBe(400);
    const form = new FormData();
    form.set("chart", new Blob([new Uint8Array(chart)]), "whatever.tgz");
    expect([await post(form), await post(chart)]).toEqual([201, 409]);
    const env = { PATH: process.env.PATH, HOME: dir };
    await mkdir(join(dir, "pulled"));
    await run(
      helm,
      ["pull", "app", "--repo", url, "--username", "robot", "--password", "pw", "-d", join(dir, "pulled")],
      { env },
    );
    expect(await readFile(join(dir, "pulled/app-1.2.3.tgz"))).toEqual(chart);
  });
});
