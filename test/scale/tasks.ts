/**
 * Tasks on one PostgreSQL in one run: a bare loop of `for update skip locked`, ours (the functions of tasks/, and the HTTP API with
 * sessions), pg-boss and graphile-worker; then submit → started with 500 idle delegates connected, and what 2,000 connected delegates
 * cost one replica in memory.
 *
 *   npm run build && node --import tsx test/scale/tasks.ts [tasks a round] [all|rate|delegates] [names of contestants]
 *
 * Every contestant does the same: 16 producers queue one task at a time, 16 workers take up to 10 at once and end each by itself, both
 * at the same time, over 16 connections. The disk's promises are kept (fsync), so a commit costs what it costs.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "../servers/postgres.ts";
import { freePort } from "../servers/run.ts";
import { type Contestant, contestants } from "./contestants.ts";
import { closeConnections, LightDelegate, type LightTask, post } from "./light.ts";

const N = Number(process.argv[2] ?? 2_000);
const PART = process.argv[3] ?? "all";
const ROUNDS = 6;
const round = (n: number, digits = 0) => n.toFixed(digits);
const BARE = "bare loop";
const HTTP = "ours, HTTP API";
const sorted = (values: number[]) => [...values].sort((a, b) => a - b);
const at = (values: number[], share: number) =>
  sorted(values)[Math.min(values.length - 1, Math.floor(values.length * share))]!;

const task = { kind: "shell.run", params: { script: "true" } };

const postgres = await startPostgres({ durable: true, settings: { max_connections: "200", shared_buffers: "256MB" } });
try {
  if (PART === "all" || PART === "rate") await rates();
  if (PART === "all" || PART === "delegates") await delegates();
} finally {
  closeConnections();
  await postgres.stop();
}

async function rates(): Promise<void> {
  const only = new RegExp(process.argv[4] ?? "");
  const wanted = (name: string) => only.test(name) || name === BARE;
  const service = wanted(HTTP) ? await startService() : undefined;
  const run: Contestant[] = [...(await contestants(postgres, wanted)), ...(service ? [await http(service)] : [])];
  const rates: Record<string, number[]> = {};
  const shares: Record<string, number[]> = {};
  try {
    for (let i = 0; i < ROUNDS; i++) {
      let bare = 0;
      for (const one of run) {
        const rate = N / (await one.run(N));
        if (one.name === BARE) bare = rate;
        // The first round warms up: caches, plans, compiled code.
        if (i === 0) continue;
        rates[one.name] = [...(rates[one.name] ?? []), rate];
        shares[one.name] = [...(shares[one.name] ?? []), rate / bare];
      }
    }
  } finally {
    for (const one of run) await one.stop();
    await service?.stop();
  }
  console.log(
    `tasks a second, ${ROUNDS - 1} rounds of ${N} tasks: median (min–max), and the median of the shares of the bare loop in the same round`,
  );
  for (const [name, values] of Object.entries(rates)) {
    const range = `${round(Math.min(...values))}–${round(Math.max(...values))}`;
    console.log(
      `  ${name.padEnd(22)} ${round(at(values, 0.5)).padStart(6)}/s  (${range})  ${round(at(shares[name]!, 0.5), 2)}`,
    );
  }
}

interface Service {
  url: string;
  admin: string;
  pid: number;
  stop(): Promise<void>;
}

/** The built service as a process of its own, on a fresh database. */
async function startService(): Promise<Service> {
  const { url: databaseUrl } = await postgres.database();
  const data = await mkdtemp(join(tmpdir(), "outpost-scale-"));
  const port = await freePort();
  const env = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    OUTPOST_DATA: data,
    OUTPOST_LISTEN: `127.0.0.1:${port}`,
    OUTPOST_LOG_LEVEL: "warn",
    OUTPOST_QUEUE_MAX: "100000",
  };
  const child: ChildProcess = spawn(process.execPath, ["dist/outpost.mjs", "server"], {
    env,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const url = `http://127.0.0.1:${port}`;
  for (let i = 0; ; i++) {
    if (
      await fetch(`${url}/readyz`).then(
        (r) => r.ok,
        () => false,
      )
    )
      break;
    if (i > 300) throw new Error("the service did not start");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    url,
    admin: (await readFile(join(data, "admin-key"), "utf8")).trim(),
    pid: child.pid!,
    async stop() {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await gone;
      await rm(data, { recursive: true, force: true });
    },
  };
}

async function tokenOf(service: Service, id: string): Promise<string> {
  const headers = { authorization: `Bearer ${service.admin}`, "content-type": "application/json" };
  await fetch(`${service.url}/v1/delegates/${id}`, {
    method: "PUT",
    headers,
    body: JSON.stringify({ spec: { capacity: 1000 } }),
  });
  return (await post(service.url, `/v1/delegates/${id}/tokens`, service.admin, {})).body.token;
}

async function http(service: Service): Promise<Contestant> {
  const token = await tokenOf(service, "rate");
  const workers = await Promise.all(Array.from({ length: 16 }, () => new LightDelegate(service.url, 10).start(token)));
  return {
    name: HTTP,
    async run(n) {
      let left = n;
      let ended = 0;
      const done = new Promise<void>((resolve) => {
        for (const worker of workers)
          worker.onTask = async (t) => {
            await worker.end(t);
            if (++ended === n) resolve();
          };
      });
      const from = performance.now();
      await Promise.all(
        Array.from({ length: 16 }, async () => {
          while (left-- > 0) {
            const { status, body } = await post(service.url, "/v1/tasks", service.admin, task);
            if (status !== 201) throw new Error(JSON.stringify(body));
          }
        }),
      );
      await done;
      return (performance.now() - from) / 1_000;
    },
    stop: async () => void (await Promise.all(workers.map((w) => w.stop()))),
  };
}

async function delegates(): Promise<void> {
  const service = await startService();
  const rss = async () =>
    Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${service.pid}/status`, "utf8"))![1]) / 1024;
  const token = await tokenOf(service, "idle");
  const all: LightDelegate[] = [];
  const connect = async (n: number) => {
    while (all.length < n)
      all.push(
        ...(await Promise.all(
          Array.from({ length: Math.min(20, n - all.length) }, () => new LightDelegate(service.url, 10).start(token)),
        )),
      );
    // Polls in hand, and what the enrolments left behind collected.
    await new Promise((resolve) => setTimeout(resolve, 12_000));
  };
  try {
    await connect(20);
    const before = await rss();
    await connect(500);
    await latency(service, all, 500);
    await connect(2_000);
    const after = await rss();
    console.log(
      `\n2,000 delegates connected: the service has ${round(after)} MiB, ${round(before)} MiB with 20: ${round(((after - before) * 1024) / 1_980, 1)} KiB for each`,
    );
    await latency(service, all, 2_000);
    await pace(service.pid);
  } finally {
    await Promise.all(all.map((d) => d.stop()));
    await service.stop();
  }
}

/** Share of a processor that the service needs for delegates that do nothing. */
async function pace(pid: number): Promise<void> {
  const ticks = async () => {
    const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]!.split(" ");
    return Number(fields[11]) + Number(fields[12]);
  };
  const from = await ticks();
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  console.log(
    `2,000 idle delegates that beat and poll keep ${(round((await ticks()) - from) as unknown as number) / 20} % of one processor busy`,
  );
}

async function latency(service: Service, all: LightDelegate[], n: number): Promise<void> {
  const started = new Map<string, number>();
  const taken = new Map<LightDelegate, number>();
  for (const d of all)
    d.onTask = async (t: LightTask) => {
      started.set(t.task, performance.now());
      taken.set(d, (taken.get(d) ?? 0) + 1);
      await d.end(t);
    };
  const waits: number[] = [];
  for (let i = 0; i < 300; i++) {
    const from = performance.now();
    const { body } = await post(service.url, "/v1/tasks", service.admin, task);
    while (!started.has(body.id)) {
      if (performance.now() - from > 30_000) throw new Error("a task was not started within 30 s");
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    waits.push(started.get(body.id)! - from);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  console.log(
    `submit → started with ${n} idle delegates: p50 ${round(at(waits, 0.5), 1)} ms, p99 ${round(at(waits, 0.99), 1)} ms (300 tasks, taken by ${taken.size} delegates)`,
  );
}
