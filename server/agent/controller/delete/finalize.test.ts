import { done } from "../../../base/outcome.ts";
import { type KubeObject, keyOf } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import { DEFAULT_PROJECT } from "../../project/project.ts";
import { type Application, FINALIZERS } from "../application.ts";
import type { Deps } from "../deps.ts";
import type { Destination } from "../destination.ts";
import { remember } from "../memory.ts";
import { Settings } from "../settings.ts";
import { Report } from "../status/report.ts";
import { BY_ANNOTATION, mark } from "../tracking.ts";
import { finalize } from "./finalize.ts";

const CONFIG_MAPS: Resource = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true };
const rendered = (): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", namespace: "shop" },
});

test("what a program applied that ended before it wrote a status goes with its application", async () => {
  const app = {
    metadata: {
      name: "shop",
      uid: "1",
      deletionTimestamp: "2026-01-01T00:00:00Z",
      finalizers: [FINALIZERS.background],
    },
    spec: { source: { repoURL: "https://git.example/a" }, destination: {}, syncPolicy: { automated: {} } },
  } as unknown as Application;
  const object = rendered();
  mark(object, "shop", "shop", BY_ANNOTATION);
  object.metadata.uid = "u";
  const watched = new Set<string>();
  const deleted: string[] = [];
  const client = {
    discovery: { find: async () => done(CONFIG_MAPS), all: async () => [CONFIG_MAPS] },
    json: async () => done({ gitVersion: "v1.30.0" }),
    delete: async (_: Resource, __: string, name: string) => {
      deleted.push(name);
      return done(object);
    },
  };
  const destination = {
    id: "home",
    server: "home",
    own: "outpost",
    client,
    writer: client,
    settings: new Settings(),
    managed: [],
    clusterWide: true,
    live: {
      observe: async ({ kind }: Resource) => done(void watched.add(kind)),
      // A watch shows what its kind has.
      ofApp: () => new Map(watched.has(object.kind) ? [[keyOf(object), object]] : []),
    },
    adoption: { take: async () => done([]) },
  } as unknown as Destination;
  const patched: object[] = [];
  const store = { get: () => app, patch: async (_: string, patch: object) => done(void patched.push(patch)) };
  const deps = {
    namespace: "outpost",
    now: Date.now,
    memory: new Map(),
    store,
    projects: { of: () => done(DEFAULT_PROJECT) },
    repositories: { find: (url: string) => ({ url }), charts: () => [] },
    repo: { render: async () => done({ objects: [rendered()], key: "k", revisions: ["1"], sourceTypes: [] }) },
    destinations: { own: "outpost", find: async () => done(destination) },
  } as unknown as Deps;
  const next = await finalize(deps, app, remember(deps, "shop"), new Report(deps, "shop"));
  expect(deleted).toEqual(["a"]);
  // The finalizer stays until it is gone.
  expect(patched).toEqual([]);
  expect(next).toBeDefined();
});
