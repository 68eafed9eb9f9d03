import { readFileSync } from "node:fs";
import type { Application } from "../../server/agent/controller/application.ts";
import { handBack } from "../../server/agent/eval/hand-back.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, settings, synced, value, type World, world } from "./engine-world.ts";
import { LAST_APPLIED, type Left, leave, repositoryOf, TRACKING, type Tracking } from "./former-engine.ts";

/** Every sort of application that another engine leaves: taken over without a change, then changed by Git alone. */
const JOB: Resource = { group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true };
const CRD: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
const WIDGET: Resource = { group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: true };
const LABEL = "outpost.dev/app";
const all = (...documents: string[]) => documents.join("---\n");

const DEFINITION = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`;
const widget = (name: string, size: number) =>
  `apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: ${name}}\nspec: {size: ${size}}\n`;
const wave = (name: string, number: number, v: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, annotations: {argocd.argoproj.io/sync-wave: "${number}"}}\ndata: {v: "${v}"}\n`;
const GENERATED = `apiVersion: batch/v1
kind: Job
metadata: {generateName: after-, annotations: {argocd.argoproj.io/hook: PostSync}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}
`;
const TEMPLATE = `apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-web", labels: {app.kubernetes.io/managed-by: "{{ .Release.Service }}"}}
data: {v: "{{ .Values.v }}"{{ if .Values.w }}, w: "{{ .Values.w }}"{{ end }}}
`;
const released = (release: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${release}-web, labels: {app.kubernetes.io/managed-by: Helm}}\ndata: {v: "1", w: "1"}\n`;
const CHART = { "app/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n", "app/templates/a.yaml": TEMPLATE };
const kustomization = (prefix: string) => `resources: [a.yaml]\nnamePrefix: ${prefix}-\nlabels: [{pairs: {team: a}}]\n`;

// What Argo CD writes on a namespace whose metadata an application manages.
const BY_SERVER = { "argocd.argoproj.io/sync-options": "ServerSideApply=true" };
const NAMESPACED = "outside";
const EDGE = "edge";

/** What is left, and what the next commit does, as Argo CD would do it. */
interface Sort {
  left: (w: World) => Omit<Left, "name">;
  change: Record<string, string>;
  /** To which of its repositories. */
  at?: number;
  proves(w: World, name: string, app: Application): Promise<void>;
}

const data = async (w: World, namespace: string, name: string) => (await w.object(CONFIG_MAP, namespace, name))?.data;
const SORTS: Record<string, Sort> = {
  helm: {
    left: () => ({ manifests: released("helm"), files: [{ ...CHART, "app/values.yaml": 'v: "1"\nw: "1"\n' }] }),
    change: { "app/values.yaml": 'v: "2"\n' },
    proves: async (w) => expect(await data(w, "helm", "helm-web")).toEqual({ v: "2" }),
  },
  kustomize: {
    left: () => ({
      manifests: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p-a, labels: {team: a}}\ndata: {v: "1"}\n`,
      files: [{ "app/kustomization.yaml": kustomization("p"), "app/a.yaml": configMap("a", { v: "1" }) }],
    }),
    change: { "app/kustomization.yaml": kustomization("q") },
    proves: async (w) => {
      expect(await data(w, "kustomize", "q-a")).toEqual({ v: "1" });
      await w.settled(async () => (await w.object(CONFIG_MAP, "kustomize", "p-a")) === undefined, "pruned");
    },
  },
  several: {
    left: (w) => ({
      manifests: all(released("several"), configMap("own", { v: "1", w: "1" })),
      files: [CHART, { "values/v.yaml": 'v: "1"\nw: "1"\n', "app/own.yaml": configMap("own", { v: "1", w: "1" }) }],
      spec: {
        source: undefined,
        sources: [
          {
            repoURL: w.git.cloneUrl("several"),
            path: "app",
            targetRevision: "main",
            helm: { valueFiles: ["$values/values/v.yaml"] },
          },
          { repoURL: w.git.cloneUrl(repositoryOf("several", 1)), path: "app", targetRevision: "main", ref: "values" },
        ],
      },
    }),
    at: 1,
    change: { "values/v.yaml": 'v: "2"\n', "app/own.yaml": configMap("own", { v: "1" }) },
    proves: async (w) => {
      expect(await data(w, "several", "several-web")).toEqual({ v: "2" });
      expect(await data(w, "several", "own")).toEqual({ v: "1" });
    },
  },
  waves: {
    left: () => ({ manifests: all(wave("first", -1, "1"), wave("last", 2, "1")) }),
    change: { "app/all.yaml": all(wave("first", -1, "2"), wave("last", 2, "2")) },
    proves: async (w, name, app) => {
      expect([await data(w, name, "first"), await data(w, name, "last")]).toEqual([{ v: "2" }, { v: "2" }]);
      const order = app.status!.operationState!.syncResult!.resources!.map((row) => row.name);
      expect(order.indexOf("first")).toBeLessThan(order.indexOf("last"));
    },
  },
  definitions: {
    left: () => ({ manifests: all(DEFINITION, widget("a", 1), widget("b", 1)) }),
    change: { "app/all.yaml": all(DEFINITION, widget("a", 2)) },
    proves: async (w, name) => {
      expect(await w.object(WIDGET, name, "a")).toMatchObject({ spec: { size: 2 } });
      await w.settled(async () => (await w.object(WIDGET, name, "b")) === undefined, "pruned");
      expect(
        value(await w.client.get(CRD, undefined, "widgets.example.com")).metadata.annotations?.[TRACKING],
      ).toBeUndefined();
    },
  },
  labelled: {
    left: () => ({
      manifests: configMap("a", { v: "1" }),
      spec: {
        syncPolicy: {
          automated: { prune: true, selfHeal: true },
          syncOptions: ["CreateNamespace=true"],
          managedNamespaceMetadata: { labels: { team: "a" } },
        },
      },
      result: { managedNamespaceMetadata: { labels: { team: "a" } } },
    }),
    change: { "app/all.yaml": configMap("a", { v: "2" }) },
    proves: async (w, name) => {
      const { labels, annotations } = value(await w.client.get(RESOURCES.namespace, undefined, name)).metadata;
      expect(labels).toMatchObject({ team: "a", theirs: "kept" });
      expect(annotations).toEqual(BY_SERVER);
      expect(await data(w, name, "a")).toEqual({ v: "2" });
    },
  },
  generated: {
    left: () => ({ manifests: all(configMap("a", { v: "1" }), GENERATED) }),
    change: { "app/all.yaml": all(configMap("a", { v: "2" }), GENERATED) },
    proves: async (w, name, app) => {
      expect(await data(w, name, "a")).toEqual({ v: "2" });
      expect(
        app.status!.operationState!.syncResult!.resources!.filter((row) => row.hookType === "PostSync"),
      ).toHaveLength(1);
    },
  },
  [NAMESPACED]: {
    left: () => ({
      manifests: configMap("a", { v: "1", w: "1" }),
      instance: `teams_${NAMESPACED}`,
      metadata: { namespace: "teams" },
      spec: { project: "teams" },
    }),
    change: { "app/all.yaml": configMap("a", { v: "1" }) },
    proves: async (w, name) => {
      expect(await data(w, name, "a")).toEqual({ v: "1" });
      const { annotations, labels } = (await w.object(CONFIG_MAP, name, "a"))!.metadata;
      const marks = [annotations?.[TRACKING], labels?.["app.kubernetes.io/instance"]].filter(Boolean);
      expect(marks.map((mark) => mark!.replace(/:.*/, ""))).toEqual(marks.map(() => `teams_${name}`));
      expect(marks.length).toBeGreaterThan(0);
    },
  },
  [EDGE]: {
    left: () => ({
      manifests: all(configMap("a", { v: "1" }), configMap("b", {})),
      spec: { destination: { name: EDGE, namespace: EDGE } },
    }),
    change: { "app/all.yaml": configMap("a", { v: "2" }) },
    proves: async (w, name) => {
      expect(await data(w, name, "a")).toEqual({ v: "2" });
      await w.settled(async () => (await w.object(CONFIG_MAP, name, "b")) === undefined, "pruned");
    },
  },
};
const NAMES = Object.keys(SORTS);
const placeOf = (name: string) => (name === NAMESPACED ? "teams" : undefined);

