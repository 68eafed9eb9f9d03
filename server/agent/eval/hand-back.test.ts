import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { handBack } from "./hand-back.ts";

test("an application whose cluster does not answer is not said to be handed back", async () => {
  const app = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: "shop", namespace: "outpost", uid: "1", resourceVersion: "1" },
    spec: { destination: { server: "https://kubernetes.default.svc", namespace: "shop" } },
    status: { resources: [{ version: "v1", kind: "ConfigMap", namespace: "shop", name: "a", status: "Synced" }] },
  };
  const server = createServer(({ url = "" }, answer) => {
    const discovers = url === "/api" || url === "/apis";
    const items = url.includes("/applications") ? [app] : [];
    answer.writeHead(discovers ? 503 : 200, { "content-type": "application/json" });
    answer.end(JSON.stringify({ kind: "List", apiVersion: "v1", metadata: {}, items }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const config = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, namespace: "outpost" };
    const handed = await handBack({ config, namespace: "outpost", applications: [], dryRun: false });
    expect(handed).toMatchObject({
      kind: "done",
      value: { checked: 1, objects: [], failed: [expect.stringContaining("Application shop is not handed back")] },
    });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
