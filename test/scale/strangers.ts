/**
 * What hostile connections cost callers with a key (guarantee 64). The service has one processor to itself. The honest client and the flood
 * share the other one, where the flood runs only while the client does not (`SCHED_IDLE`): a flood takes no time from clients on other
 * machines, so it should take none here. Service and client run before all other work of the machine (`SCHED_RR`, so this needs root). For
 * each sort of flood, windows without it, with it sent to a process that only reads (on the service's processor), and with it alternate.
 * The second is the floor: what the kernel and Node take for the same connections. The rest is what the service lets through.
 *
 * The p99 of one window rests on some thirty requests, so the figure is the median of the ratios of all rounds. Each sort runs once before
 * it is measured: the first calls of a process run code that is not compiled yet.
 *
 * The service's processor time for one hostile call, beside what it takes by itself, does not depend on what else the machine does.
 *
 *   npm run build && node --import tsx test/scale/strangers.ts [rounds, 7] [only sorts that fit this expression]
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { SORTS } from "../../server/control/testing/floods.ts";
import { ok, type Service, startService } from "../faults/link-world.ts";
import { startHonest } from "./honest-client.ts";

const ROUNDS = Number(process.argv[2] ?? 7);
const WANTED = new RegExp(process.argv[3] ?? "");
const WINDOW_MS = 1_500;
/** From the flood's first call to the window: its connections are open. */
const SETTLE_MS = 300;
/** As an attacker's script has it: more connections than the service once had places. */
const CONNECTIONS = 520;
const PER_SECOND = 250;
const AIM = 1.2;
const FLOOD = fileURLToPath(new URL("../../server/control/testing/flood.mjs", import.meta.url));
const SINK = fileURLToPath(new URL("sink.mjs", import.meta.url));
/** Processors. */
const SERVERS = "0";
const CALLERS = "1";
/** Before all other work of the machine. */
const FIRST = ["chrt", "-r", "1"];

interface Window {
  times: number[];
  refused: number;
}

interface Round {
  calm: Window;
  floor: Window;
  flooded: Window;
}

interface Ratios {
  /** Against windows without a flood. */
  calm: number;
  /** Against the same flood sent elsewhere. */
  floor: number;
}

const service = await startService();
const { pid } = service.process.child;
execFileSync("taskset", ["-acp", SERVERS, String(pid)]);
execFileSync("chrt", ["-arp", "1", String(pid)]);
const sink = spawn("taskset", ["-c", SERVERS, ...FIRST, process.execPath, SINK], {
  stdio: ["pipe", "pipe", "inherit"],
});
const honest = startHonest(service, ["taskset", "-c", CALLERS, ...FIRST]);
try {
  const [port] = (await once(sink.stdout, "data")) as [Buffer];
  const elsewhere = `http://127.0.0.1:${String(port).trim()}`;
  const values = await knownValues(service);
  await honest.ask(2 * WINDOW_MS);
  const ratios: Ratios[] = [];
  for (const sort of SORTS.filter((one) => WANTED.test(one)))
    ratios.push(await measure(sort, values[sort] ?? "", elsewhere));
  const reached = (of: keyof Ratios) => ratios.filter((one) => one[of] <= AIM).length;
  console.log(
    `p99 of honest requests ≤ ${AIM} ×: ${reached("calm")} of ${ratios.length} sorts against no flood, ` +
      `${reached("floor")} against the same flood sent elsewhere; load ${loadavg()[0]!.toFixed(1)}`,
  );
} finally {
  honest.stop();
  sink.stdin.end();
  await service.stop();
}

/** Prints the p99 of one sort and returns its ratios. */
async function measure(sort: string, value: string, elsewhere: string): Promise<Ratios> {
  await besides(service.url, sort, value);
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round++)
    rounds.push({
      calm: await honest.ask(WINDOW_MS),
      floor: await besides(elsewhere, sort, value),
      flooded: await besides(service.url, sort, value),
    });
  const against = (of: "calm" | "floor") =>
    median(rounds.map((round) => percentile(round.flooded, 0.99) / percentile(round[of], 0.99)));
  const ratios = { calm: against("calm"), floor: against("floor") };
  const refused = rounds.reduce((sum, { flooded }) => sum + flooded.refused, 0);
  const requests = rounds.reduce((sum, { flooded }) => sum + flooded.times.length, 0);
  const row = (share: number) =>
    (["calm", "floor", "flooded"] as const)
      .map((of) => median(rounds.map((round) => percentile(round[of], share))).toFixed(2))
      .join(" | ");
  const otherwise = ratios.floor <= AIM ? "floor  " : "MISSED ";
  console.log(
    `${ratios.calm <= AIM ? "reached" : otherwise} | ${sort} | ${ratios.calm.toFixed(2)} × of calm, ` +
      `${ratios.floor.toFixed(2)} × of the floor | p99 calm, floor, flooded ${row(0.99)} ms, p50 ${row(0.5)} ms | ` +
      `${(await costOf(sort, value)).toFixed(2)} ms of processor time a call | ${refused} of ${requests} refused`,
  );
  return ratios;
}

/** The honest client's window while a flood goes to `target`. */
async function besides(target: string, sort: string, value: string): Promise<Window> {
  const flood = await startFlood(target, sort, value);
  try {
    await setTimeout(SETTLE_MS);
    return await honest.ask(WINDOW_MS);
  } finally {
    await endFlood(flood);
  }
}

/** Processor time of all threads of the service, in milliseconds. */
function cpuMs(): number {
  const threads = `/proc/${pid}/task`;
  const nanoseconds = readdirSync(threads).map((one) =>
    Number(readFileSync(`${threads}/${one}/schedstat`, "utf8").split(" ")[0]),
  );
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
}

/** What one hostile call costs the service when there are no other callers: the processor time of a window, less that of a window without a flood. */
async function costOf(sort: string, value: string): Promise<number> {
  const idle = cpuMs();
  await setTimeout(WINDOW_MS);
  const before = cpuMs();
  const flood = await startFlood(service.url, sort, value);
  await setTimeout(WINDOW_MS);
  const begun = await endFlood(flood);
  return Math.max(cpuMs() - before - (before - idle), 0) / begun;
}

async function startFlood(target: string, sort: string, value: string): Promise<ChildProcess> {
  const args = [FLOOD, target, sort, String(CONNECTIONS), String(PER_SECOND), value];
  const child = spawn("taskset", ["-c", CALLERS, "chrt", "-i", "0", process.execPath, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

/** Ends a flood; the number of calls that it began. */
async function endFlood(flood: ChildProcess): Promise<number> {
  const said = once(flood.stdout!, "data") as Promise<[Buffer]>;
  const gone = once(flood, "exit");
  flood.stdin!.end();
  const [count] = await said;
  await gone;
  return Number(count.toString().trim());
}

function percentile({ times }: Window, share: number): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length * share)]!;
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
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
