/**
 * What hostile connections cost callers with a key (guarantee 64). Service, honest client and flood are three processes. For each sort of
 * flood, slices without and with it alternate, so that other work on the machine meets both.
 *
 *   npm run build && node --import tsx test/scale/strangers.ts [rounds, 5] [sorts that contain this text]
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { SORTS } from "../../server/control/testing/floods.ts";
import { ok, type Service, startService } from "../faults/link-world.ts";
import { until } from "../servers/run.ts";

const ROUNDS = Number(process.argv[2] ?? 5);
const WANTED = process.argv[3] ?? "";
const SLICE_MS = 2_000;
/** As an attacker's script has it: more connections than the service once had places. */
const CONNECTIONS = 520;
const PER_SECOND = 250;
const AIM = 1.2;
const FLOOD = fileURLToPath(new URL("../../server/control/testing/flood.mjs", import.meta.url));
const CLIENT = fileURLToPath(new URL("honest.mjs", import.meta.url));

interface Slice {
  times: number[];
  refused: number;
}

const service = await startService();
try {
  const values = await knownValues(service);
  await honest(service, SLICE_MS);
  const ratios: number[] = [];
  for (const sort of SORTS.filter((one) => one.includes(WANTED))) ratios.push(await measure(sort, values[sort] ?? ""));
  const reached = ratios.filter((ratio) => ratio <= AIM).length;
  console.log(
    `p99 of honest requests ≤ ${AIM} × without the flood: ${reached} of ${ratios.length} sorts; load ${loadavg()[0]!.toFixed(1)}`,
  );
} finally {
  await service.stop();
}

/** Prints both p99 of one sort and returns their ratio. */
async function measure(sort: string, value: string): Promise<number> {
  const calm: Slice[] = [];
  const flooded: Slice[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    calm.push(await honest(service, SLICE_MS));
    const flood = await startFlood(sort, value);
    try {
      flooded.push(await honest(service, SLICE_MS));
    } finally {
      flood.stdin!.end();
      await once(flood, "exit");
    }
  }
  const ratio = percentile(flooded) / percentile(calm);
  const refused = flooded.reduce((sum, slice) => sum + slice.refused, 0);
  const requests = flooded.reduce((sum, slice) => sum + slice.times.length, 0);
  console.log(
    `${ratio <= AIM ? "reached" : "MISSED "} | ${sort} | ${ratio.toFixed(2)} × | p99 ${percentile(calm).toFixed(2)} → ${percentile(flooded).toFixed(2)} ms, ` +
      `p50 ${percentile(calm, 0.5).toFixed(2)} → ${percentile(flooded, 0.5).toFixed(2)} ms | ${refused} of ${requests} refused`,
  );
  return ratio;
}

/** Of all slices together: the p99 of one slice rests on ten requests. */
function percentile(slices: Slice[], share = 0.99): number {
  const times = slices.flatMap((slice) => slice.times).sort((a, b) => a - b);
  return times[Math.floor(times.length * share)]!;
}

async function honest({ url, apiKey }: Service, ms: number): Promise<Slice> {
  const child = spawn(process.execPath, [CLIENT, url, String(ms)], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(apiKey);
  const said: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => said.push(chunk));
  await once(child, "exit");
  return JSON.parse(Buffer.concat(said).toString()) as Slice;
}

async function startFlood(sort: string, value: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [FLOOD, service.url, sort, String(CONNECTIONS), String(PER_SECOND), value], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let begun = false;
  child.stdout.once("data", () => {
    begun = true;
  });
  await until("the flood begins", () => begun);
  return child;
}

/** Two sorts need to know something real: the id of a token, the address of a webhook. */
async function knownValues({ api, url }: Service): Promise<Record<string, string>> {
  const path = { id: "flooded" };
  ok(await api.PUT("/v1/agents/{id}", { params: { path }, body: { spec: { mode: "cluster", namespace: "outpost" } } }));
  const token = ok(await api.POST("/v1/agents/{id}/tokens", { params: { path }, body: {} })).token ?? "";
  const hook = ok(await api.PUT("/v1/webhooks/{id}", { params: { path }, body: { spec: { provider: "generic" } } }));
  return {
    "enrolments with a known token and a forged proof": /^ot1_([^_]+)_/.exec(token)?.[1] ?? "",
    "half-sent calls of a webhook": new URL((hook.status as { url: string }).url, url).pathname,
  };
}
