import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { whole } from "../../openapi/client.ts";
import { KubeClient } from "../../server/kube/client.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { watch } from "../../server/kube/watch.ts";
import { startApiServer } from "../cluster/apiserver.ts";
import { until } from "../servers/run.ts";
import { type LinkWorld, linkWorld, must, ok, program } from "./link-world.ts";

// The same number gives the same run; another one by SEED.
const seed = Number(process.env.SEED) || 22;
const rounds = process.env.PROVE ? 40 : 4;
const COUNT = 40;
let state = seed;
const random = (below: number) => {
  state = (state * 1103515245 + 12345) % 2147483648;
  return Math.floor((state / 2147483648) * below);
};

let w: LinkWorld;
const deleted: string[] = [];
const stop = new AbortController();
beforeAll(async () => {
  w = await linkWorld();
  void watch({
    client: w.kube,
    resource: RESOURCES.application,
    namespace: w.namespace,
    signal: stop.signal,
    replace: () => undefined,
    change: (type, object) => {
      if (type === "DELETED") deleted.push(object.metadata.name);
    },
  });
}, 120_000);
afterAll(async () => {
  stop.abort();
  await w?.stop();
}, 30_000);

/** What the service and the cluster should both hold: application → path. */
const truth = new Map<string, string>();
const gone = new Set<string>();

async function change(n: number): Promise<void> {
  const id = `app-${random(COUNT)}`;
  if (n % 7 === 6 && truth.has(id)) {
    const { response } = await w.service.api.DELETE("/v1/applications/{id}", {
      params: { path: { id }, query: { cascade: "orphan" } },
    });
    if (response.ok) {
      truth.delete(id);
      gone.add(id);
    }
    return;
  }
  if (gone.has(id)) return;
  await w.putApplication(id, `path-${n}`);
  truth.set(id, `path-${n}`);
}

async function converged(): Promise<boolean> {
  const listed = await w.kube.list(RESOURCES.application, { namespace: w.namespace });
  if (listed.kind !== "done") return false;
  const live = new Map(listed.value.items.map((app) => [app.metadata.name, app.spec.source.path]));
  if (live.size !== truth.size || [...truth].some(([id, path]) => live.get(id) !== path)) return false;
  const { data } = await w.service.api.GET("/v1/applications", { params: { query: { limit: 500 } } });
  return (
    data?.items.length === truth.size && whole(data.items).every((app) => app.status.delivery?.state === "Delivered")
  );
}

async function chaos(kill: () => Promise<void>): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const from = round * 1000;
    // The kill falls somewhere between these changes and their arrival.
    for (let n = 0; n < 12; n++) await change(from + n);
    await new Promise((resolve) => setTimeout(resolve, random(60)));
    await kill();
    for (let n = 12; n < 24; n++) await change(from + n);
  }
  await until(`service and cluster to agree (seed ${seed})`, converged, 60_000);
  expect(deleted.filter((name) => !gone.has(name))).toEqual([]);
}

test("killing the agent at any moment loses and deletes nothing", async () => {
  await chaos(async () => {
    await w.agent.stop("SIGKILL");
    w.startAgent();
  });
}, 180_000);

test("killing the service at any moment loses and deletes nothing", async () => {
  await chaos(async () => {
    await w.service.kill();
    await w.service.start();
  });
}, 240_000);

test("a connection that went silent is noticed, and what changed meanwhile arrives within a minute", async () => {
  const hole = await startHole(w.service.port);
  try {
    await w.agent.stop();
    w.startAgent({ OUTPOST_ENDPOINT: `http://127.0.0.1:${hole.port}` });
    await w.putApplication("silent", "before");
    truth.set("silent", "before");
    await until("the session through the hole", converged, 30_000);
    hole.silence();
    await w.putApplication("silent", "after");
    truth.set("silent", "after");
    await until("the change to arrive", converged, 60_000);
    expect(deleted.filter((name) => !gone.has(name))).toEqual([]);
  } finally {
    await hole.stop();
    await w.agent.stop();
    w.startAgent();
  }
}, 120_000);

test("a copy of the agent's identity in another cluster is refused and told so", async () => {
  const other = await startApiServer();
  const kube = new KubeClient(parseKubeconfig(readFileSync(other.kubeconfig, "utf8")));
  try {
    must(
      await kube.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: w.namespace } }),
    );
    const { data } = must(await w.kube.get(RESOURCES.secret, w.namespace, "outpost-agent-identity"));
    must(
      await kube.create(RESOURCES.secret, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "outpost-agent-identity", namespace: w.namespace },
        data,
      }),
    );
    const copy = program(["agent"], {
      OUTPOST_ENDPOINT: w.service.url,
      KUBECONFIG: other.kubeconfig,
      POD_NAMESPACE: w.namespace,
    });
    try {
      await until("the refusal", () => copy.said().includes("belongs to the cluster with UID"), 20_000);
    } finally {
      await copy.stop();
    }
    const { data: agent } = await w.service.api.GET("/v1/agents/{id}", { params: { path: { id: "one" } } });
    const system = must(await w.kube.get(RESOURCES.namespace, undefined, "kube-system"));
    expect(agent?.status).toMatchObject({ connected: true, clusterUid: system.metadata.uid });
  } finally {
    await kube.close();
    await other.stop();
  }
}, 60_000);

test("an agent that was deleted and re-created comes back with a new token and adopts what it finds", async () => {
  const params = { path: { id: "one" } };
  const { token } = ok(await w.service.api.POST("/v1/agents/{id}/tokens", { params, body: {} }));
  // As a reinstallation does it: the identity is gone, the applications are not.
  await w.agent.stop();
  must(await w.kube.delete(RESOURCES.secret, w.namespace, "outpost-agent-identity"));
  w.startAgent({ OUTPOST_TOKEN: token });
  await until("the agent to take up its work", converged, 30_000);
  await change(999_001);
  await until("the next change", converged, 30_000);
  expect(deleted.filter((name) => !gone.has(name))).toEqual([]);
}, 90_000);

/** A way to the service whose open connections can go silent: nothing passes and no error comes, while new ones work. */
async function startHole(to: number) {
  const near = new Set<Socket>();
  const far = new Map<Socket, Socket>();
  const server = createServer((socket) => {
    const onward = connect(to, "127.0.0.1");
    near.add(socket);
    far.set(socket, onward);
    socket.pipe(onward);
    onward.pipe(socket);
    socket.on("error", () => undefined).on("close", () => near.delete(socket));
    onward.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    silence: () => {
      for (const socket of near) {
        const onward = far.get(socket)!;
        socket.unpipe(onward).pause();
        onward.unpipe(socket).destroy();
      }
    },
    stop: async () => {
      for (const socket of near) socket.destroy();
      for (const onward of far.values()) onward.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
