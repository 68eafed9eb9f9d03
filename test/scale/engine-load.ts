/**
 * Controller, repo server and cache as processes of their own, against a tight loop of server-side apply requests on the same API server in
 * the same run. Prints one line a figure: reached or missed, figure, bar. No controller-manager runs, so health is no part of it.
 *
 *   npm run build && node --import tsx test/scale/engine-load.ts [many] [thousand] [hints] [idle]
 *
 * APPS of the largest repository (default 500). PROFILE=folder writes CPU profiles.
 */
import { loadavg } from "node:os";
import { RESOURCES } from "../../server/kube/path.ts";
import { configMap, fourObjects, synced } from "../journeys/engine-world.ts";
import { type Installation, installation, value } from "./installation.ts";
import { create, line, live, type Measured, measured, median, round, spent, tightLoop } from "./load.ts";
import { asked } from "./requests.ts";

const APPS = Number(process.env.APPS ?? 500);
const wanted = process.argv.slice(2);
const want = (name: string) => wanted.length === 0 || wanted.includes(name);
const names = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
const four = (all: readonly string[], rev = "1") =>
  Object.fromEntries(all.map((name) => [`apps/${name}/all.yaml`, fourObjects(rev)]));

/** Fifty at once, then so many at once. */
async function many(i: Installation): Promise<void> {
  const warm = names("warm", 3);
  const batches = [names("fifty-a", 50), names("fifty-b", 50), names("fifty-c", 50), names("many", APPS)];
  await i.git.createRepository("many", { files: four([...warm, ...batches.flat()]) });
  await tightLoop(i.client, ["loop-warm"]);
  const times: number[] = [];
  for (const name of warm) times.push((await measured(i, () => create(i, [name], "many"))).s);
  line(
    "1 application: create → Synced",
    Math.min(...times),
    0.4,
    "s",
    `${times.map((t) => round(t)).join(", ")} (the first clones)`,
  );
  const ratios: number[] = [];
  for (const batch of batches.slice(0, 3)) {
    const loop = await measured(i, () =>
      tightLoop(
        i.client,
        batch.map((name) => `loop-${name}`),
      ),
    );
    const ours = await measured(i, () => create(i, batch, "many"));
    ratios.push(ours.s / loop.s);
    line(
      "50 applications at once",
      ours.s,
      6,
      "s",
      `loop ${round(loop.s)} s; ${spent(ours)} against ${round(loop.api)} s`,
    );
  }
  line("50 applications against the loop, median", median(ratios), 3, "×", ratios.map((r) => round(r)).join(", "));
  const batch = batches[3]!;
  const loop = await measured(i, () =>
    tightLoop(
      i.client,
      batch.map((name) => `loop-${name}`),
    ),
  );
  let ours!: Measured;
  const requests = await asked(i.client, APPS, async () => {
    ours = await measured(i, () => create(i, batch, "many"));
  });
  const cpu = `${spent(ours)} against ${round(loop.api)} s`;
  line(
    `${APPS} applications × 4 objects, rate against the loop`,
    loop.s / ours.s,
    0.5,
    "×",
    `${round(ours.s)} s, loop ${round(loop.s)} s; ${cpu}`,
    true,
  );
  console.log(`requests of each application, with the one that makes it: ${requests}`);
  line(`CPU of ours for each of ${APPS} applications`, ours.ours / APPS, 0.06, "s");
  memory(i, APPS + 153, (APPS + 153) * 4);
  if (want("idle")) await idle(i, APPS + 153);
}

/** What a synced installation costs while nothing happens. */
async function idle(i: Installation, apps: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const rest = await measured(i, () => new Promise((resolve) => setTimeout(resolve, 60_000)));
  line(
    `idle, ${apps} synced applications`,
    (rest.ours / rest.s) * 100,
    2,
    "% of a core",
    `${round(rest.ours)} CPU s in ${round(rest.s)} s`,
  );
}

/** One application of a thousand objects. */
async function thousand(i: Installation): Promise<void> {
  const count = 1_000;
  const files = (changed = -1, rev = "1") =>
    Object.fromEntries(names("part", 20).map((_, f) => [`apps/large/${f}.yaml`, of(f, changed, rev)] as const));
  const of = (f: number, changed: number, rev: string) =>
    names("c", count)
      .filter((_, n) => n % 20 === f)
      .map((name) => configMap(name, { rev: name === `c-${changed}` ? rev : "1", text: "x".repeat(200) }))
      .join("---\n");
  await i.git.createRepository("large", { files: files() });
  const manifests = Object.values(files()).join("---\n");
  const loop = await measured(i, () => tightLoop(i.client, ["loop-large"], manifests));
  const first = await measured(i, () => create(i, ["large"], "large"));
  const more = `loop ${round(loop.s)} s; ${spent(first)}`;
  line("one application of 1,000 objects, first sync", first.s, 15, "s", more);
  line("… against the loop", first.s / loop.s, 3, "×");
  const times: number[] = [];
  for (let n = 0; n < 4; n++) {
    await i.git.commit("large", files(500, `new-${n}`), "one of a thousand");
    const started = performance.now();
    await i.hint("large");
    times.push(await live(i.client, "large", "c-500", `new-${n}`, started));
    await i.when("settled", () => synced(i.apps.get("large")!));
  }
  line("1 of 1,000 objects changed → live", median(times), 1.5, "s", times.map((t) => round(t)).join(", "));
}