/** What a user has put there and the cluster counts: all but our label and who wrote what. */
function substance({ metadata, ...rest }: KubeObject, left: readonly string[]): string {
  const { managedFields: _, resourceVersion: __, labels, annotations, ...others } = metadata;
  const { [LABEL]: ___, ...kept } = labels ?? {};
  const said = Object.entries(annotations ?? {}).filter(([name]) => !left.includes(name));
  return JSON.stringify({ ...rest, metadata: { ...others, labels: kept, annotations: Object.fromEntries(said) } });
}

/** All there is, but for these annotations. */
async function snapshot(w: World, left: readonly string[] = []): Promise<Map<string, string>> {
  const lists = await Promise.all(
    [CONFIG_MAP, WIDGET, CRD, JOB, RESOURCES.namespace].map((kind) => w.client.list(kind)),
  );
  const objects = lists.flatMap((list) => (list.kind === "done" ? list.value.items : []));
  const own = objects.filter(({ kind, metadata }) =>
    NAMES.includes(metadata.namespace ?? (kind === "Namespace" ? metadata.name : NAMES[0]!)),
  );
  return new Map(
    own.map((one) => [`${one.kind}/${one.metadata.namespace}/${one.metadata.name}`, substance(one, left)]),
  );
}

const label = (w: World, method: Tracking) =>
  settings(w, "argocd-cm", { "application.resourceTrackingMethod": method });

