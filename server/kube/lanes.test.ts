import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { KubeClient } from "./client.ts";

let server: Server;
let client: KubeClient;
const seen: string[] = [];
beforeAll(async () => {
  server = createServer(({ url = "" }, answer) => {
    seen.push(url);
    setImmediate(() => answer.end("{}"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  client = new KubeClient({
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    namespace: "default",
  });
});
afterAll(async () => {
  await client.close();
  await new Promise((resolve) => server.close(resolve));
});

test("a thousand requests for one tenant come before another tenant's one by no more than the connections", async () => {
  const [many, one] = [client.lane("many"), client.lane("one")];
  const storm = Array.from({ length: 1_000 }, (_, n) => many.json("GET", `/many/${n}`));
  expect((await one.json("GET", "/one")).kind).toBe("done");
  expect(seen.indexOf("/one")).toBeLessThan(40);
  await Promise.all(storm);
  expect(seen).toHaveLength(1_001);
});

test("a lane is the same client otherwise: closing it closes nothing, and what is counted is counted for all", async () => {
  const lane = client.lane("one");
  await lane.close();
  expect((await lane.json("GET", "/again")).kind).toBe("done");
  expect(lane.discovery).toBe(client.discovery);
  expect(client.requests.GET).toBe(lane.requests.GET);
  expect(client.contactAt).toBe(lane.contactAt);
});
