import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { inParallel } from "../../server/base/process/parallel.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, DEPLOYMENT, fourObjects, value, type World, world } from "../journeys/engine-world.ts";
import { applyAsArgo, documents, TRACKING } from "../journeys/former-engine.ts";

/**
 * Take-over of applications that another engine left, four objects each: from the start of the controller until every object is labelled and every
 * application has been compared. No object may change but for the label, and no sync may begin.
 *
 *   node --import tsx test/scale/adopt.ts [applications, 100 unless told]
 */
const TARGET_S = 20;
const [count = 100] = process.argv.slice(2).map(Number);
const SERVICE: Resource = { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true };
const ACCOUNT: Resource = {
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  namespaced: true,
};
const KINDS = [ACCOUNT, CONFIG_MAP, SERVICE, DEPLOYMENT];
const LONG_AGO = "2026-01-01T00:00:00Z";
const names = Array.from({ length: count }, (_, i) => `left-${i}`);

function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function leaveOne(w: World, name: string, revision: string): Promise<void> {
  value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  const rows = [];
  for (const object of documents(fourObjects(name))) {
    const { kind, metadata } = await applyAsArgo(w, name, object);
    const [group, version] = kind === "Deployment" ? ["apps", "v1"] : ["", "v1"];
    rows.push({
      ...(group ? { group } : {}),
      version,
      kind,
      namespace: metadata.namespace,
      name: metadata.name,
      status: "Synced",
    });
  }
  const { spec } = await w.app(name, { repo: "scale", path: `apps/${name}` });
  const at = new Date(Date.now() - 1_000).toISOString().replace(/\.\d+/, "");
  const { source, destination } = spec;
  const status = {
    sync: { status: "Synced", revision, comparedTo: { source, destination } },
    health: { status: "Healthy", lastTransitionTime: at },
    resources: rows,
    sourceType: "Directory",
    reconciledAt: LONG_AGO,
    history: [{ id: 0, revision, source, deployStartedAt: at, deployedAt: at }],
    operationState: {
      phase: "Succeeded",
      message: "successfully synced (all tasks run)",
      startedAt: at,
      finishedAt: at,
      operation: { sync: { revision, prune: true }, initiatedBy: { automated: true }, retry: { limit: 5 } },
      syncResult: { revision, source, resources: [] },
    },
  };
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, { status }));
}

/** All that was left, without the label and what the server notes of a write. */
async function substance(w: World): Promise<Map<string, string>> {
  const lists = await Promise.all(KINDS.map((kind) => w.client.list(kind)));
  const objects = lists.flatMap((list) => value(list).items).filter(({ metadata }) => metadata.annotations?.[TRACKING]);
  return new Map(objects.map((one) => [one.metadata.uid!, JSON.stringify(plain(one))]));
}

function plain({ metadata, ...rest }: KubeObject) {
  const { managedFields: _, resourceVersion: __, labels, ...others } = metadata;
  const { "outpost.dev/app": ___, ...kept } = labels ?? {};
  return { ...rest, metadata: { ...others, labels: kept } };
}

const isTaken = async (w: World): Promise<boolean> => {
  const compared = names.every((name) => {
    const app = w.controller.deps.store.get(name);
    return app?.status?.sync?.status === "Synced" && app.status.reconciledAt !== LONG_AGO;
  });
  if (!compared) return false;
  for (const kind of KINDS) {
    const left = value(await w.client.list(kind, { labelSelector: "outpost.dev/app", metadataOnly: true }));
    if (left.items.length < count) return false;
  }
  return true;
};

const w = await world();
try {
  await w.halt();
  const files = Object.fromEntries(names.map((name) => [`apps/${name}/all.yaml`, fourObjects(name)]));
  const revision = (await (await w.git.createRepository("scale", { files })).tip("refs/heads/main"))!;
  await inParallel(names, (name) => leaveOne(w, name, revision));
  const before = await substance(w);
  const started = performance.now();
  const [api, own] = [cpuOf(w.api.pids.apiserver) + cpuOf(w.api.pids.etcd), cpuOf(process.pid)];
  await w.restart();
  while (!(await isTaken(w))) await new Promise((resolve) => setTimeout(resolve, 250));
  const s = (performance.now() - started) / 1_000;
  const [apiCpu, ownCpu] = [cpuOf(w.api.pids.apiserver) + cpuOf(w.api.pids.etcd) - api, cpuOf(process.pid) - own];
  const requests = Object.entries(w.controller.deps.home.requests).map(([verb, n]) => `${verb} ${n}`);
  // What would come after it, if anything did.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const now = await substance(w);
  const changed =
    [...before].filter(([uid, text]) => now.get(uid) !== text).length +
    [...now.keys()].filter((uid) => !before.has(uid)).length;
  const apps = value(await w.client.list(RESOURCES.application, { namespace: w.namespace })).items;
  const anew = apps.filter(({ status }) => status.history.length !== 1 || status.sync.status !== "Synced").length;
  const verdict = s <= TARGET_S ? `≤ ${TARGET_S} s: reached` : `> ${TARGET_S} s: NOT reached`;
  console.log(
    `take-over of ${count} applications, ${before.size} objects: ${s.toFixed(1)} s ${verdict} | ${changed} objects changed, ${anew} applications synced anew or not Synced | CPU of engine and repo server ${ownCpu.toFixed(1)} s, of the API server ${apiCpu.toFixed(1)} s | requests: ${requests.join(", ")} | load average ${loadavg()[0]!.toFixed(1)}`,
  );
  if (changed || anew || s > TARGET_S) process.exitCode = 1;
} finally {
  await w.stop();
}
