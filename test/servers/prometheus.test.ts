import { createServer } from "node:http";
import { fetch } from "undici";
import { buildTools, canHave } from "../cluster/tools.ts";
import { every, type Prometheus, type PrometheusOptions, startPrometheus } from "./prometheus.ts";
import { openMetrics, snappy, writeRequest } from "./prometheus-write.ts";
import { until } from "./run.ts";

test("samples from one time to another, both included", () => {
  expect(every(10, 100, 125, (i) => i * 2)).toEqual([
    [100, 0],
    [110, 2],
    [120, 4],
  ]);
});
test("the text format quotes what needs it", () => {
  const samples: [number, number][] = [
    [1500, 1],
    [2000, Number.POSITIVE_INFINITY],
  ];
  expect(openMetrics([{ metric: "m", labels: { a: 'x"\n' }, samples }])).toBe(
    'm{a="x\\"\\n"} 1 1.5\nm{a="x\\"\\n"} +Inf 2\n# EOF\n',
  );
});
test("remote write's bytes", () => {
  const given = writeRequest([{ metric: "m", samples: [[300, 1]] }]);
  expect(given.toString("hex")).toBe("0a1d0a0d0a085f5f6e616d655f5f12016d120c09000000000000f03f10ac02");
  expect(snappy(Buffer.from("ab")).toString("hex")).toBe("02f401006162");
});

const possible = canHave("prometheus") ? describe : describe.skip;

possible("Prometheus (skipped without Go to build it)", () => {
  let prometheus: Prometheus | undefined;
  beforeAll(() => buildTools(() => {}, ["prometheus"]), 20 * 60_000);
  const start = async (options?: PrometheusOptions) => {
    prometheus = await startPrometheus(options);
    return prometheus;
  };
  afterEach(async () => {
    await prometheus?.stop();
    prometheus = undefined;
  });
  const now = Date.now();

  test("what is loaded is there at once, with its own times, older ones later too", async () => {
    const server = await start();
    await server.load([
      { metric: "errors_total", labels: { app: "web" }, samples: every(15_000, now - 600_000, now, (i) => i * 3) },
    ]);
    await server.load([{ metric: "old", labels: {}, samples: [[now - 3 * 3600_000, Number.NaN]] }]);
    await server.load([{ metric: "big", samples: every(1000, now - 20_000_000, now, (i) => i) }]);
    expect(await server.query("rate(errors_total[5m])", now)).toEqual([
      { labels: { app: "web" }, value: expect.closeTo(0.2) },
    ]);
    expect(await server.query("old", now - 3 * 3600_000)).toEqual([{ labels: { __name__: "old" }, value: Number.NaN }]);
    expect(await server.query("scalar(count_over_time(big[6h]))", now)).toEqual([{ labels: {}, value: 20_001 }]);
    await expect(server.query("rate(")).rejects.toThrow(/parse error/);
  });

  test("a history of days is there from the start", async () => {
    const samples = every(60_000, now - 3 * 24 * 3600_000, now - 3600_000, (i) => i);
    const server = await start({ history: [{ metric: "visits", labels: { page: 'a"b' }, samples }] });
    expect(await server.query("visits", now - 2 * 24 * 3600_000)).toEqual([
      { labels: { __name__: "visits", page: 'a"b' }, value: 1440 },
    ]);
  }, 30_000);

  test("it scrapes what a test serves", async () => {
    let value = 1;
    const target = createServer((_, response) =>
      response.setHeader("content-type", "text/plain; version=0.0.4").end(`served ${value}\n`),
    );
    await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
    try {
      const server = await start({ scrape: { targets: [`127.0.0.1:${(target.address() as { port: number }).port}`] } });
      const seen = async (want: number) => (await server.query("served"))[0]?.value === want;
      await until("the first value", () => seen(1));
      value = 2;
      await until("the second value", () => seen(2));
    } finally {
      target.close();
      target.closeAllConnections();
    }
  });

  test("it lets in who knows a password", async () => {
    const server = await start({ users: { reader: "p:ss" } });
    expect((await fetch(`${server.url}/api/v1/query?query=1`)).status).toBe(401);
    expect(await server.query("1 + 1")).toEqual([{ labels: {}, value: 2 }]);
  });
});
