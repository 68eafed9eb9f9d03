import { readFileSync } from "node:fs";
import { type ApiServer, startApiServer } from "../../../../test/cluster/apiserver.ts";
import { type Gate, startGate } from "../../../../test/servers/gate.ts";
import { until } from "../../../../test/servers/run.ts";
import { KubeClient } from "../../../kube/client.ts";
import { parseKubeconfig } from "../../../kube/config.ts";
import { type KubeObject, keyOf } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { META } from "../application.ts";
import { Live } from "./live.ts";

/** What is known of a cluster while its API server cannot be reached, against a real one. */
let api: ApiServer;
let gate: Gate;
let direct: KubeClient;
let through: KubeClient;
const abort = new AbortController();
const LABEL = "shop";

beforeAll(async () => {
  api = await startApiServer();
  gate = await startGate(Number(new URL(api.url).port));
  const config = parseKubeconfig(readFileSync(api.kubeconfig, "utf8"));
  direct = new KubeClient(config);
  through = new KubeClient({ ...config, server: `https://127.0.0.1:${gate.port}` });
}, 300_000);
afterAll(async () => {
  abort.abort();
  await Promise.all([direct?.close(), through?.close()]);
  await gate?.stop();
  await api?.stop();
}, 60_000);

const object = (name: string, namespace = "default"): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace, labels: { [META.app]: LABEL } },
});
async function make(name: string, namespace?: string): Promise<KubeObject> {
  const made = await direct.create(RESOURCES.configMap, object(name, namespace));
  if (made.kind !== "done") throw new Error(made.message);
  return { ...object(name, namespace), ...made.value };
}
const unmake = (name: string) => direct.delete(RESOURCES.configMap, "default", name);
const known = (live: Live) => [...live.ofApp(LABEL).values()].map(({ metadata }) => metadata.name).sort();

test("what we wrote and somebody deleted while nothing could be watched is gone when all is listed anew, and no newer object is", async () => {
  const changed: string[] = [];
  const live = new Live({
    client: through,
    namespaces: ["default"],
    changed: (label) => changed.push(label),
    signal: abort.signal,
  });
  await make("before");
  await live.observe(RESOURCES.configMap, LABEL);
  expect(known(live)).toEqual(["before"]);

  gate.shut();
  const [written, kept] = [await make("written"), await make("kept")];
  const elsewhere = await make("elsewhere", "kube-system");
  // Nothing of this version is in the list that follows: its event will come.
  const newer = {
    ...object("newer"),
    metadata: { ...object("newer").metadata, uid: "u", resourceVersion: "9".repeat(15) },
  };
  for (const one of [written, kept, elsewhere, newer]) live.put(one);
  await unmake("written");
  await unmake("before");
  await make("after");
  changed.length = 0;
  live.resync();
  gate.open();

  await until("the list", async () => live.find(keyOf(object("after"))) !== undefined, 90_000);
  expect(known(live)).toEqual(["after", "elsewhere", "kept", "newer"]);
  expect(live.find(keyOf(written))).toBeUndefined();
  expect(changed).toContain(LABEL);
}, 300_000);

test("a late event of an object that was there before does not take the place of the one that we have made since", async () => {
  const version = (uid: string, resourceVersion: string): KubeObject => {
    const made = object("hook");
    return { ...made, metadata: { ...made.metadata, uid, resourceVersion } };
  };
  let next: (event: object) => void = () => undefined;
  async function* events() {
    for (;;) yield Buffer.from(`${JSON.stringify(await new Promise<object>((resolve) => (next = resolve)))}\n`);
  }
  const client = {
    list: async () => ({ kind: "done", value: { items: [version("old", "5")], resourceVersion: "5" } }),
    stream: async () => ({ kind: "done", value: events() }),
  } as unknown as KubeClient;
  const changed: string[] = [];
  const live = new Live({ client, changed: (label) => changed.push(label), signal: abort.signal });
  await live.observe(RESOURCES.configMap, LABEL);
  // It went at once, and a new one was made, before the watch told of the last change of the old one.
  live.remove(keyOf(object("hook")), LABEL);
  live.put(version("new", "8"));
  await new Promise((resolve) => setImmediate(resolve));
  next({ type: "MODIFIED", object: version("old", "6") });
  await new Promise((resolve) => setImmediate(resolve));
  expect(live.get(keyOf(object("hook")), LABEL)?.metadata.uid).toBe("new");
  next({ type: "DELETED", object: version("old", "7") });
  await new Promise((resolve) => setImmediate(resolve));
  expect(live.get(keyOf(object("hook")), LABEL)?.metadata.uid).toBe("new");
});
