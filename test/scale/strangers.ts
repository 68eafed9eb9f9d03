/**
 * What hostile connections cost callers with a key (guarantee 64). Service, honest client and flood are three processes. For each sort of
 * flood, slices without it, with it sent to a process that only reads, and with it alternate, so that other work on the machine meets all
 * three. The second is the floor: what the flood takes of the machine by itself. The rest is what the service lets through.
 *
 * The service's processor time for one hostile call, beside what it takes by itself, does not depend on what else the machine does.
 *
 *   npm run build && node --import tsx test/scale/strangers.ts [rounds, 5] [sorts that contain this text]
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { setTimeout } from "node:timers/promises";
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
const SINK = fileURLToPath(new URL("sink.mjs", import.meta.url));
const CLIENT = fileURLToPath(new URL("honest.mjs", import.meta.url));

interface Slice {
  times: number[];
  refused: number;
}

interface Ratios {
  /** Against slices without a flood. */
  calm: number;
  /** Against the same flood sent elsewhere. */
  floor: number;
}

const service = await startService();
const sink = spawn(process.execPath, [SINK], { stdio: ["pipe", "pipe", "inherit"] });
try {
  const [port] = (await once(sink.stdout, "data")) as [Buffer];
  const elsewhere = `http://127.0.0.1:${String(port).trim()}`;
  const values = await knownValues(service);
  await honest(service, SLICE_MS);
  const ratios: Ratios[] = [];
  for (const sort of SORTS.filter((one) => one.includes(WANTED)))
    ratios.push(await measure(sort, values[sort] ?? "", elsewhere));
  const reached = (of: keyof Ratios) => ratios.filter((one) => one[of] <= AIM).length;
  console.log(
    `p99 of honest requests ≤ ${AIM} ×: ${reached("calm")} of ${ratios.length} sorts against no flood, ` +
      `${reached("floor")} against the same flood sent elsewhere; load ${loadavg()[0]!.toFixed(1)}`,
  );
} finally {
  sink.stdin.end();
  await service.stop();
}

/** Processor time of all threads of the service, in milliseconds. */
function cpuOf({ process: { child } }: Service): number {
  const threads = `/proc/${child.pid}/task`;
  const nanoseconds = readdirSync(threads).map((one) =>
    Number(readFileSync(`${threads}/${one}/schedstat`, "utf8").split(" ")[0]),
  );
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
}

/** What one hostile call costs the service when nobody else calls: the processor time of a slice, less that of a slice without a flood. */
async function costOf(sort: string, value: string): Promise<number> {
  const idle = cpuOf(service);
  await setTimeout(SLICE_MS);
  const before = cpuOf(service);
  const flood = await startFlood(service.url, sort, value);
  await setTimeout(SLICE_MS);
  flood.stdin!.end();
  const [said] = (await once(flood.stdout!, "data")) as [Buffer];
  if (flood.exitCode === null) await once(flood, "exit");
  return Math.max(cpuOf(service) - before - (before - idle), 0) / Number(said.toString().trim());
}

/** Prints the three p99 of one sort and returns their ratios. */
async function measure(sort: string, value: string, elsewhere: string): Promise<Ratios> {
  const calm: Slice[] = [];
  const away: Slice[] = [];
  const flooded: Slice[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    calm.push(await honest(service, SLICE_MS));
    away.push(await besides(elsewhere, sort, value));
    flooded.push(await besides(service.url, sort, value));
  }
  const ratios = { calm: percentile(flooded) / percentile(calm), floor: percentile(flooded) / percentile(away) };
  const refused = flooded.reduce((sum, slice) => sum + slice.refused, 0);
  const requests = flooded.reduce((sum, slice) => sum + slice.times.length, 0);
  const cost = await costOf(sort, value);
  const row = (share: number) =>
    [calm, away, flooded].map((slices) => percentile(slices, share).toFixed(2)).join(" | ");
  const otherwise = ratios.floor <= AIM ? "floor  " : "MISSED ";
  console.log(
    `${ratios.calm <= AIM ? "reached" : otherwise} | ${sort} | ${ratios.calm.toFixed(2)} × of calm, ` +
      `${ratios.floor.toFixed(2)} × of the floor | p99 calm, floor, flooded ${row(0.99)} ms, p50 ${row(0.5)} ms | ` +
      `${cost.toFixed(2)} ms of processor time a call | ${refused} of ${requests} refused`,
  );
  return ratios;
}

/** The honest client's slice while a flood goes to `target`. */
async function besides(target: string, sort: string, value: string): Promise<Slice> {
  const flood = await startFlood(target, sort, value);
  try {
    return await honest(service, SLICE_MS);
  } finally {
    flood.stdin!.end();
    await once(flood, "exit");
  }
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

async function startFlood(target: string, sort: string, value: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [FLOOD, target, sort, String(CONNECTIONS), String(PER_SECOND), value], {
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
