import type { Client, Stored } from "../client/client.ts";
import { judgeApplication } from "./application.ts";
import { explained } from "./explained.ts";

const place = { collection: "applications", id: "a" };
const limit = () => ({ deadline: Date.now() + 5_000, signal: new AbortController().signal });
const deployment = { group: "apps", kind: "Deployment", name: "web", namespace: "shop", uid: "d" };
const replicaSet = { group: "apps", kind: "ReplicaSet", name: "web-1", namespace: "shop", uid: "r", parents: ["d"] };
const pod = (state: string, message: string) => ({
  kind: "Pod",
  name: "web-1-x",
  namespace: "shop",
  uid: "p",
  parents: ["r"],
  health: "Degraded",
  message,
  info: [{ name: "status", value: state }],
});
const quota = { type: "Warning", ...replicaSet, reason: "FailedCreate", message: "exceeded quota: small" };

const application = (health: string, resources: object[] = []): Stored => ({
  id: "a",
  uid: "u",
  generation: 1,
  version: "1",
  spec: { agent: "prod", syncPolicy: { automated: {} } },
  status: {
    observedGeneration: 1,
    delivery: { state: "Delivered" },
    sync: { status: "Synced" },
    health: { status: health },
    resources,
  },
});

/** A service whose agent answers with these objects and events; undefined when it does not answer. */
function serviceOf(nodes: object[] | undefined, events: object[] = []) {
  const asked: string[] = [];
  const read = async (_place: unknown, action: string) => {
    asked.push(action);
    if (!nodes) return { ok: false, status: 504, problem: { detail: "the agent did not answer" } };
    return { ok: true, status: 200, body: action === "/tree" ? { nodes } : { items: events } };
  };
  return { client: { read } as unknown as Client, asked };
}

const degraded = [{ ...deployment, version: "v1", health: "Degraded", message: "0 of 1" }];

test.each([
  [
    "a Pod that cannot pull its image: an end, although the Deployment only counts",
    application("Progressing"),
    serviceOf([deployment, replicaSet, pod("ImagePullBackOff", "Back-off pulling web:9")]),
    {
      kind: "stop",
      reason: "Pod web-1-x: ImagePullBackOff: Back-off pulling web:9 (waiting alone does not mend this)",
      same: "Pod shop web-1-x",
      standsFor: 30_000,
      deployed: true,
    },
  ],
  [
    "a Pod that starts: waited for, by name",
    application("Progressing"),
    serviceOf([deployment, replicaSet, { ...pod("Running", "not ready"), health: "Progressing" }]),
    { kind: "later", reason: "waiting for Pod web-1-x: not ready" },
  ],
  [
    "a Degraded Deployment keeps its words and its time",
    application("Degraded", degraded),
    serviceOf([deployment, replicaSet, pod("Running", "exit code 3")]),
    {
      kind: "stop",
      reason: "apps/Deployment web is Degraded: 0 of 1; Pod web-1-x: exit code 3",
      same: "apps/Deployment web is Degraded: 0 of 1",
      standsFor: 30_000,
      deployed: true,
    },
  ],
  [
    "a quota that refuses the Pods",
    application("Progressing"),
    serviceOf([deployment, replicaSet], [quota]),
    {
      kind: "stop",
      reason: "ReplicaSet web-1: FailedCreate: exceeded quota: small (waiting alone does not mend this)",
      same: "ReplicaSet shop web-1",
      standsFor: 30_000,
      deployed: true,
    },
  ],
  [
    "an agent that does not answer",
    application("Progressing"),
    serviceOf(undefined),
    { kind: "later", reason: "Synced, Progressing" },
  ],
])("why an application is not ready: %s", async (_name, stored, { client }, want) => {
  expect(await explained(client, place, limit(), judgeApplication)(stored)).toEqual(want);
});

test("the agent is asked only for what is not healthy, and once for several looks", async () => {
  const { client, asked } = serviceOf([]);
  const judge = explained(client, place, limit(), judgeApplication);
  expect(await judge(application("Healthy"))).toEqual({ kind: "done" });
  expect(asked).toEqual([]);
  await judge(application("Progressing"));
  await judge(application("Progressing"));
  expect(asked).toEqual(["/tree", "/events"]);
});
