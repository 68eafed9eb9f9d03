import { cpus } from "node:os";
import type { KubeClient } from "../../server/kube/client.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource, resourcePath } from "../../server/kube/path.ts";
import { parseManifests } from "../../server/kube/yaml.ts";
import { fourObjects, synced } from "../journeys/engine-world.ts";
import { type Installation, value } from "./installation.ts";

const kinds: Record<string, Resource> = {
  ServiceAccount: { group: "", version: "v1", kind: "ServiceAccount", plural: "serviceaccounts", namespaced: true },
  ConfigMap: RESOURCES.configMap,
  Service: { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true },
  Deployment: { group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true },
};

export const CONNECTIONS = 16;

/** A server-side apply request as anybody sends it; that ours asks for no warnings is a merit of ours, and not the loop's. */
async function plainApply(client: KubeClient, resource: Resource, object: KubeObject): Promise<void> {
  const query = { fieldManager: "outpost-controller", force: true };
  const contentType = "application/apply-patch+yaml";
  const path = resourcePath(resource, object.metadata.namespace, object.metadata.name);
  value(await client.json("PATCH", path, { body: object, contentType, query }));
}

/** Namespaces with these objects in each, by server-side apply requests as fast as the API server takes them: what an engine is measured by. */
export async function tightLoop(
  client: KubeClient,
  namespaces: readonly string[],
  manifests = fourObjects(),
): Promise<void> {
  const objects: KubeObject[] = value(parseManifests(manifests, "all.yaml"));
  const single = namespaces.length === 1;
  const queue = [...namespaces];
  const parallel = async <T>(items: T[], work: (item: T) => Promise<unknown>) => {
    const worker = async () => {
      for (let item = items.shift(); item !== undefined; item = items.shift()) await work(item);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  };
  const apply = (name: string) => async (object: KubeObject) =>
    plainApply(client, kinds[object.kind]!, { ...object, metadata: { ...object.metadata, namespace: name } });
  await parallel(queue, async (name) => {
    await plainApply(client, RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    if (single) await parallel([...objects], apply(name));
    else for (const object of objects) await apply(name)(object);
  });
}

/** Makes the applications and waits until each is Synced and its operation has succeeded. */
export async function create(i: Installation, names: readonly string[], repo: string): Promise<void> {
  const queue = [...names];
  const worker = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) await i.app(name, repo, `apps/${name}`);
  };
  const all = i.when("all synced", () => names.every((name) => i.apps.has(name) && synced(i.apps.get(name)!)), 600_000);
  await Promise.all([all, ...Array.from({ length: 8 }, worker)]);
}

/** Seconds until the object shows this revision. */
export async function live(
  client: KubeClient,
  namespace: string,
  name: string,
  rev: string,
  from = performance.now(),
): Promise<number> {
  const deadline = performance.now() + 120_000;
  for (;;) {
    const got = await client.get(RESOURCES.configMap, namespace, name);
    if (got.kind === "done" && got.value.data?.rev === rev) return (performance.now() - from) / 1_000;
    if (performance.now() > deadline) throw new Error(`${namespace}/${name} does not show ${rev}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** `idle` is the part of all processors' time in which they had nothing to do: what is left of a wait. */
export type Measured = ReturnType<Installation["cpu"]> & { s: number; idle: number };

/** Seconds of a piece of work, by the clock and of each processor. */
export async function measured(i: Installation, work: () => Promise<unknown>): Promise<Measured> {
  const [before, unused, started] = [i.cpu(), idleSeconds(), performance.now()];
  await work();
  const s = (performance.now() - started) / 1_000;
  const after = i.cpu();
  for (const key of Object.keys(after) as (keyof typeof after)[]) after[key] -= before[key];
  return { ...after, s, idle: (idleSeconds() - unused) / (s * cpus().length) };
}

const idleSeconds = (): number => cpus().reduce((sum, { times }) => sum + times.idle, 0) / 1_000;

/** Whose CPU seconds they were. */
export const spent = ({ ours, controller, repo, git, api, idle }: Measured): string =>
  `CPU ours ${round(ours)} s (controller ${round(controller)}, repo server ${round(repo)}, git ${round(git)}), API server ${round(api)} s, processors idle ${round(idle * 100, 0)} %`;

export const round = (n: number, digits = 2): string => n.toFixed(digits);
export const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;

/** One line of the table: what was measured, the bar, and whether it was reached. */
export function line(what: string, found: number, bar: number, unit: string, more = "", atLeast = false): void {
  const reached = atLeast ? found >= bar : found <= bar;
  console.log(
    `${reached ? "reached" : "MISSED "} | ${what} | ${round(found)} ${unit} | ${atLeast ? "≥" : "≤"} ${bar} ${unit} | ${more}`,
  );
}
