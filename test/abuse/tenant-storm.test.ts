import { TENANT } from "../../server/agent/project/tenant.ts";
import { CONFIG_MAP, configMap, value, type World, world } from "../journeys/engine-world.ts";
import { A, B } from "./tenant-tricks.ts";
import { shareEverything } from "./tenant-world.ts";

// One tenant with many applications, and another one with one. Whatever the first one asks for comes first in every line; the other one's application is
// done while most of the first one's still wait.
const MANY = 250;
const CHARTS = 40;

let w: World;
beforeAll(async () => {
  w = await world();
  await shareEverything(w);
}, 120_000);
afterAll(() => w?.stop(), 60_000);

const create = (name: string, tenant: string, source: object) =>
  w.app(
    name,
    {
      project: "limit",
      destination: { name: "in-cluster", namespace: tenant === A ? "team-a" : "team-b" },
      source: source as never,
      syncPolicy: { automated: { prune: true, selfHeal: true } },
    },
    { annotations: { [TENANT]: tenant } },
  );
const numbered = (count: number) => Array.from({ length: count }, (_, n) => n);
/** How many of a's objects are at a revision. */
const atRevision = async (rev: string) =>
  value(await w.client.list(CONFIG_MAP, { namespace: "team-a" })).items.filter(({ data }) => data?.rev === rev).length;

/** Waits until b's object is there at a revision. */
const deployed = (name: string, rev: string) =>
  w.settled(async () => (await w.object(CONFIG_MAP, "team-b", name))?.data?.rev === rev, `${name} at ${rev}`);

test("one tenant's first look at many applications, and a commit to all of them, hold up another tenant's one application for its turn only", async () => {
  await w.halt();
  const files = Object.fromEntries(numbered(MANY).map((n) => [`${n}/a.yaml`, configMap(`many-${n}`, { rev: "1" })]));
  // One repository for both, so that no fetch counts.
  await w.git.createRepository("many", { files: { ...files, "zone/a.yaml": configMap("zone", { rev: "1" }) } });
  const url = w.git.cloneUrl("many");
  for (const n of numbered(MANY)) await create(`a-${n}`, A, { repoURL: url, path: String(n), targetRevision: "main" });
  // Its name is the last one of the list.
  await create("zone", B, { repoURL: url, path: "zone", targetRevision: "main" });
  await w.restart();
  await deployed("zone", "1");
  expect(await atRevision("1")).toBeLessThan(MANY / 2);
  await w.settled(async () => (await atRevision("1")) === MANY, "all of a's there");

  const next = Object.fromEntries(numbered(MANY).map((n) => [`${n}/a.yaml`, configMap(`many-${n}`, { rev: "2" })]));
  // All of a's are in line first.
  await w.git.commit("many", { ...next, "zone/a.yaml": configMap("zone", { rev: "2" }) }, "a storm");
  await w.controller.repositoryChanged(url);
  await deployed("zone", "2");
  expect(await atRevision("2")).toBeLessThan(MANY / 2);
  await w.settled(async () => (await atRevision("2")) === MANY, "all of a's changed");
}, 240_000);

test("many charts of one tenant hold up another tenant's one chart for its turn only", async () => {
  const chart = (name: string) => ({
    "Chart.yaml": `apiVersion: v2\nname: ${name}\nversion: 1.0.0\n`,
    "templates/a.yaml": configMap(`{{ .Release.Name }}`, { rev: "{{ .Values.rev }}" }),
    "values.yaml": "rev: none\n",
  });
  await w.git.createRepository("charts", { files: chart("charts") });
  const source = (rev: string) => ({
    repoURL: w.git.cloneUrl("charts"),
    path: ".",
    targetRevision: "main",
    helm: {
      parameters: [
        { name: "rev", value: rev },
        { name: "other", value: "x" },
      ],
    },
  });
  await w.halt();
  for (const n of numbered(CHARTS)) await create(`chart-${n}`, A, source("r1"));
  await create("zz-chart", B, source("r1"));
  await w.restart();
  await deployed("zz-chart", "r1");
  expect(await atRevision("r1")).toBeLessThan(CHARTS / 2);
  await w.settled(async () => (await atRevision("r1")) === CHARTS, "all of a's charts there");
}, 240_000);