/** A webhook's hint with ever more applications on the repository, self-heal, and looks that find nothing. */
async function hints(i: Installation): Promise<void> {
  const all = names("app", 1_000);
  await i.git.createRepository("hinted", {
    files: Object.fromEntries(all.map((name) => [`apps/${name}/conf.yaml`, configMap("web", { rev: "1" })])),
  });
  let present = 0;
  for (const count of [54, 154, 1_000]) {
    await create(i, all.slice(present, count), "hinted");
    present = count;
    const times: number[] = [];
    for (let n = 0; n < 6; n++) {
      const [name, rev] = [`app-${(n * 37) % count}`, `${count}-${n}`];
      await i.git.commit("hinted", { [`apps/${name}/conf.yaml`]: configMap("web", { rev }) }, `${rev} of ${name}`);
      const started = performance.now();
      await i.hint("hinted");
      times.push(await live(i.client, name, "web", rev, started));
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    line(
      `hint, 1 of ${count} applications changed → live`,
      median(times),
      0.6,
      "s",
      times.map((t) => round(t)).join(", "),
    );
    if (count !== 154) continue;
    memory(i, 154, 154);
    await fiftyOf(i, all.slice(0, 154));
    await noChange(i, all.slice(0, 154));
    await heal(i);
  }
}

async function fiftyOf(i: Installation, all: string[]): Promise<void> {
  const changed = all.slice(0, 50);
  await i.git.commit(
    "hinted",
    Object.fromEntries(changed.map((name) => [`apps/${name}/conf.yaml`, configMap("web", { rev: "fifty" })])),
    "fifty",
  );
  const started = performance.now();
  await i.hint("hinted");
  const times = await Promise.all(changed.map((name) => live(i.client, name, "web", "fifty", started)));
  line(
    "hint, 50 of 154 applications changed, last live",
    Math.max(...times),
    8,
    "s",
    `median ${round(median(times))} s`,
  );
}

async function noChange(i: Installation, all: string[]): Promise<void> {
  for (let round_ = 0; round_ < 2; round_++) {
    const revision = await i.git.commit("hinted", { "README.md": `${round_}` }, "elsewhere");
    const ran = await measured(i, async () => {
      await Promise.all(all.map((name) => i.refresh(name)));
      await i.when("refreshed", () => all.every((name) => i.apps.get(name)?.status?.sync?.revision === revision));
    });
    line("refresh by annotation, nothing changed", all.length / ran.s, 100, "applications a second", spent(ran), true);
    line("… CPU of ours for each", (ran.ours / all.length) * 1_000, 8, "ms");
  }
}

async function heal(i: Installation): Promise<void> {
  const times: number[] = [];
  for (const n of [60, 70, 80, 90, 100]) {
    const name = `app-${n}`;
    const { rev } = value(await i.client.get(RESOURCES.configMap, name, "web")).data as { rev: string };
    await i.client.mergePatch(RESOURCES.configMap, name, "web", { data: { rev: "by hand" } });
    times.push(await live(i.client, name, "web", rev));
  }
  line("self-heal: edited → restored", median(times), 0.3, "s", times.map((t) => round(t)).join(", "));
}

let before = 0;
function memory(i: Installation, apps: number, objects: number): void {
  const parts = i.memory();
  const sum = Object.values(parts).reduce((a, b) => a + b, 0);
  const each = ((parts.controller! - before) * 1_024) / objects;
  const text = Object.entries(parts).map(([name, mib]) => `${name} ${mib}`);
  line(
    `resident memory, ${apps} applications`,
    sum,
    300,
    "MiB",
    `${text.join(", ")}; ${round(each, 1)} KiB of the controller for each of ${objects} objects`,
  );
}

for (const [name, scenario] of Object.entries({ many, thousand, hints })) {
  if (!want(name)) continue;
  const i = await installation();
  before = i.memory().controller!;
  try {
    await scenario(i);
  } finally {
    await i.stop();
  }
  console.log(`load average ${loadavg()[0]!.toFixed(1)}`);
}
