/**
 * The whole system as a user has it: API → service → link → agent, controller, repo server and Redis as pods → API server, and back.
 * Prints create → Synced for 1 and 50 applications against a tight loop of server-side apply requests of the same objects in the same
 * run, commit → live after a forced refresh, and the resident memory of each program. It starts and removes its own quickstart.
 *
 *   npm run build && node --import tsx test/scale/system.ts
 */
import { readdirSync, readFileSync } from "node:fs";
import { whole } from "../../openapi/client.ts";
import { KubeClient } from "../../server/kube/client.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";

process.env.OUTPOST_QUICKSTART = ".journeys-scale";
const { default: setup, teardown } = await import("../journeys/setup.mjs");
const ROUNDS = 3;
const round = (n: number, digits = 2) => n.toFixed(digits);

const core = (kind: string, plural: string): Resource => ({ group: "", version: "v1", kind, plural, namespaced: true });
const kinds: Record<string, Resource> = {
  Namespace: RESOURCES.namespace,
  ConfigMap: RESOURCES.configMap,
  ServiceAccount: core("ServiceAccount", "serviceaccounts"),
  Service: core("Service", "services"),
  Deployment: { group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true },
};

/** A namespace and the four objects of the usual workload; a Deployment of no replicas is Healthy at once. */
function objects(namespace: string, revision: string): KubeObject[] {
  const metadata = { name: "web", namespace };
  const labels = { app: "web" };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { revision } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { clusterIP: "None", selector: labels, ports: [{ port: 80 }] },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "outpost.local/guestbook:1" }] } },
      },
    },
  ] as never;
}

const text = (namespace: string, revision: string) =>
  objects(namespace, revision)
    .map((o) => JSON.stringify(o))
    .join("\n---\n");

await setup();
try {
  await measure();
} finally {
  await teardown();
}

async function measure(): Promise<void> {
  const { world } = await import("../world.ts");
  const w = await world();
  const client = new KubeClient(parseKubeconfig(readFileSync(w.cluster.kubeconfig, "utf8")));
  const batches = [1, 1, 1, 1, 1, 1]
    .map((n, i) => names(`one-${i}`, n))
    .concat(Array.from({ length: ROUNDS }, (_, i) => names(`many-${i}`, 50)));
  await w.repository.commit(
    Object.fromEntries(batches.flat().map((n) => [`apps/${n}/all.yaml`, text(n, "first")])),
    "the workload",
  );
  memory("idle, one application");
  await tightLoop(client, ["warm-up"]);

  const ratios = new Map<number, number[]>();
  for (const [i, batch] of batches.entries()) {
    const loop = await timed(() =>
      tightLoop(
        client,
        batch.map((n) => `loop-${n}`),
      ),
    );
    const ours = await timed(() => create(w, batch));
    // The first application of a process pays for its connections and its first clone.
    if (i > 0) ratios.set(batch.length, [...(ratios.get(batch.length) ?? []), ours / loop]);
    console.log(
      `${String(batch.length).padStart(2)} created → Synced through the service ${round(ours)} s | tight loop ${round(loop)} s | ratio ${round(ours / loop)}${i ? "" : " (first, not counted)"}`,
    );
  }
  for (const [count, all] of ratios)
    console.log(
      `${count} application(s): median ratio ${round(all.sort((a, b) => a - b)[Math.floor(all.length / 2)]!)}`,
    );

  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    await w.repository.commit({ "apps/one-0-0/all.yaml": text("one-0-0", `commit-${i}`) }, `commit ${i}`);
    times.push(
      await timed(async () => {
        await w.api.POST("/v1/applications/{id}/refresh", {
          params: { path: { id: "one-0-0" } },
          body: { hard: false },
        });
        await until(async () => {
          const live = await client.get(RESOURCES.configMap, "one-0-0", "web");
          return (
            live.kind === "done" && (live.value as { data?: { revision?: string } }).data?.revision === `commit-${i}`
          );
        });
      }),
    );
  }
  console.log(
    `commit → live after a refresh through the service, ${batches.flat().length + 1} applications on the repository: ${times.map((t) => round(t)).join(", ")} s`,
  );
  memory(`${batches.flat().length + 1} applications`);
}

function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
}

async function create(w: Awaited<ReturnType<typeof import("../world.ts")["world"]>>, batch: string[]): Promise<void> {
  const queue = [...batch];
  const put = async () => {
    for (let id = queue.shift(); id; id = queue.shift()) {
      const spec = {
        agent: "quickstart",
        source: { repository: "code", path: `apps/${id}` },
        destination: { namespace: id },
        syncPolicy: { automated: { prune: true, selfHeal: true } },
      };
      const { error } = await w.api.PUT("/v1/applications/{id}", { params: { path: { id } }, body: { spec } as never });
      if (error) throw new Error(JSON.stringify(error));
    }
  };
  await Promise.all([put(), put(), put(), put(), put(), put(), put(), put()]);
  const left = new Set(batch);
  await until(async () => {
    const { data } = await w.api.GET("/v1/applications", {
      params: { query: { limit: 500, filter: "status.sync.status=Synced" } },
    });
    for (const a of whole(data?.items ?? [])) if (a.status.operation?.phase === "Succeeded") left.delete(a.id);
    return left.size === 0;
  });
}

async function tightLoop(client: KubeClient, namespaces: string[]): Promise<void> {
  const queue = [...namespaces];
  const worker = async () => {
    for (let name = queue.shift(); name; name = queue.shift()) {
      for (const object of objects(name, "loop")) {
        const { namespace: _, ...metadata } = object.metadata;
        const applied = await client.apply(
          kinds[object.kind]!,
          object.kind === "Namespace" ? { ...object, metadata } : object,
        );
        if (applied.kind !== "done") throw new Error(JSON.stringify(applied));
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1_000;
}

async function until(holds: () => Promise<boolean>, deadlineMs = 180_000): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error("not within 180 s");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Resident memory of each program, summed over its processes, from the kernel. */
function memory(when: string): void {
  const sums = new Map<string, number>();
  for (const pid of readdirSync("/proc").filter((n) => /^\d+$/.test(n))) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      const at = words.findIndex((word) => word.endsWith("outpost.mjs"));
      const other = words[0]!.startsWith("redis-server") ? "redis" : undefined;
      const name = at >= 0 && words[0]!.endsWith("node") ? words[at + 1] : other;
      const kib = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
      if (name) sums.set(name, (sums.get(name) ?? 0) + kib);
    } catch {
      // It ended while we looked.
    }
  }
  console.log(
    `resident memory, ${when}: ${[...sums].map(([name, kib]) => `${name} ${Math.round(kib / 1024)} MiB`).join(", ")}`,
  );
}
