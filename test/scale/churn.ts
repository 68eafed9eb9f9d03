/**
 * Everything changes for a while: what is kept must not grow. Commits told by signed webhooks, applications made and deleted under ever new
 * names, edits by hand, renderings that fail, repositories that are not there, tasks, watches, calls with wrong signatures, and a repo server
 * that dies in the first third. After that third it is measured: heap after a collection, handles, watches at the API server, files. Prints
 * growth an hour with its 95 % interval; a figure that grows for certain, and by more than its bar, is MISSED.
 *
 *   npm run build && node --import tsx test/scale/churn.ts        MINUTES of it: 2, with PROVE 30
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import type { OutpostClient } from "../../openapi/client.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { ok, startService } from "../faults/link-world.ts";
import { configMap, synced } from "../journeys/engine-world.ts";
import { until } from "../servers/run.ts";
import { INSPECTED, lookInto } from "./inspect.ts";
import { installation, value } from "./installation.ts";
import { closeConnections, LightDelegate } from "./light.ts";
import { line, live, round } from "./load.ts";
import { slope } from "./slope.ts";
import { push, startLink, webhook } from "./through-service.ts";

const MINUTES = Number(process.env.MINUTES ?? (process.env.PROVE ? 30 : 2));
// A modest rate: what leaks leaks with each round, not with each second.
const ROUND_MS = 3_000;
// To look takes a second of a program: a long churn is looked at every few rounds.
const EACH = MINUTES > 5 ? 3 : 1;
const PLACES = 24;
const LASTING = 12;
const text = (rev: string) => configMap("web", { rev });

/** By how much something may grow in an hour, beside what is within its noise; what is left out is printed alone. */
const BARS: [RegExp, number, string][] = [
  [/: heap$/, 4, "MiB"],
  [/: (handles|active)$/, 6, ""],
  [/watches$/, 2, ""],
  [/moment$/, 2, ""],
];

