import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fetch } from "undici";
import { buildTools } from "../cluster/tools.ts";
import { bcrypt } from "./bcrypt.ts";
import { openMetrics, type Series, snappy, writeRequest } from "./prometheus-write.ts";
import { daemon, freePort, ready, run } from "./run.ts";

export { every, type Series } from "./prometheus-write.ts";

/**
 * A real Prometheus on loopback.
 *
 *   const prometheus = await startPrometheus();
 *   const now = Date.now();
 *   await prometheus.load([{ metric: "errors_total", labels: { app: "web" }, samples: every(15_000, now - 600_000, now, (i) => i * 2) }]);
 *   expect(await prometheus.query("rate(errors_total[5m])")).toEqual([{ labels: { app: "web" }, value: expect.closeTo(0.133) }]);
 */
export interface Prometheus {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  /** Brings samples with their own times; they can be asked for when it resolves. Times in the past are fine, and in any order. */
  load(series: Series[]): Promise<void>;
  /** An instant query's vector or scalar, at a time in milliseconds; default now. */
  query(expression: string, at?: number): Promise<{ labels: Record<string, string>; value: number }[]>;
  log(): string;
  stop(): Promise<void>;
}

export interface PrometheusOptions {
  /** What it has seen before it starts: blocks made by promtool, for much data. */
  history?: Series[];
  /** Targets `127.0.0.1:PORT` which it scrapes at /metrics, each `interval` (default `100ms`), as job `test`. */
  scrape?: { targets: string[]; interval?: string };
  /** User → password for basic authentication; the helpers act as the first. */
  users?: Record<string, string>;
  /** The programs; default: built once from `test/cluster/tools-on-demand`. */
  programs?: { prometheus: string; promtool: string };
}

export async function startPrometheus({
  history,
  scrape,
  users = {},
  programs,
}: PrometheusOptions = {}): Promise<Prometheus> {
  const built = programs ?? (await buildTools(() => {}, ["prometheus"]));
  const dir = await mkdtemp(join(tmpdir(), "prometheus-"));
  const clean = () => rm(dir, { recursive: true, force: true, maxRetries: 5 });
  try {
    const data = join(dir, "data");
    if (history) {
      await writeFile(join(dir, "history"), openMetrics(history));
      await run(built.promtool!, ["tsdb", "create-blocks-from", "openmetrics", join(dir, "history"), data], {
        cwd: dir,
      });
    }
    const config = {
      scrape_configs: scrape
        ? [
            {
              job_name: "test",
              scrape_interval: scrape.interval ?? "100ms",
              scrape_timeout: scrape.interval ?? "100ms",
              static_configs: [{ targets: scrape.targets }],
            },
          ]
        : [],
      // A test's samples come in any order.
      storage: { tsdb: { out_of_order_time_window: "1y" } },
    };
    const hashes = await Promise.all(
      Object.entries(users).map(async ([name, password]) => [name, await bcrypt(password)]),
    );
    // JSON is YAML.
    await writeFile(join(dir, "prometheus.yml"), JSON.stringify(config));
    await writeFile(
      join(dir, "web.yml"),
      JSON.stringify(hashes.length ? { basic_auth_users: Object.fromEntries(hashes) } : {}),
      {
        mode: 0o600,
      },
    );
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const flags = {
      "config.file": join(dir, "prometheus.yml"),
      "web.config.file": join(dir, "web.yml"),
      "web.listen-address": `127.0.0.1:${port}`,
      "storage.tsdb.path": data,
      "storage.tsdb.retention.time": "10y",
      "log.level": "warn",
      // It is five seconds else until it sees its targets.
      "scrape.discovery-reload-interval": "100ms",
    };
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    const server = daemon(built.prometheus!, [...args, "--web.enable-remote-write-receiver"], {
      cwd: dir,
      env: { PATH: process.env.PATH },
    });
    const [first] = Object.entries(users);
    const authorization: Record<string, string> = first
      ? { authorization: `Basic ${Buffer.from(first.join(":")).toString("base64")}` }
      : {};
    const ask = (path: string, init: { method?: string; headers?: Record<string, string>; body?: Uint8Array } = {}) =>
      fetch(url + path, {
        ...init,
        headers: { ...authorization, ...init.headers },
        signal: AbortSignal.timeout(30_000),
      });
    await ready(
      "prometheus",
      server,
      () =>
        ask("/-/ready").then(
          ({ ok }) => ok,
          () => false,
        ),
      30_000,
    );
    return {
      url,
      port,
      load: async (series) => {
        const headers = {
          "content-type": "application/x-protobuf",
          "content-encoding": "snappy",
          "x-prometheus-remote-write-version": "0.1.0",
        };
        const answer = await ask("/api/v1/write", { method: "POST", headers, body: snappy(writeRequest(series)) });
        if (!answer.ok) throw new Error(`prometheus refused the samples: ${answer.status} ${await answer.text()}`);
      },
      query: async (expression, at = Date.now()) => {
        const answer = await ask(`/api/v1/query?${new URLSearchParams({ query: expression, time: `${at / 1000}` })}`);
        const said = (await answer.json()) as { error?: string; data: { resultType: string; result: unknown } };
        if (!answer.ok) throw new Error(`${expression}: ${said.error}`);
        if (said.data.resultType === "scalar")
          return [{ labels: {}, value: Number((said.data.result as [number, string])[1]) }];
        const rows = said.data.result as { metric: Record<string, string>; value: [number, string] }[];
        return rows.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
      },
      log: server.said,
      stop: async () => {
        await server.stop();
        await clean();
      },
    };
  } catch (error) {
    await clean();
    throw error;
  }
}