async function leaveAll(w: World, method: Tracking): Promise<void> {
  await label(w, method);
  await settings(w, "argocd-cmd-params-cm", { "application.namespaces": "teams" });
  value(
    await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "teams" } }),
  );
  const anything = { sourceRepos: ["*"], destinations: [{ server: "*", namespace: "*" }], sourceNamespaces: ["teams"] };
  const project = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "AppProject",
    metadata: { name: "teams", namespace: w.namespace },
    spec: anything,
  };
  value(await w.client.create(RESOURCES.appProject, project));
  await w.cluster(EDGE, `https://localhost:${new URL(w.api.url).port}`);
  for (const name of NAMES) await leave(w, { name, tracking: method, ...SORTS[name]!.left(w) });
  // Another client has written into it too.
  const managed = { name: "labelled", labels: { team: "a" }, annotations: BY_SERVER };
  const query = { fieldManager: "argocd-controller", force: true };
  const body = { apiVersion: "v1", kind: "Namespace", metadata: managed };
  value(
    await w.client.json("PATCH", "/api/v1/namespaces/labelled", {
      body,
      query,
      contentType: "application/apply-patch+yaml",
    }),
  );
  const theirs = { metadata: { labels: { theirs: "kept" } } };
  value(await w.client.mergePatch(RESOURCES.namespace, undefined, "labelled", theirs, { manager: "theirs" }));
}

const isSame = async (w: World, before: Map<string, string>) =>
  expect([...(await snapshot(w))].sort()).toEqual([...before].sort());

