import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { WorkerTask } from "./exchange.ts";
import { MemoryIdentity } from "./identity/identity.ts";
import { Leases } from "./leases.ts";
import { startLink } from "./link.ts";
import { SILENT } from "./log.ts";
import { type FakeService, startFakeService } from "./testing/fake-service.ts";

// What the version before took of a worker; it refused every other field.
const BEFORE: Record<string, string[]> = {
  "/v1/worker/session": [
    "worker",
    "nonce",
    "instance",
    "clusterUid",
    "clusterVersion",
    "version",
    "capabilities",
    "signature",
  ],
  "/v1/worker/exchange": ["wait", "free", "known", "reports", "draining"],
};
// What it did not say yet.
const NOT_SAID = ["capacity", "more", "cancel"];

type Json = Record<string, unknown>;
/** A service between: it takes less than ours, and says less or more. */
async function between(to: string, how: { refuses: boolean; answer: (body: Json) => Json }) {
  const refused: string[] = [];
  const server: Server = createServer(async (asked, answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of asked) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const known = BEFORE[asked.url!];
    const unknown =
      known && how.refuses ? Object.keys(JSON.parse(text) as Json).find((field) => !known.includes(field)) : undefined;
    if (unknown) {
      refused.push(unknown);
      answer.writeHead(400, { "content-type": "application/problem+json" });
      return void answer.end(
        JSON.stringify({
          status: 400,
          code: "invalid_request",
          detail: `/${unknown} must NOT have additional properties`,
        }),
      );
    }
    const { host: _, "content-length": __, connection: ___, ...headers } = asked.headers;
    const got = await fetch(`${to}${asked.url}`, {
      method: asked.method,
      headers: headers as Record<string, string>,
      ...(text ? { body: text } : {}),
    }).catch(() => undefined);
    // A poll that waits when the test ends is cut.
    if (!got) return void answer.destroy();
    const body = await got.text();
    answer.writeHead(got.status, { "content-type": got.headers.get("content-type") ?? "text/plain" });
    answer.end(
      body.startsWith("{") && got.status === 200 ? JSON.stringify(how.answer(JSON.parse(body) as Json)) : body,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, refused, server };
}

test.each([
  [
    "of the version before",
    {
      refuses: true,
      answer: (body: Json) => Object.fromEntries(Object.entries(body).filter(([key]) => !NOT_SAID.includes(key))),
    },
    ["lacking"],
  ],
  [
    "of the version after",
    { refuses: false, answer: (body: Json) => ({ ...body, later: { a: [1] }, another: true }) },
    [],
  ],
])("a worker enrols, opens its session and takes tasks of a service %s", async (_, how, refused) => {
  const fake: FakeService = await startFakeService();
  const front = await between(fake.endpoint, how);
  const stop = new AbortController();
  const tasks: WorkerTask[] = [];
  const said: string[] = [];
  const leases = new Leases();
  let sent = false;
  const link = startLink({
    endpoint: front.url,
    env: { OUTPOST_TOKEN: fake.token },
    kind: "agent",
    store: new MemoryIdentity(),
    instance: "i1",
    version: "0.1.0",
    leases,
    lost: () => undefined,
    heartbeatThread: false,
    waitSeconds: 1,
    facts: () => ({
      capabilities: ["shell.run"],
      lacking: [{ kind: "image.build", why: "no builder" }],
      tags: ["a"],
      type: "SHELL",
    }),
    log: { ...SILENT, warn: (_fields, message) => said.push(message), error: (_fields, message) => said.push(message) },
    signal: stop.signal,
    worker: {
      task: (task) => leases.take(task) && tasks.push(task) > 0,
      cancel: () => undefined,
      free: () => 4,
      headroom: () => ({ cpuPercent: 50 }),
    },
  });
  try {
    const end = Date.now() + 60_000;
    while (tasks.length === 0 && Date.now() < end) {
      if (link.session.open && !sent) {
        sent = true;
        fake.tasks.push({ task: "t1", kind: "shell.run", params: {}, fence: 1, attempt: 1, timeoutSeconds: 60 });
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect({ tasks: tasks.map(({ task }) => task), refused: front.refused, said }).toEqual({
      tasks: ["t1"],
      refused,
      said: [],
    });
  } finally {
    stop.abort();
    await link.done;
    await fake.close();
    front.server.closeAllConnections();
    await new Promise((resolve) => front.server.close(resolve));
  }
});
