import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, value, type World, world } from "../journeys/engine-world.ts";
import { leave } from "../journeys/former-engine.ts";
import { type Daemon, freePort, until } from "../servers/run.ts";
import { MODES, type Mode, startWay, type Way } from "./dying-way.ts";
import { program } from "./link-world.ts";

/**
 * Taking over what Argo CD applied, and handing it back, by programs that are killed (SIGKILL) at a write: before the API server has it, or after.
 * The next start ends the work, and nothing but our label ever changes.
 */
const SERVICE: Resource = { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true };
const KINDS = [CONFIG_MAP, SERVICE];
const LABEL = "outpost.dev/app";
const LONG_AGO = "2026-01-01T00:00:00Z";
/** Writes at which a program is killed: a take-over of this application has six or seven. */
const AT = process.env.PROVE ? [1, 2, 3, 4, 5, 6, 7, 8] : [1, 2, 4, 6];
const MANIFESTS = [
  configMap("a", { keep: "1" }),
  configMap("b", { keep: "1" }),
  configMap("done", { v: "1" }, ", annotations: {argocd.argoproj.io/hook: PostSync}"),
  "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {clusterIP: None, selector: {app: web}, ports: [{port: 80}]}\n",
].join("---\n");
/** Objects of one application that are no hooks. */
const LABELLED = 3;

