import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { KubeClient } from "../../../kube/client.ts";
import { openReader, type Reader, readable } from "./reader.ts";

const paths: [string, string | undefined][] = [
  ["/version", "/version"],
  ["/api", "/api"],
  ["/apis/apps/v1", "/apis/apps/v1"],
  ["/api/v1/namespaces/shop", "/api/v1/namespaces/shop"],
  ["/api/v1/namespaces/shop/secrets/s?timeout=32s", "/api/v1/namespaces/shop/secrets/s"],
  [
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node",
  ],
  ["/api/v1/pods?watch=true&limit=5&labelSelector=a%3Db", "/api/v1/pods?limit=5&labelSelector=a%3Db"],
  ["/api/v1/namespaces/shop/pods/p/exec?command=sh", undefined],
  ["/api/v1/namespaces/shop/pods/p/log", undefined],
  ["/api/v1/namespaces/shop/services/s/proxy/admin", undefined],
  ["/api/v1/nodes/n/proxy/", undefined],
  ["/api/v1/nodes/n/proxy", undefined],
  ["/api/v1/../v1/secrets", undefined],
  ["/api/v1/namespaces/%2e%2e/secrets", undefined],
  ["//evil.example/api", undefined],
  ["http://evil.example/api/v1/pods", undefined],
  ["/metrics", undefined],
  ["/version/x", undefined],
  ["/logs/kubelet", undefined],
];
test.each(paths)(
  "of the paths of a cluster only those of lists, objects and kinds are passed on: %s",
  (given, want) => {
    expect(readable(given)).toBe(want);
  },
);

describe("a reader", () => {
  const seen: IncomingMessage[] = [];
  let server: Server;
  let client: KubeClient;
  let reader: Reader;
  beforeAll(async () => {
    server = createServer((request, response) => {
      seen.push(request);
      response
        .writeHead(request.url === "/api/v1/pods" ? 403 : 200)
        .end(JSON.stringify({ kind: "Thing", message: "no" }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const config = { server: `http://127.0.0.1:${port}`, namespace: "x", impersonate: "system:serviceaccount:a:b" };
    client = new KubeClient(config);
    reader = await openReader(client);
  });
  afterAll(async () => {
    await reader.close();
    await client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const ask = (path: string, init: RequestInit = {}) => fetch(`${reader.address.reveal()}${path}`, init);

  test("asks as the account, whatever the one who asks says of itself", async () => {
    const answer = await ask("/api/v1/namespaces", {
      headers: { "impersonate-user": "system:admin", "x-remote-user": "root" },
    });
    expect([answer.status, await answer.json()]).toEqual([200, { kind: "Thing", message: "no" }]);
    expect(seen.at(-1)?.headers).toMatchObject({ "impersonate-user": "system:serviceaccount:a:b" });
    expect(seen.at(-1)?.headers["x-remote-user"]).toBeUndefined();
  });

  test("passes on no write and no stranger", async () => {
    const before = seen.length;
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
      expect((await ask("/api/v1/namespaces", { method })).status).toBe(405);
    const { origin } = new URL(reader.address.reveal());
    for (const path of ["", `/${"0".repeat(64)}`, "/"])
      expect((await fetch(`${origin}${path}/api/v1/namespaces`)).status).toBe(401);
    expect(seen.length).toBe(before);
  });

  test("remembers that something could not be read", async () => {
    expect((await ask("/api/v1/pods")).status).toBe(403);
    expect(reader.failure()).toMatchObject({ kind: "stop", reason: "Forbidden" });
  });

  test("is gone when the rendering is over", async () => {
    const other = await openReader(client);
    await other.close();
    await expect(fetch(`${other.address.reveal()}/version`)).rejects.toThrow();
  });
});
