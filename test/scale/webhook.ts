/**
 * Commit → live through a signed call at the service, with everything at its default: service → link → ConfigMap → controller → repo server
 * → API server, each a process of its own. Of 54, 154 and 1,000 applications on one repository one changes; of 154 also 50 at once.
 *
 *   npm run build && node --import tsx test/scale/webhook.ts        SIZES=54,154 for fewer
 */
import { loadavg } from "node:os";
import { type OutpostClient, whole } from "../../openapi/client.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { ok, startService } from "../faults/link-world.ts";
import { synced } from "../journeys/engine-world.ts";
import { until } from "../servers/run.ts";
import { cpuOf, installation } from "./installation.ts";
import { median } from "./load.ts";
import { push, startLink, webhook } from "./through-service.ts";

const SIZES = (process.env.SIZES ?? "54,154,1000").split(",").map(Number);
/** A commit moves every application on to its revision: with many it takes a minute to come to rest. */
const timesOf = (size: number): number => (size > 500 ? 3 : 7);
const MANY = 50;
const IDLE_MS = 30_000;
const round = (n: number) => n.toFixed(2);
const name = (i: number) => `app-${i}`;
/** As in `fourObjects`, without what would fill the API server with Services. */
const manifests = (value: string) =>
  [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "web" } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web" }, data: { value } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { clusterIP: "None", selector: { app: "web" }, ports: [{ port: 80 }] },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: "web" } },
        template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "x" }] } },
      },
    },
  ]
    .map((object) => JSON.stringify(object))
    .join("\n---\n");

const [i, service] = await Promise.all([installation(), startService()]);
const link = await startLink(i, service.api, service.url);
try {
  await i.git.createRepository("mono", {
    files: Object.fromEntries(
      Array.from({ length: Math.max(...SIZES) }, (_, n) => [`apps/${name(n)}/all.yaml`, manifests("0")]),
    ),
  });
  const hook = await webhook(service.api);
  let there = 0;
  for (const size of SIZES) {
    const created = await timed(() => create(service.api, there, size));
    there = size;
    console.log(
      `${size} applications on one repository, created through the service and Synced in ${round(created)} s; load ${round(loadavg()[0]!)}`,
    );
    const [times, answers]: number[][] = [[], []];
    const spent: Record<string, number[]> = {};
    for (let n = 0; n < timesOf(size); n++) {
      const value = `${size}-${n}`;
      const which = (n * 37) % size;
      const revision = await i.git.commit("mono", { [`apps/${name(which)}/all.yaml`]: manifests(value) }, value);
      const asked = i.git.requests("mono");
      const before = cpu();
      times!.push(
        await timed(async () => {
          answers!.push(await timed(() => push(hook, i.git.cloneUrl("mono"), revision)));
          await live([which], value);
        }),
      );
      for (const [program, now] of Object.entries(cpu()))
        spent[program] = [...(spent[program] ?? []), now - before[program]!];
      if (n === 0) console.log(`  requests to the Git server until it was live: ${i.git.requests("mono") - asked}`);
      await settled(service.api, revision, size);
    }
    console.log(
      `  webhook, 1 of ${size} changed, commit → live: ${show(times!)} s; the call itself was answered in ${show(answers!)} s`,
    );
    const each = Object.entries(spent).map(([program, all]) => `${program} ${round(median(all))}`);
    console.log(`  CPU seconds from the call until it was live, median: ${each.join(", ")}`);
    await idle(size);
    if (size < 3 * MANY || size > 500) continue;
    const files = Object.fromEntries(
      Array.from({ length: MANY }, (_, n) => [`apps/${name(n)}/all.yaml`, manifests("many")]),
    );
    const revision = await i.git.commit("mono", files, "many");
    const last = await timed(async () => {
      await push(hook, i.git.cloneUrl("mono"), revision);
      await live(
        Array.from({ length: MANY }, (_, n) => n),
        "many",
      );
    });
    await settled(service.api, revision, size);
    console.log(`  webhook, ${MANY} of ${size} changed, last live: ${round(last)} s`);
  }
} finally {
  await link.stop();
  await service.stop();
  await i.stop();
}

async function create(api: OutpostClient, from: number, to: number): Promise<void> {
  const queue = Array.from({ length: to - from }, (_, n) => from + n);
  const put = async () => {
    for (let n = queue.shift(); n !== undefined; n = queue.shift()) {
      const spec = {
        agent: "one",
        source: { repoUrl: i.git.cloneUrl("mono"), path: `apps/${name(n)}` },
        destination: { namespace: name(n) },
        syncPolicy: { automated: { prune: true, selfHeal: true }, syncOptions: ["CreateNamespace=true"] },
      };
      ok(await api.PUT("/v1/applications/{id}", { params: { path: { id: name(n) } }, body: { spec } as never }));
    }
  };
  await Promise.all([put(), put(), put(), put(), put(), put(), put(), put()]);
  await i.when(`${to} applications Synced`, () => [...i.apps.values()].filter(synced).length >= to, 600_000);
}

async function live(which: number[], value: string): Promise<void> {
  const left = new Set(which);
  await until(
    `${value} is live`,
    async () => {
      for (const n of left) {
        const found = await i.client.get(RESOURCES.configMap, name(n), "web");
        if (found.kind !== "done" || found.value.data?.value !== value) return false;
        left.delete(n);
      }
      return true;
    },
    60_000,
  );
}

/** Every application tells of the commit, at the service too: the next figure is not one of a system that is still busy with the last. */
async function settled(api: OutpostClient, revision: string, size: number): Promise<void> {
  const at = async (cursor?: string): Promise<number> => {
    const page = ok(
      await api.GET("/v1/applications", { params: { query: { limit: 500, ...(cursor ? { cursor } : {}) } } }),
    );
    const here = whole(page.items).filter(
      ({ status }) => status.sync?.revision === revision && status.sync.status === "Synced",
    ).length;
    return here + (page.nextCursor ? await at(page.nextCursor) : 0);
  };
  const told = ({ status }: { status?: { sync?: { revision?: string; status?: string } } }) =>
    status?.sync?.revision === revision && status.sync.status === "Synced";
  await i.when(
    "every application tells of the commit",
    () => [...i.apps.values()].filter(told).length >= size,
    300_000,
  );
  // To list a thousand applications is work too: not more often than once a second.
  for (let tries = 0; (await at()) < size; tries++) {
    if (tries > 180) throw new Error("the service does not hear of the commit");
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

/** What all programs cost while nothing happens. */
async function idle(size: number): Promise<void> {
  const before = cpu();
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const each = Object.entries(cpu()).map(
    ([program, now]) => [program, ((now - before[program]!) / IDLE_MS) * 100_000] as const,
  );
  const ours = each.reduce((sum, [program, share]) => (program === "API server" ? sum : sum + share), 0);
  console.log(
    `  idle, ${size} applications: ${round(ours)} % of a processor, ${each.map(([program, share]) => `${program} ${round(share)}`).join(", ")}`,
  );
}

/** CPU seconds of each program so far, with its children that have ended. */
function cpu(): Record<string, number> {
  const { controller, repo, git, api } = i.cpu();
  const of = (daemon: { child: { pid?: number | undefined } }) => cpuOf(daemon.child.pid!).own;
  return { service: of(service.process), link: of(link), controller, "repo server": repo, git, "API server": api };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1_000;
}

function show(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  return `p50 ${round(sorted[Math.floor(sorted.length / 2)]!)}, max ${round(sorted.at(-1)!)}`;
}