type Sample = Record<string, number>;
const samples: (Sample & { at: number })[] = [];
const i = await installation(INSPECTED);
const service = await startService({ ...INSPECTED, OUTPOST_TASK_RETENTION: "60s" });
const api = service.api;
const link = await startLink(i, api, service.url, INSPECTED);
let storeFolder = "";
const delegate = await connect();
const started = performance.now();
const seconds = () => (performance.now() - started) / 1_000;
const looks = {
  controller: await lookInto(i.programs().controller),
  service: await lookInto(service.process),
  link: await lookInto(link),
};
let repo = await lookInto(i.programs().repo);
let rounds = 0;
try {
  await i.git.createRepository("churn", {
    files: Object.fromEntries([...Array(PLACES).keys(), "broken"].map((n) => [`apps/place-${n}/conf.yaml`, text("0")])),
  });
  const lasting = Array.from({ length: LASTING }, (_, n) => `place-${n}`);
  await Promise.all(lasting.map((name) => put(api, name, i.git.cloneUrl("churn"), name)));
  await i.when("all are synced", () => lasting.every((name) => synced(i.apps.get(name) ?? ({} as never))));
  const hook = await webhook(api);
  const end = MINUTES * 60;
  for (let killed = 0; seconds() < end; rounds++) {
    const from = performance.now();
    if (process.env.DEBUG) console.log(`round ${rounds}, ${round(seconds())} s`);
    await change(hook, lasting);
    if (seconds() < end / 3 && seconds() > (end / 15) * (killed + 1)) {
      killed++;
      repo.close();
      await i.replaceRepo();
      repo = await lookInto(i.programs().repo);
    }
    if (rounds % EACH === 0) await sample();
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, ROUND_MS - (performance.now() - from))));
  }
} catch (error) {
  console.log(`round ${rounds} failed: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  report();
  for (const look of [...Object.values(looks), repo]) look.close();
  await delegate.stop();
  closeConnections();
  await link.stop();
  await service.process.stop();
  await tables().catch((error: Error) => console.log(`the store could not be read: ${error.message}`));
  await service.stop();
  await i.stop();
}

async function connect(): Promise<LightDelegate> {
  ok(await api.PUT("/v1/delegates/{id}", { params: { path: { id: "churn" } }, body: { spec: { capacity: 10 } } }));
  const { token } = ok(await api.POST("/v1/delegates/{id}/tokens", { params: { path: { id: "churn" } }, body: {} }));
  return new LightDelegate(service.url, 10).start(token!);
}

/** One round of everything. */
async function change(hook: { url: string; secret: string }, lasting: string[]): Promise<void> {
  const n = rounds;
  const repository = i.git.cloneUrl("churn");
  const some = lasting.filter((_, at) => at % 4 === n % 4);

  // A commit, with one folder that cannot be rendered every second time.
  const broken = n % 2 === 0 ? "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [}\n" : text(`${n}`);
  const files = Object.fromEntries(some.map((name) => [`apps/${name}/conf.yaml`, text(`r${n}`)]));
  const revision = await i.git.commit("churn", { ...files, "apps/place-broken/conf.yaml": broken }, `round ${n}`);
  await push(hook, repository, revision);
  await Promise.all(some.map((name) => live(i.client, name, "web", `r${n}`)));

  // An application under a name that there never was, through the service, from its making to its end.
  const place = `place-${LASTING + (n % (PLACES - LASTING))}`;
  const id = `fresh-${n}`;
  await put(api, id, repository, place);
  await i.when(`${id} is synced`, () => synced(i.apps.get(id) ?? ({} as never)));
  await put(api, id, repository, place, 3);
  ok(await api.POST("/v1/applications/{id}/refresh", { params: { path: { id } }, body: { hard: n % 5 === 0 } }));
  ok(await api.POST("/v1/applications/{id}/sync", { params: { path: { id } }, body: {} }));
  const watching = await watches();
  ok(
    await api.DELETE("/v1/applications/{id}", { params: { path: { id }, query: { cascade: "background" } as never } }),
  );
  await until(
    `${id} is gone`,
    async () => (await api.GET("/v1/applications/{id}", { params: { path: { id } } })).response.status === 404,
  );
  await watching();

  // An edit by hand, which is put back; one that cannot be rendered, and one of a repository that is not there.
  const edited = lasting[n % LASTING]!;
  const { rev } = value(await i.client.get(RESOURCES.configMap, edited, "web")).data as { rev: string };
  value(await i.client.mergePatch(RESOURCES.configMap, edited, "web", { data: { rev: "by hand" } }));
  await live(i.client, edited, "web", rev);
  const [bad, lost] = [`bad-${n}`, `lost-${n}`];
  await i.app(bad, "churn", n % 2 === 0 ? "apps/place-broken" : "apps/nowhere");
  await i.app(lost, `gone-${n % 8}`, "apps/x");
  for (const name of [bad, lost]) {
    await i.when(`${name} says why`, () => (i.apps.get(name)?.status?.conditions ?? []).length > 0);
    await i.client.delete(RESOURCES.application, i.namespace, name);
    await i.when(`${name} is gone`, () => !i.apps.has(name));
  }

  // Tasks to their end, and unsigned calls.
  const tasks = await Promise.all(
    [1, 2, 3].map(() => api.POST("/v1/tasks", { body: { kind: "shell.run", params: { script: "true" } } as never })),
  );
  for (const task of tasks) {
    const params = { path: { task: ok(task).id } };
    await until(
      "a task has ended",
      async () => ok(await api.GET("/v1/tasks/{task}", { params })).state === "Succeeded",
    );
  }
  await Promise.all(
    [1, 2, 3, 4].map((k) =>
      fetch(hook.url, { method: "POST", headers: { "x-github-event": "push" }, body: `{"x":${k}}` }),
    ),
  );
}

async function put(
  to: OutpostClient,
  id: string,
  repoUrl: string,
  place: string,
  revisionHistoryLimit = 10,
): Promise<void> {
  const spec = {
    agent: "one",
    source: { repoUrl, path: `apps/${place}` },
    destination: { namespace: place },
    revisionHistoryLimit,
    syncPolicy: { automated: { prune: true, selfHeal: true }, syncOptions: ["CreateNamespace=true"] },
  };
  ok(await to.PUT("/v1/applications/{id}", { params: { path: { id } }, body: { spec } as never }));
}

/** Opens watches, reads their first word, and gives what closes them: half by us, half without a word. */
async function watches(): Promise<() => Promise<void>> {
  const opened = await Promise.all(
    ["applications", "applications", "agents", "webhooks"].map(async (collection) => {
      const abort = new AbortController();
      const headers = { authorization: `Bearer ${service.apiKey}` };
      const answer = await fetch(`${service.url}/v1/watch/${collection}`, { headers, signal: abort.signal });
      if (answer.status !== 200) throw new Error(await answer.text());
      const reader = answer.body!.getReader();
      await reader.read();
      return { abort, reader };
    }),
  );
  return async () => {
    for (const [n, { abort, reader }] of opened.entries())
      if (n % 2) abort.abort();
      else await reader.cancel();
  };
}

async function sample(): Promise<void> {
  const now: Sample = {};
  for (const [program, look] of Object.entries({ ...looks, "repo server": repo }))
    for (const [what, found] of Object.entries(await look.held())) now[`${program}: ${what}`] = found;
  const metrics = value(await i.client.text("/metrics"));
  const watched = [...metrics.matchAll(/^apiserver_longrunning_requests\{.*verb="WATCH".*\} (\d+)$/gm)];
  now["API server: watches"] = watched.reduce((sum, [, count]) => sum + Number(count), 0);
  now["files for a moment"] = filesIn(join(i.folder, "tmp")).count;
  const mirrors = filesIn(join(i.folder, "mirrors"));
  now["mirrors: files"] = mirrors.count;
  now["mirrors: MiB"] = mirrors.mib;
  const store = filesIn(service.folder);
  now["store: MiB"] = store.mib;
  samples.push({ ...now, at: seconds() });
  if (process.env.DEBUG) console.log(JSON.stringify(samples.at(-1)));
}

function filesIn(folder: string): { count: number; mib: number } {
  let [count, bytes] = [0, 0];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const found = entry.isFile() && statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false });
    if (!found) continue;
    count++;
    bytes += found.size;
  }
  return { count, mib: bytes / 1_048_576 };
}

function report(): void {
  const late = samples.filter(({ at }) => at > MINUTES * 20);
  console.log(`${rounds} rounds in ${round(seconds() / 60, 1)} min; ${late.length} samples after the first third`);
  if (late.length < 4) return;
  for (const name of Object.keys(late[0]!).filter((key) => key !== "at")) {
    const { perHour, within, first, last } = slope(late.map((one) => [one.at, one[name]!] as const));
    const [, bar, unit] = BARS.find(([pattern]) => pattern.test(name)) ?? [/./, Number.POSITIVE_INFINITY, ""];
    const how = `${round(perHour)} ± ${round(within)} an hour; ${round(first, 1)} → ${round(last, 1)} ${unit}`;
    line(`growth for certain, ${name}`, Math.max(0, perHour - within), bar, `${unit} an hour`, how);
  }
  storeFolder = join(service.folder, "pg");
}

/** What of the store is whose, read when the service has gone. What is kept by rule is named with its rows; the rest is what changes over and over. */
async function tables(): Promise<void> {
  if (!storeFolder) return;
  const db = await PGlite.create({ dataDir: storeFolder });
  const { rows } = await db.query<{ name: string; kib: number; live: number }>(
    "select relname name, (pg_total_relation_size(oid) / 1024)::int kib, reltuples::int live from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 2 desc limit 12",
  );
  console.log(`store, KiB: ${rows.map(({ name, kib }) => `${name} ${kib}`).join(", ")}`);
  const kept = /^(events|audit)$/;
  const changing = rows.filter(({ name }) => !kept.test(name)).reduce((sum, { kib }) => sum + kib, 0) / 1_024;
  line("store, all tables but events (an hour or 10,000) and audit", changing, 40, "MiB");
  line("store, its log", filesIn(join(storeFolder, "pg_wal")).mib, 128, "MiB");
  await db.close();
}
