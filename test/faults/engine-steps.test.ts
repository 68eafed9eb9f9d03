import { readFileSync } from "node:fs";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { watch } from "../../server/kube/watch.ts";
import { CONFIG_MAP, configMap, synced, value, type World, world } from "../journeys/engine-world.ts";
import { until } from "../servers/run.ts";
import { MODES, startWay, type Way } from "./dying-way.ts";

/**
 * The controller dies at each of its writes, before the API server has it and after, in the middle of a sync with hooks, waves and something to
 * prune. The next controller ends the same sync: each hook has run once, what was to go is gone, and nothing else is.
 */
const SYNCS = process.env.PROVE ? 5 : 1;
let w: World;
let way: Way | undefined;
let made: KubeObject[] = [];
let deleted: string[] = [];
const stop = new AbortController();
beforeAll(async () => {
  w = await world();
  void watch({
    client: w.client,
    resource: CONFIG_MAP,
    namespace: "steps",
    signal: stop.signal,
    replace: () => undefined,
    change: (type, object) => {
      if (type === "ADDED") made.push(object);
      if (type === "DELETED") deleted.push(object.metadata.name);
    },
  });
}, 120_000);
afterAll(async () => {
  stop.abort();
  await way?.stop();
  await w?.stop();
}, 30_000);

const HOOKS = ["pre", "post", "once"];
const hook = (name: string, phase: string, rev: string, more = "") =>
  configMap(name, { rev }, `, annotations: {argocd.argoproj.io/hook: ${phase}${more}}`);
const wave = (name: string, n: number, data: Record<string, string>) =>
  configMap(name, data, `, annotations: {argocd.argoproj.io/sync-wave: "${n}"}`);
const files = (rev: number): Record<string, string | null> => ({
  "pre.yaml": hook("pre", "PreSync", `${rev}`),
  "a.yaml": wave("a", 0, { rev: `${rev}` }),
  "b.yaml": wave("b", 1, { rev: `${rev}` }),
  "post.yaml": hook("post", "PostSync", `${rev}`),
  "once.yaml": hook("once", "Sync", `${rev}`, ", argocd.argoproj.io/hook-delete-policy: HookSucceeded"),
  [`extra-${rev}.yaml`]: wave(`extra-${rev}`, 1, {}),
  [`extra-${rev - 1}.yaml`]: null,
});

/** Another controller, with a way of its own: the one before is cut off for good. */
async function successor(): Promise<void> {
  const before = way;
  const kubeconfig = readFileSync(w.api.kubeconfig, "utf8");
  way = await startWay(kubeconfig);
  before?.cut();
  await w.restart({ config: { ...parseKubeconfig(kubeconfig), server: way.url, ca: undefined } });
  await before?.stop();
}

/** One commit, and a death at a write of its sync; false when the sync has no such write. */
async function round(rev: number, at: number, mode: (typeof MODES)[number], manual: boolean): Promise<boolean> {
  const uids = async () => [
    (await w.object(CONFIG_MAP, "steps", "a"))!.metadata.uid,
    (await w.object(CONFIG_MAP, "steps", "b"))!.metadata.uid,
  ];
  const before = await uids();
  [made, deleted] = [[], []];
  const tip = await w.git.commit("steps", files(rev), `${rev}`);
  way!.dieAt(at, mode);
  const asked = {
    metadata: { annotations: { "argocd.argoproj.io/refresh": "normal" } },
    ...(manual ? { operation: { sync: { prune: true } } } : {}),
  };
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, "steps", asked));
  const there = async () => {
    const app = await w.get("steps");
    // A look that goes on would take the next round's refresh for its own.
    return (
      app.operation === undefined &&
      app.metadata.annotations?.["argocd.argoproj.io/refresh"] === undefined &&
      synced(app) &&
      app.status?.sync?.revision === tip &&
      app.status.operationState?.syncResult?.revision === tip
    );
  };
  await until(`the sync of ${rev}, or a death at write ${at}`, async () => way!.died() || (await there()), 60_000);
  const died = way!.died();
  await successor();
  await until(`the sync of ${rev} after a death at write ${at}, ${mode}`, there, 60_000);
  const said = `death ${mode} write ${at}${manual ? ", asked for" : ""}`;
  await until(
    `the hooks of ${rev}`,
    () => HOOKS.every((name) => made.some(({ metadata }) => metadata.name === name)),
    30_000,
  );
  const hooks = (name: string) =>
    new Set(made.filter(({ metadata }) => metadata.name === name).map(({ metadata }) => metadata.uid)).size;
  expect([said, ...HOOKS.map(hooks)]).toEqual([said, 1, 1, 1]);
  // One that is held for its end is let go of once that is written, and one that is to go goes.
  const isHeld = async (name: string) => (await w.object(CONFIG_MAP, "steps", name))?.metadata.finalizers !== undefined;
  await until(`no hook of ${rev} is held`, async () => !(await Promise.all(HOOKS.map(isHeld))).includes(true), 30_000);
  expect([said, await w.object(CONFIG_MAP, "steps", "once")]).toEqual([said, undefined]);
  expect([said, await uids()]).toEqual([said, before]);
  expect([said, await w.object(CONFIG_MAP, "steps", `extra-${rev - 1}`)]).toEqual([said, undefined]);
  expect([said, (await w.object(CONFIG_MAP, "steps", "b"))?.data]).toEqual([said, { rev: `${rev}` }]);
  if (process.env.DEBUG) console.log(said, made.map(({ metadata }) => metadata.name).join(), deleted.join());
  const others = deleted.filter((name) => ![...HOOKS, `extra-${rev - 1}`].includes(name));
  expect([said, others]).toEqual([said, []]);
  return died;
}

test.each([false, true])(
  "a controller that dies at any of its writes leaves no hook run twice and no decision to prune lost (asked for: %s)",
  async (manual) => {
    const name = "steps";
    let rev = manual ? 1_000 : 0;
    if (!manual) {
      value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
      await w.git.createRepository(name, {
        files: Object.fromEntries(Object.entries(files(0)).filter(([, text]) => text !== null)) as never,
      });
      await w.app(name, { repo: name });
    } else {
      value(
        await w.client.mergePatch(RESOURCES.application, w.namespace, name, {
          spec: { syncPolicy: { automated: null } },
        }),
      );
      await w.git.commit(name, { ...files(rev), [`extra-${rev - 1}.yaml`]: "" }, "by hand from here");
      value(
        await w.client.mergePatch(RESOURCES.application, w.namespace, name, { operation: { sync: { prune: true } } }),
      );
    }
    await until(
      "the first sync",
      async () => (await w.object(CONFIG_MAP, name, `extra-${rev}`)) !== undefined && synced(await w.get(name)),
      60_000,
    );
    await successor();
    let deaths = 0;
    for (let i = 0; i < SYNCS; i++)
      for (const mode of MODES) for (let at = 1; await round(++rev, at, mode, manual); at++) deaths++;
    console.log(`${deaths} deaths, each at another write of a sync: 0 hooks twice, 0 prunes lost, 0 wrong deletes`);
    expect(deaths).toBeGreaterThanOrEqual(8);
  },
  900_000,
);
