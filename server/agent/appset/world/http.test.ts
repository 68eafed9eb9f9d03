import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ask, askAll } from "./http.ts";

let server: Server;
let url: string;
/** Answers by path: status, body, where the list goes on. */
const answers: Record<string, [status: number, body: string, link?: string]> = {};
beforeAll(async () => {
  server = createServer((request, response) => {
    const [status, body, link] = answers[request.url!] ?? [200, "[1]", `<${request.url}x>; rel="next"`];
    response.writeHead(status, { "content-type": "application/json", ...(link ? { link } : {}) }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test("a list goes on where its page says, and ends with the page that says nothing", async () => {
  answers["/list"] = [200, "[1,2]", '</more>; rel="next"'];
  answers["/more"] = [200, "[3]"];
  expect(await askAll(`${url}/list`)).toEqual({ kind: "done", value: [1, 2, 3] });
});

test("a list that goes on at another host is not a list: nothing is left out silently, and no token is sent there", async () => {
  answers["/list"] = [200, "[1,2]", '<http://127.0.0.2:1/more>; rel="next"'];
  expect(await askAll(`${url}/list`)).toMatchObject({
    kind: "stop",
    message: expect.stringContaining("goes on at another host"),
  });
});

test("a host that is asked by another address than its own goes on at the one that is asked", async () => {
  answers["/list"] = [200, "[1,2]", '<https://forge.internal.example/list?page=2>; rel="next"'];
  answers["/list?page=2"] = [200, "[3]"];
  expect(await askAll(`${url}/list`)).toEqual({ kind: "done", value: [1, 2, 3] });
});

test("a list without an end is given up", async () => {
  expect(await askAll(`${url}/endless`)).toMatchObject({
    kind: "stop",
    message: expect.stringContaining("more than 100 pages"),
  });
});

test("pages that are too much together are given up, though each is not", async () => {
  answers["/large"] = [200, JSON.stringify(["x".repeat(19_000_000)]), '</large>; rel="next"'];
  expect(await askAll(`${url}/large`)).toMatchObject({
    kind: "stop",
    message: expect.stringContaining("pages of more than"),
  });
});

const code = (said: string) => /"code":"(\w+)"/.exec(said)?.[1];
test.each<[string, [number, string], Parameters<typeof ask>[1], object]>([
  ["a 404", [404, "{}"], {}, { kind: "stop", reason: "ProviderNotFound" }],
  [
    "the host's name for it",
    [400, '{"code":"NoSuch"}'],
    { code, missing: /^NoSuch$/ },
    { kind: "stop", reason: "ProviderNotFound" },
  ],
  [
    "a 404 for another reason",
    [404, '{"code":"NoProject"}'],
    { code, missing: /^NoSuch$/ },
    { kind: "stop", reason: "ProviderRefused" },
  ],
  [
    "too many questions, by name",
    [400, '{"code":"ThrottlingException"}'],
    { code },
    { kind: "again", reason: "ProviderUnreachable" },
  ],
  [
    "a page for signing in",
    [203, "<html>"],
    {},
    { kind: "stop", message: expect.stringContaining("rejects the token") },
  ],
  ["nothing, on purpose", [204, ""], {}, { kind: "done" }],
])("%s is told apart", async (_, answer, options, want) => {
  answers["/one"] = answer;
  expect(await ask(`${url}/one`, options)).toMatchObject(want);
});