describe.each<Tracking>(["annotation", "label", "annotation+label"])("tracked by %s", (method) => {
  let w: World;
  let before: Map<string, string>;
  const states = new Map<string, Application>();
  beforeAll(async () => {
    w = await world();
    await w.halt();
    await leaveAll(w, method);
    before = await snapshot(w);
    for (const name of NAMES) states.set(name, await read(name));
    // The first controller is lost in the middle: nothing that it was about to send arrives any more.
    await w.restart();
    const labelled = async () =>
      value(await w.client.list(CONFIG_MAP, { labelSelector: LABEL, metadataOnly: true })).items.length;
    await w.settled(async () => (await labelled()) > 0, "begun");
    await w.controller.deps.home.close();
    await w.restart();
    for (const name of NAMES) await w.refresh(name, "normal", placeOf(name));
  }, 240_000);
  afterAll(() => w?.stop(), 30_000);

  const read = (name: string) => w.until(name, () => true, "there", placeOf(name));

  test("a take-over that is cut off and begun again changes no object, begins no sync and runs no hook", async () => {
    await isSame(w, before);
    for (const name of NAMES) {
      const [was, is] = [states.get(name)!, await read(name)];
      expect([name, is.status?.sync?.status, is.status?.health?.status, is.status?.conditions ?? []]).toEqual([
        name,
        "Synced",
        "Healthy",
        [],
      ]);
      expect([name, is.status?.operationState, is.status?.history]).toEqual([
        name,
        was.status?.operationState,
        was.status?.history,
      ]);
    }
    expect(value(await w.client.list(JOB)).items).toEqual([]);
  });

  test.each(NAMES)("then a commit does what it did there: %s", async (name) => {
    const { change, at = 0, proves } = SORTS[name]!;
    await w.git.commit(repositoryOf(name, at), change, "another");
    await w.refresh(name, "normal", placeOf(name));
    // No Pods run here: what is made of a hook is its Job.
    if (name === "generated") {
      await w.settled(async () => (await jobs()).length > 0, "run");
      for (const { metadata } of await jobs()) value(await w.client.patchStatus(JOB, name, metadata.name, complete()));
    }
    const { startedAt } = states.get(name)!.status!.operationState!;
    const isDone = (one: Application) => synced(one) && one.status!.operationState!.startedAt !== startedAt;
    await proves(w, name, await w.until(name, isDone, "synced anew", placeOf(name)));
    const { history } = (await read(name)).status!;
    expect(history!.map(({ id }) => id)).toEqual([0, 1]);
  });

  test("handing all back changes nothing but the label, and what was applied last is what is there", async () => {
    await w.halt();
    const written = [LAST_APPLIED, "outpost.dev/hook-started-at", "outpost.dev/hook-phase"];
    const there = await snapshot(w, written);
    const config = parseKubeconfig(readFileSync(w.api.kubeconfig, "utf8"));
    const handed = value(await handBack({ config, namespace: w.namespace, applications: [], dryRun: false }));
    expect(handed.failed).toEqual([]);
    // Of a Job without labels the API server takes those of its template.
    const others = (all: Map<string, string>) => [...all].filter(([key]) => !key.startsWith("Job/")).sort();
    expect(others(await snapshot(w, written))).toEqual(others(there));
    for (const kind of [CONFIG_MAP, WIDGET, CRD, JOB]) {
      for (const object of value(await w.client.list(kind)).items) {
        const { namespace = "", name } = object.metadata;
        if (!NAMES.includes(namespace) && name !== "widgets.example.com") continue;
        expect(JSON.stringify([object.metadata.labels, object.metadata.annotations])).not.toContain("outpost.dev/");
        const text = object.metadata.annotations?.[LAST_APPLIED];
        expect([namespace, name, text]).toEqual([namespace, name, expect.any(String)]);
        const { metadata, ...said } = JSON.parse(text!);
        expect([said.data, said.spec?.size, metadata.name]).toEqual([object.data, object.spec?.size, name]);
      }
    }
  });

  const jobs = async () => value(await w.client.list(JOB, { namespace: "generated" })).items;
});

function complete() {
  const at = new Date().toISOString().replace(/\.\d+/, "");
  const conditions = ["SuccessCriteriaMet", "Complete"].map((type) => ({
    type,
    status: "True",
    lastTransitionTime: at,
  }));
  return { conditions, startTime: at, completionTime: at, succeeded: 1 };
}