let w: World;
let way: Way;
let folder: string;
let repo: Daemon | undefined;
let running: Daemon | undefined;
beforeAll(async () => {
  w = await world();
  await w.halt();
  way = await startWay(readFileSync(w.api.kubeconfig, "utf8"));
  folder = mkdtempSync(join(tmpdir(), "outpost-kills-"));
  writeFileSync(join(folder, "token"), randomBytes(32).toString("hex"), { mode: 0o600 });
  const kubeconfig = parse(readFileSync(w.api.kubeconfig, "utf8"));
  for (const { cluster } of kubeconfig.clusters) {
    cluster.server = way.url;
    delete cluster["certificate-authority-data"];
    delete cluster["certificate-authority"];
  }
  writeFileSync(join(folder, "kubeconfig"), stringify(kubeconfig));
  repo = program(["repo-server"], {
    ...shared(),
    OUTPOST_REPO_LISTEN: `unix:${join(folder, "repo.sock")}`,
    OUTPOST_WORK: join(folder, "work"),
  });
}, 120_000);
afterAll(async () => {
  await running?.stop("SIGKILL");
  await repo?.stop();
  await way?.stop();
  await w?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const shared = () => ({
  OUTPOST_LOG_LEVEL: "fatal",
  OUTPOST_REPO_TOKEN_FILE: join(folder, "token"),
  OUTPOST_HELM: process.env.OUTPOST_HELM,
  OUTPOST_KUSTOMIZE: process.env.OUTPOST_KUSTOMIZE,
  OUTPOST_JSONNET: process.env.OUTPOST_JSONNET,
});

async function startController(): Promise<Daemon> {
  return program(["controller"], {
    ...shared(),
    KUBECONFIG: join(folder, "kubeconfig"),
    POD_NAMESPACE: w.namespace,
    OUTPOST_REPO_URL: `unix:${join(folder, "repo.sock")}`,
    OUTPOST_HEALTH_LISTEN: `127.0.0.1:${await freePort()}`,
  });
}

async function leaveOne(name: string): Promise<void> {
  await leave(w, {
    name,
    manifests: MANIFESTS,
    spec: { syncPolicy: { automated: { prune: true, selfHeal: true } } },
    status: { reconciledAt: LONG_AGO },
  });
}

/** Everything of an application's objects but our label and what the API server notes of a write. */
async function substance(name: string): Promise<Map<string, KubeObject>> {
  const lists = await Promise.all(KINDS.map((kind) => w.client.list(kind, { namespace: name })));
  return new Map(lists.flatMap((list) => value(list).items).map((object) => [object.metadata.uid!, plain(object)]));
}

function plain({ metadata, ...rest }: KubeObject): KubeObject {
  const { managedFields: _, resourceVersion: __, labels, ...others } = metadata;
  const { [LABEL]: ___, ...kept } = labels ?? {};
  return { ...rest, metadata: { ...others, labels: kept } };
}

async function labelled(name: string): Promise<number> {
  const lists = await Promise.all(KINDS.map((kind) => w.client.list(kind, { namespace: name, labelSelector: LABEL })));
  return lists.flatMap((list) => value(list).items).length;
}

const isTaken = async (name: string) =>
  (await w.get(name)).status?.reconciledAt !== LONG_AGO && (await labelled(name)) >= LABELLED;

/** What Argo CD's status says of the past and of the state; our look at it may change neither. */
async function told(name: string) {
  const { operation, status } = await w.get(name);
  const { sync, health, history, operationState } = status!;
  return { operation, sync: [sync?.status, sync?.revision], health: health?.status, history, operationState };
}

/** One application, and a kill at a write of its take-over; false when the take-over has no such write. */
async function takeOver(name: string, at: number, mode: Mode): Promise<boolean> {
  await leaveOne(name);
  const [objects, words] = [await substance(name), await told(name)];
  way.dieAt(at, mode);
  running = await startController();
  await until(`${name}: the take-over, or write ${at}`, async () => way.died() || (await isTaken(name)));
  const died = way.died();
  await running.stop("SIGKILL");
  way.dieAt(Number.POSITIVE_INFINITY, mode);
  running = await startController();
  await until(`${name}: the take-over after a kill ${mode} write ${at}`, () => isTaken(name));
  await running.stop("SIGKILL");
  expect([name, at, mode, await told(name)]).toEqual([name, at, mode, words]);
  expect(await substance(name)).toEqual(objects);
  value(await w.client.delete(RESOURCES.application, w.namespace, name, {}));
  return died;
}

/** The writes of one application that get a kill, until there is no such write. */
async function everyWrite(kill: (at: number, mode: Mode) => Promise<boolean>): Promise<number> {
  let deaths = 0;
  for (const mode of MODES)
    for (const at of AT) {
      if (!(await kill(at, mode))) break;
      deaths++;
    }
  return deaths;
}

test("a controller that is killed at any write of a take-over changes nothing but its label, begins no sync and runs no hook", async () => {
  let n = 0;
  const deaths = await everyWrite((at, mode) => takeOver(`take-${++n}`, at, mode));
  console.log(`${deaths} kills at writes of a take-over: 0 changes, 0 syncs, 0 hooks, 0 deletions`);
  expect(deaths).toBeGreaterThanOrEqual(6);
}, 600_000);

test("a hand-back that is killed at any write is finished by the next one, and changes nothing but marks of ours", async () => {
  let n = 0;
  const deaths = await everyWrite(async (at, mode) => {
    const name = `back-${++n}`;
    await leaveOne(name);
    way.dieAt(Number.POSITIVE_INFINITY, mode);
    running = await startController();
    await until(`${name}: the take-over`, () => isTaken(name));
    await running.stop("SIGKILL");
    const [objects, words] = [await substance(name), await told(name)];
    const handBack = () =>
      program(["admin", "hand-back", "--kubeconfig", join(folder, "kubeconfig"), "--namespace", w.namespace], shared());
    way.dieAt(at, mode);
    const first = handBack();
    await until(`${name}: the hand-back, or write ${at}`, async () => way.died() || first.ended() !== undefined);
    const died = way.died();
    await first.stop("SIGKILL");
    way.dieAt(Number.POSITIVE_INFINITY, mode);
    const second = handBack();
    await until(`${name}: the second hand-back`, () => second.ended() !== undefined);
    expect([name, at, mode, await labelled(name)]).toEqual([name, at, mode, 0]);
    expect([name, await told(name)]).toEqual([name, words]);
    expect(await substance(name)).toEqual(objects);
    value(await w.client.delete(RESOURCES.application, w.namespace, name, {}));
    return died;
  });
  console.log(`${deaths} kills at writes of a hand-back: 0 changes`);
  expect(deaths).toBeGreaterThanOrEqual(2);
}, 600_000);
