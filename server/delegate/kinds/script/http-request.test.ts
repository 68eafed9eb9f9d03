import { jest } from "@jest/globals";
import { type HttpStore, startHttpStore } from "../../../../test/servers/http-store.ts";
import { freePort } from "../../../../test/servers/run.ts";
import { type KindBench, kindBench } from "../../testing/kind.ts";
import { temporaryFolder } from "../../testing/temporary.ts";
import { httpRequest } from "./http-request.ts";

jest.setTimeout(30_000);
const dir = temporaryFolder();
let store: HttpStore;
let bench: KindBench;
beforeAll(async () => {
  store = await startHttpStore({ users: { robot: "password" } });
  store.files.set("/it.txt", Buffer.from("hello there"));
  bench = kindBench(dir);
});
afterAll(() => store?.stop());

const login = { username: "robot", password: "password" };

test("the answer becomes outputs", async () => {
  const result = await bench.run(httpRequest, { url: `${store.url}/it.txt`, ...login, expectBody: "there" });
  expect(result).toMatchObject({
    outcome: "succeeded",
    outputs: { status: 200, body: "hello there", headers: { etag: expect.any(String) } },
  });
});

test("a body is sent, with the headers that are given", async () => {
  const url = `${store.url}/new.json?key=value-of-the-query`;
  const sent = {
    url,
    method: "PUT" as const,
    body: '{"a":1}',
    headers: { "X-Own": "1", "content-type": "application/json" },
    ...login,
  };
  const result = await bench.run(httpRequest, { ...sent, expectStatus: [201] });
  expect(result).toMatchObject({ outcome: "succeeded", outputs: { status: 201 } });
  expect(store.files.get("/new.json")!.toString()).toBe('{"a":1}');
  expect(store.requests.at(-1)!.headers).toMatchObject({ "x-own": "1", "content-type": "application/json" });
  expect(result.log.join("\n")).not.toContain("value-of-the-query");
});

test.each<[string, object, string, RegExp]>([
  ["a status that was not expected", { url: "/none" }, "StatusUnexpected", /answered 404, 200 to 299 was expected/],
  ["a wrong password", { password: "wrong" }, "StatusUnexpected", /401.*check the login/],
  ["a body without the text", { expectBody: "nobody" }, "BodyUnexpected", /does not hold/],
  ["two logins", { bearer: "it" }, "ParamsInvalid", /not both/],
  ["a header that frames the request", { headers: { "Content-Length": "1" } }, "ParamsInvalid", /Content-Length/],
  ["a header of two lines", { headers: { "x-a": "1\r\nx-b: 2" } }, "ParamsInvalid", /line break/],
  ["a body that GET has not", { body: "x" }, "ParamsInvalid", /no body/],
])("%s fails it", async (_name, change, reason, message) => {
  const { url = "/it.txt", ...more } = change as { url?: string };
  const result = await bench.run(httpRequest, { ...login, ...more, url: `${store.url}${url}` });
  expect(result).toMatchObject({ outcome: "failed", reason, message: expect.stringMatching(message) });
});

test("it is tried again as often as is asked, and not more", async () => {
  const before = store.requests.length;
  store.fail("GET", { status: 503, times: 1 });
  expect(await bench.run(httpRequest, { url: `${store.url}/it.txt`, ...login, retries: 2 })).toMatchObject({
    outcome: "succeeded",
  });
  expect(store.requests.length - before).toBe(2);
  const away = `http://127.0.0.1:${await freePort()}/`;
  const result = await bench.run(httpRequest, { url: away, retries: 1 });
  expect(result).toMatchObject({ outcome: "failed", reason: "ConnectFailed" });
  expect(result.log.filter((line) => line.includes("try 2 of 2")).length).toBe(1);
});

test("a cloud's metadata is not asked, however often it is retried", async () => {
  const result = await bench.run(httpRequest, { url: "http://169.254.169.254/latest/meta-data/", retries: 20 });
  expect(result).toMatchObject({ outcome: "failed", reason: "AddressRefused" });
});
