import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { KubeClient } from "../../server/kube/client.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { parseManifests } from "../../server/kube/yaml.ts";
import { fourObjects, synced, value, type World, world } from "../journeys/engine-world.ts";

/**
 * Create → Synced for 1 and 50 applications of four objects and a namespace, against a tight loop of server-side apply requests for the same
 * objects on the same API server, in turns. No controller-manager runs, so health is not part of it.
 *
 *   node --import tsx test/scale/engine.ts
 */
const TARGET = 6;
const ROUNDS = 3;

const kinds: Record<string, Resource> = {
  ServiceAccount: { group: "", version: "v1", kind: "ServiceAccount", plural: "serviceaccounts", namespaced: true },
  ConfigMap: RESOURCES.configMap,
  Service: { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true },
  Deployment: { group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true },
};

/** CPU seconds of a process so far. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function measure<T>(w: World, work: () => Promise<T>) {
  const [api, own, started] = [
    cpuOf(w.api.pids.apiserver) + cpuOf(w.api.pids.etcd),
    cpuOf(process.pid),
    performance.now(),
  ];
  await work();
  return {
    s: (performance.now() - started) / 1_000,
    apiCpu: cpuOf(w.api.pids.apiserver) + cpuOf(w.api.pids.etcd) - api,
    ownCpu: cpuOf(process.pid) - own,
  };
}

async function tightLoop(client: KubeClient, names: string[]): Promise<void> {
  const objects: KubeObject[] = value(parseManifests(fourObjects(), "all.yaml"));
  const queue = [...names];
  const worker = async () => {
    for (let name = queue.shift(); name; name = queue.shift()) {
      value(await client.apply(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
      for (const object of objects) {
        value(
          await client.apply(kinds[object.kind]!, { ...object, metadata: { ...object.metadata, namespace: name } }),
        );
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

/** Creates the applications and waits by watch until the last is Synced and its operation Succeeded. */
async function engine(w: World, client: KubeClient, names: string[]): Promise<void> {
  const left = new Set(names);
  const abort = new AbortController();
  const { watch } = await import("../../server/kube/watch.ts");
  await new Promise<void>((resolve) => {
    const look = (object: KubeObject) => {
      if (synced(object as never) && left.delete(object.metadata.name) && left.size === 0) {
        abort.abort();
        resolve();
      }
    };
    void watch({
      client,
      resource: RESOURCES.application,
      namespace: w.namespace,
      signal: abort.signal,
      replace: (all) => all.forEach(look),
      change: (_, object) => look(object),
    });
    void Promise.all(names.map((name) => w.app(name, { repo: "scale", path: `apps/${name}` })));
  });
}

/** From a push, with the refresh annotation placed right after it (as a webhook does), until the object has the new value. */
async function commitToLive(w: World, client: KubeClient): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    await w.git.commit("scale", { "apps/one-0/all.yaml": fourObjects(`commit-${i}`) }, `commit ${i}`);
    const started = performance.now();
    const annotations = { "argocd.argoproj.io/refresh": "normal" };
    value(await client.mergePatch(RESOURCES.application, w.namespace, "one-0", { metadata: { annotations } }));
    while (value(await client.get(RESOURCES.configMap, "one-0", "web")).data.rev !== `commit-${i}`)
      await new Promise((resolve) => setTimeout(resolve, 5));
    times.push((performance.now() - started) / 1_000);
  }
  console.log(
    `commit → live by refresh annotation, ${w.controller.deps.store.all().length} apps on the repository: ${times.map((t) => round(t, 3)).join(", ")} s`,
  );
}

/** Every application is asked to look again, after a commit that touches none of them. */
async function noChange(w: World, names: string[]): Promise<void> {
  await w.git.commit("scale", { "README.md": "nothing" }, "elsewhere");
  const revision = (await w.git.repository("scale").tip("main"))!;
  const ran = await measure(w, async () => {
    const annotations = { "argocd.argoproj.io/refresh": "normal" };
    await Promise.all(
      names.map((name) => w.client.mergePatch(RESOURCES.application, w.namespace, name, { metadata: { annotations } })),
    );
    while (names.some((name) => w.controller.deps.store.get(name)?.status?.sync?.revision !== revision))
      await new Promise((resolve) => setTimeout(resolve, 5));
  });
  console.log(
    `refresh without a change: ${names.length} apps in ${round(ran.s)} s, ${Math.round(names.length / ran.s)} a second, engine CPU ${round((ran.ownCpu / names.length) * 1_000, 1)} ms an app`,
  );
}

const round = (n: number, digits = 2) => n.toFixed(digits);
const w = await world();
const client = new KubeClient(parseKubeconfig(readFileSync(w.api.kubeconfig, "utf8")));
try {
  const batches = [
    ...Array.from({ length: 6 }, (_, i) => Array.of(`one-${i}`)),
    ...Array.from({ length: ROUNDS }, (_, r) => Array.from({ length: 50 }, (_, i) => `many-${r}-${i}`)),
  ];
  const files = Object.fromEntries(batches.flat().map((name) => [`apps/${name}/all.yaml`, fourObjects(name)]));
  await w.git.createRepository("scale", { files });
  await tightLoop(client, ["warm-up"]);
  const ratios: Record<string, number[]> = {};
  for (const [i, names] of batches.entries()) {
    const loop = await measure(w, () =>
      tightLoop(
        client,
        names.map((name) => `loop-${name}`),
      ),
    );
    const requests = Object.values(w.controller.deps.home.requests).reduce((a, b) => a + b, 0);
    const ours = await measure(w, () => engine(w, client, names));
    const sent = Object.values(w.controller.deps.home.requests).reduce((a, b) => a + b, 0) - requests;
    const label = names.length === 1 ? "1 app  " : `${names.length} apps`;
    const first = i === 0 ? " (first after start, not counted)" : "";
    if (!first) ratios[label] = [...(ratios[label] ?? []), ours.s / loop.s];
    console.log(
      `${label} tight loop ${round(loop.s, 3)} s (API server CPU ${round(loop.apiCpu)} s) | engine ${round(ours.s, 3)} s (API server ${round(ours.apiCpu)} s, engine ${round(ours.ownCpu)} s, ${sent} requests) | ratio ${round(ours.s / loop.s)}${first}`,
    );
  }
  await commitToLive(w, client);
  await noChange(w, batches.flat());
  for (const [label, all] of Object.entries(ratios)) {
    const sorted = all.toSorted((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)]!;
    const judged = median <= TARGET ? ` ≤ ${TARGET}: reached` : ` > ${TARGET}: NOT reached`;
    const verdict = label.startsWith("1 ") ? "" : judged;
    console.log(`${label} median ratio ${round(median)}, worst ${round(sorted.at(-1)!)}${verdict}`);
  }
  console.log(
    `resident memory of engine, repo server, cache and this benchmark together: ${Math.round(process.memoryUsage().rss / 1_048_576)} MiB; load average ${loadavg()[0]!.toFixed(1)}`,
  );
} finally {
  await client.close();
  await w.stop();
}
