import { readFileSync } from "node:fs";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, condition, configMap, synced, value, type World, world } from "./engine-world.ts";

const RBAC = { group: "rbac.authorization.k8s.io", version: "v1" };
let w: World;
beforeAll(async () => {
  w = await world();
}, 180_000);
afterAll(() => w?.stop(), 60_000);

const all = { server: "*", namespace: "*" };
const everything = { sourceRepos: ["*"], destinations: [all], clusterResourceWhitelist: [{ group: "*", kind: "*" }] };
const once = { automated: { prune: true, selfHeal: true }, retry: { limit: 0 }, syncOptions: ["CreateNamespace=true"] };

async function project(name: string, spec: object, labels: Record<string, string> = {}): Promise<KubeObject> {
  const metadata = { name, namespace: w.namespace, labels };
  return value(await w.client.apply(RESOURCES.appProject, { apiVersion: "argoproj.io/v1alpha1", kind: "AppProject", metadata, spec }));
}

/** Writes a ConfigMap of the installation's settings; what is left out is gone. */
async function settings(name: string, data: Record<string, string>): Promise<void> {
  const metadata = { name, namespace: w.namespace, labels: { "app.kubernetes.io/part-of": "argocd" } };
  value(await w.client.apply(CONFIG_MAP, { apiVersion: "v1", kind: "ConfigMap", metadata, data }));
}

/** Its project does not permit one of its objects. */
const outside = (app: Parameters<typeof synced>[0]) =>
  app.status?.conditions?.some(({ type }) => type === "ExcludedResourceWarning") === true;

describe("global projects", () => {
  const globalProjects = JSON.stringify([
    { projectName: "platform", labelSelector: { matchExpressions: [{ key: "tier", operator: "In", values: ["team"] }] } },
  ]);

  test("what a global project denies holds for the projects with its labels, and a change of it, of their labels and of the settings is seen", async () => {
    await w.git.createRepository("inherited", { files: { "a.yaml": configMap("a", { a: "1" }) } });
    await project("platform", { namespaceResourceBlacklist: [{ group: "", kind: "ConfigMap" }] });
    await project("blue", everything, { tier: "team" });
    await project("green", everything);
    await settings("argocd-cm", { globalProjects });
    await w.app("green", { repo: "inherited", project: "green" });
    await w.app("blue", { repo: "inherited", project: "blue", syncPolicy: once });
    await w.until("green", synced, "Synced");
    const refused = await w.until("blue", (a) => a.status?.operationState?.phase === "Failed", "Failed");
    expect(refused.status?.operationState?.syncResult?.resources).toMatchObject([
      { kind: "ConfigMap", status: "SyncFailed", message: "resource :ConfigMap is not permitted in project blue" },
    ]);
    // The global one permits it now.
    await project("platform", { namespaceResourceBlacklist: [] });
    const sync = { initiatedBy: { username: "test" }, sync: {} };
    await w.until("blue", (a) => !outside(a), "permitted");
    value(await w.client.mergePatch(RESOURCES.application, w.namespace, "blue", { operation: sync }));
    await w.until("blue", synced, "Synced");
    // It denies again, and then it is this project's no more.
    await project("platform", { namespaceResourceBlacklist: [{ group: "", kind: "ConfigMap" }] });
    await w.until("blue", outside, "refused");
    await project("blue", everything, { tier: "other" });
    await w.until("blue", (a) => !outside(a) && a.status?.sync?.status === "Synced", "permitted again");
    await project("blue", everything, { tier: "team" });
    await w.until("blue", outside, "refused again");
    await settings("argocd-cm", {});
    await w.until("blue", (a) => !outside(a) && a.status?.sync?.status === "Synced", "permitted without the setting");
  });

  test("what a global project permits need not be in a project of its own", async () => {
    await w.git.createRepository("lent", { files: { "a.yaml": configMap("a", { a: "1" }) } });
    await project("lender", everything);
    await project("borrower", {}, { borrows: "yes" });
    await w.app("borrower", { repo: "lent", project: "borrower" });
    await w.until("borrower", (a) => condition(a, "SourceNotPermitted") !== undefined, "refused");
    await settings("argocd-cm", {
      globalProjects:
        "- projectName: lender\n  labelSelector:\n    matchLabels: {borrows: 'yes'}\n- projectName: nobody\n  labelSelector: {}\n",
    });
    await w.until("borrower", synced, "Synced");
    // Nobody inherits what cannot be read: it may have been a denial.
    await project("lender", { ...everything, destinations: "everywhere" });
    const app = await w.until("borrower", (a) => condition(a, "ProjectInvalid") !== undefined, "refused");
    expect(condition(app, "ProjectInvalid")?.message).toMatch(
      /its global project lender cannot be read: spec\.destinations must be a list/,
    );
    await settings("argocd-cm", {
      globalProjects: "- projectName: lender\n  labelSelector: {matchExpressions: [{key: a, operator: Like}]}\n",
    });
    const said = await w.until("green", (a) => condition(a, "SettingsInvalid") !== undefined, "told of the setting");
    expect(condition(said, "SettingsInvalid")?.message).toMatch(/globalProjects\[0\] is left out: "Like" is not a valid label selector/);
    await settings("argocd-cm", {});
  });
});

describe("applications in other namespaces", () => {
  const application = (namespace: string, name: string, repository: string, spec: object = {}, metadata: object = {}): KubeObject => ({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name, namespace, ...metadata },
    spec: {
      project: "tenants",
      source: { repoURL: w.git.cloneUrl(repository), path: ".", targetRevision: "main" },
      destination: { name: "in-cluster", namespace: `of-${namespace}` },
      syncPolicy: {
        automated: { prune: true, selfHeal: true },
        syncOptions: ["CreateNamespace=true", "PrunePropagationPolicy=background"],
      },
      ...spec,
    },
  });
  const create = async (app: KubeObject) => value(await w.client.create(RESOURCES.application, app));
  const namespace = async (name: string) =>
    value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  const read = async (at: string, name: string) =>
    value(await w.client.get(RESOURCES.application, at, name)) as Awaited<ReturnType<World["get"]>>;
  const enable = (namespaces: string) => settings("argocd-cmd-params-cm", { "application.namespaces": namespaces });
  const CONTROLLER = "outpost-agent";

  beforeAll(async () => {
    for (const name of ["team-a", "team-b", "stranger"]) await namespace(name);
    await project("tenants", { ...everything, sourceNamespaces: ["team-*"] });
  }, 60_000);

  test("one of the same name in two namespaces is two applications: each has its own objects, status, refresh and end", async () => {
    await w.git.createRepository("same", { files: { "a.yaml": configMap("a", { a: "1" }) } });
    await w.app("same", { repo: "same", destination: { name: "in-cluster", namespace: "of-home" } });
    await create(application("team-a", "same", "same", {}, { finalizers: ["resources-finalizer.argocd.argoproj.io/background"] }));
    await enable("team-a,team-b");
    await w.until("same", synced, "Synced");
    const app = await w.until("same", synced, "Synced in team-a", "team-a");
    expect(app.status?.controllerNamespace).toBe(CONTROLLER);
    const object = await w.object(CONFIG_MAP, "of-team-a", "a");
    expect(object?.metadata.annotations?.["argocd.argoproj.io/tracking-id"]).toBe("team-a_same:/ConfigMap:of-team-a/a");
    expect(object?.metadata.labels?.["outpost.dev/app"]).toBe("team-a_same");
    expect((await w.object(CONFIG_MAP, "of-home", "a"))?.metadata.annotations?.["argocd.argoproj.io/tracking-id"]).toBe(
      "same:/ConfigMap:of-home/a",
    );
    // A new commit and a refresh of the one: the other's request is its own.
    await w.git.commit("same", { "b.yaml": configMap("b", {}) }, "b");
    await w.refresh("same", "hard", "team-a");
    await w.until("same", (a) => synced(a) && a.status?.resources?.length === 2, "with two objects", "team-a");
    // A change of its object is put right.
    value(await w.client.mergePatch(CONFIG_MAP, "of-team-a", "a", { data: { a: "drift" } }));
    await w.until(
      "same",
      (a) => a.status?.operationState?.operation.sync?.autoHealAttemptsCount !== undefined && synced(a),
      "healed",
      "team-a",
    );
    expect((await w.object(CONFIG_MAP, "of-team-a", "a"))?.data).toEqual({ a: "1" });
    // Its end takes its own objects, and nothing of its namesake.
    value(await w.client.delete(RESOURCES.application, "team-a", "same"));
    await w.settled(async () => (await w.client.get(RESOURCES.application, "team-a", "same")).kind !== "done", "gone");
    expect(await w.object(CONFIG_MAP, "of-team-a", "a")).toBeUndefined();
    expect(await w.object(CONFIG_MAP, "of-home", "a")).toBeDefined();
    expect(synced(await w.get("same"))).toBe(true);
  });

  test("two that want the same object are told of each other by their whole names, and the first keeps it", async () => {
    await w.git.createRepository("shared", { files: { "a.yaml": configMap("shared", { a: "1" }) } });
    const destination = { name: "in-cluster", namespace: "of-both" };
    await create(application("team-a", "shared", "shared", { destination }));
    await w.until("shared", synced, "Synced", "team-a");
    await create(application("team-b", "shared", "shared", { destination }));
    const second = await w.until("shared", (a) => condition(a, "SharedResource") !== undefined, "told", "team-b");
    expect(condition(second, "SharedResource")?.message).toContain("is part of applications team-b_shared and team-a_shared");
    const object = await w.object(CONFIG_MAP, "of-both", "shared");
    expect(object?.metadata.annotations?.["argocd.argoproj.io/tracking-id"]).toBe("team-a_shared:/ConfigMap:of-both/shared");
  });

  test("a project lets in only namespaces that it names, and default none: nothing happens, and the application says why", async () => {
    await w.git.createRepository("uninvited", { files: { "a.yaml": configMap("a", {}) } });
    await project("narrow", { ...everything, sourceNamespaces: ["team-b"] });
    await create(application("team-a", "uninvited", "uninvited", { project: "narrow" }));
    await create(application("team-a", "defaulted", "uninvited", { project: "default" }));
    for (const [name, of] of [
      ["uninvited", "narrow"],
      ["defaulted", "default"],
    ] as const) {
      const app = await w.until(name, (a) => condition(a, "NamespaceNotPermitted") !== undefined, "refused", "team-a");
      expect(condition(app, "NamespaceNotPermitted")).toMatchObject({
        type: "UnknownError",
        message: `application '${name}' in namespace 'team-a' is not permitted to use project '${of}'`,
      });
      expect(app.status?.operationState).toBeUndefined();
    }
    expect(await w.object(CONFIG_MAP, "of-team-a", "a")).toBeUndefined();
    await project("narrow", { ...everything, sourceNamespaces: ["/^team-[ab]$/"] });
    await w.until("uninvited", synced, "Synced", "team-a");
  });

  test("an application in a namespace that is not enabled is not touched at all, until it is, and left as it is afterwards", async () => {
    await w.git.createRepository("ignored", { files: { "a.yaml": configMap("ignored", {}) } });
    await project("open", { ...everything, sourceNamespaces: ["*"] });
    const finalizers = ["resources-finalizer.argocd.argoproj.io/background"];
    const given = await create(application("stranger", "ignored", "ignored", { project: "open" }, { finalizers }));
    // One that is enabled went through the same events meanwhile.
    await create(application("team-b", "watched", "ignored", { destination: { name: "in-cluster", namespace: "of-watched" } }));
    await w.until("watched", synced, "Synced", "team-b");
    expect(await read("stranger", "ignored")).toEqual(given);
    await enable("team-*, /^strang/");
    await w.until("ignored", synced, "Synced", "stranger");
    await enable("team-*");
    await create(application("team-b", "later", "ignored", { destination: { name: "in-cluster", namespace: "of-later" } }));
    await w.until("later", synced, "Synced", "team-b");
    const left = await read("stranger", "ignored");
    await w.git.commit("ignored", { "b.yaml": configMap("more", {}) }, "more");
    value(
      await w.client.mergePatch(RESOURCES.application, "stranger", "ignored", {
        metadata: { annotations: { "argocd.argoproj.io/refresh": "hard" } },
      }),
    );
    await w.refresh("later", "hard", "team-b");
    await w.until("later", (a) => synced(a) && a.status?.resources?.length === 2, "at the new commit", "team-b");
    expect((await read("stranger", "ignored")).status).toEqual(left.status);
    expect(await w.object(CONFIG_MAP, "of-stranger", "ignored")).toBeDefined();
    expect(await w.object(CONFIG_MAP, "of-stranger", "more")).toBeUndefined();
  });

  test("an application of our namespace brings applications into others", async () => {
    await w.git.createRepository("child", { files: { "a.yaml": configMap("a", { from: "child" }) } });
    const child = application("team-b", "brought", "child", { destination: { name: "in-cluster", namespace: "of-brought" } });
    await w.git.createRepository("parent", { files: { "child.yaml": JSON.stringify(child) } });
    await w.app("parent", { repo: "parent" });
    await w.until("parent", synced, "Synced");
    await w.until("brought", synced, "Synced", "team-b");
    expect((await w.object(CONFIG_MAP, "of-brought", "a"))?.data).toEqual({ from: "child" });
    expect((await read("team-b", "brought")).metadata.annotations?.["argocd.argoproj.io/tracking-id"]).toBe(
      "parent:argoproj.io/Application:team-b/brought",
    );
  });

  test("names in objects that look like another application's take nothing from anyone", async () => {
    await w.git.createRepository("honest", { files: { "a.yaml": configMap("mine", { a: "1" }) } });
    await create(application("team-b", "honest", "honest", { destination: { name: "in-cluster", namespace: "of-honest" } }));
    await w.until("honest", synced, "Synced", "team-b");
    // Each says that it belongs to another application than the one whose label it has.
    for (const [name, of] of [
      ["one", "honest"],
      ["two", "team-b"],
      ["three", "team_b_honest"],
      ["four", "team-b_honest_"],
      ["five", "_honest"],
    ] as const)
      value(
        await w.client.create(CONFIG_MAP, {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: {
            name,
            namespace: "of-honest",
            labels: { "outpost.dev/app": "team-b_honest" },
            annotations: { "argocd.argoproj.io/tracking-id": `${of}:/ConfigMap:of-honest/${name}` },
          },
        }),
      );
    await w.git.commit("honest", { "a.yaml": configMap("other", {}) }, "another");
    await w.refresh("honest", "hard", "team-b");
    await w.settled(async () => (await w.object(CONFIG_MAP, "of-honest", "mine")) === undefined, "pruned");
    for (const name of ["one", "two", "three", "four", "five"]) expect(await w.object(CONFIG_MAP, "of-honest", name)).toBeDefined();
  });

  test("rights in the named namespaces are enough, and one without rights keeps nobody else waiting", async () => {
    await w.git.createRepository("righted", { files: { "a.yaml": configMap("righted", {}) } });
    await create(application("team-b", "righted", "righted", { destination: { name: "in-cluster", namespace: "of-righted" } }));
    const may = async (kind: "Role" | "ClusterRole", at: string | undefined, rule: object) => {
      const binding = `${kind}Binding`;
      const name = `limited-${at ?? "all"}`;
      const of = (what: string, plural: string): Resource => ({ ...RBAC, kind: what, plural, namespaced: kind === "Role" });
      const apiVersion = `${RBAC.group}/${RBAC.version}`;
      value(
        await w.client.create(of(kind, `${kind.toLowerCase()}s`), { apiVersion, kind, metadata: { name, namespace: at }, rules: [rule] }),
      );
      const subjects = [{ kind: "User", name: "limited", apiGroup: RBAC.group }];
      const roleRef = { apiGroup: RBAC.group, kind, name };
      const bound = { apiVersion, kind: binding, metadata: { name, namespace: at }, roleRef, subjects };
      value(await w.client.create(of(binding, `${binding.toLowerCase()}s`), bound));
    };
    await may("Role", CONTROLLER, { apiGroups: ["*"], resources: ["*"], verbs: ["*"] });
    await may("Role", "team-b", { apiGroups: ["argoproj.io"], resources: ["applications"], verbs: ["get", "list", "watch", "patch"] });
    await may("ClusterRole", undefined, { apiGroups: [""], resources: ["configmaps", "namespaces"], verbs: ["*"] });
    await enable("team-a,team-b,no-such-namespace");
    const config = parseKubeconfig(readFileSync(w.api.kubeconfig, "utf8"));
    await w.restart({ config: { ...config, impersonate: "limited" } });
    await w.until("righted", synced, "Synced", "team-b");
    await w.restart();
  });
});

describe("hydrated applications", () => {
  test("one whose source is rendered by somebody else is synced from the branch that holds the result, and nothing is written to Git", async () => {
    await w.git.createRepository("dry", { files: { "chart/a.yaml": "not: {{ .Values }}\n" } });
    await w.git.createRepository("wet", { files: { "README.md": "rendered\n" } });
    const rendered = await w.git.commit("wet", { "env/prod/a.yaml": configMap("hydrated", { by: "ci" }) }, "render", "env");
    const sourceHydrator = {
      drySource: { repoURL: w.git.cloneUrl("dry"), path: "chart", targetRevision: "main" },
      syncSource: { repoURL: w.git.cloneUrl("wet"), targetBranch: "env", path: "env/prod" },
      hydrateTo: { targetBranch: "env-next" },
    };
    await w.app("hydrated", { source: undefined, sourceHydrator });
    const app = await w.until("hydrated", synced, "Synced");
    expect((await w.object(CONFIG_MAP, "hydrated", "hydrated"))?.data).toEqual({ by: "ci" });
    expect(app.status?.sync).toMatchObject({
      revision: rendered,
      comparedTo: { source: { repoURL: w.git.cloneUrl("wet"), path: "env/prod", targetRevision: "env" } },
    });
    expect(condition(app, "HydratedElsewhere")).toMatchObject({
      type: "HydrationExternal",
      message: expect.stringMatching(
        /nothing is written to Git .* branch env, path env\/prod, .* `outpost admin render` \(by way of branch env-next\)/,
      ),
    });
    // A new commit of the source changes nothing, one of the branch does.
    await w.git.commit("dry", { "chart/a.yaml": configMap("never", {}) }, "source");
    await w.refresh("hydrated", "hard");
    expect((await w.get("hydrated")).status?.sync?.revision).toBe(rendered);
    const next = await w.git.commit("wet", { "env/prod/a.yaml": configMap("hydrated", { by: "ci again" }) }, "render", "env");
    await w.refresh("hydrated");
    await w.until("hydrated", (a) => synced(a) && a.status?.sync?.revision === next, "at the next rendering");
    expect((await w.object(CONFIG_MAP, "hydrated", "hydrated"))?.data).toEqual({ by: "ci again" });
  });

  test("without an address of its own the branch is the source's repository, which a project must permit", async () => {
    const file = configMap("one", {});
    await w.git.createRepository("both", { files: { "a.yaml": file } });
    await w.git.commit("both", { "out/a.yaml": file }, "render", "rendered");
    const sourceHydrator = {
      drySource: { repoURL: w.git.cloneUrl("both"), path: ".", targetRevision: "main" },
      syncSource: { targetBranch: "rendered", path: "out" },
    };
    await w.app("both", { source: undefined, sourceHydrator });
    await w.until("both", synced, "Synced");
    await project("wetonly", { ...everything, sourceRepos: [w.git.cloneUrl("both")] });
    const elsewhere = { ...sourceHydrator.drySource, repoURL: w.git.cloneUrl("dry") };
    const syncSource = { ...sourceHydrator.syncSource, repoURL: w.git.cloneUrl("both") };
    await w.app("dryrefused", {
      source: undefined,
      sourceHydrator: { ...sourceHydrator, drySource: elsewhere, syncSource },
      project: "wetonly",
    });
    await w.until("dryrefused", (a) => condition(a, "SourceNotPermitted") !== undefined, "refused");
    // What is not whole is refused by the API server already.
    const { path: _, ...partial } = sourceHydrator.syncSource;
    await expect(
      w.app("partial", { source: undefined, sourceHydrator: { ...sourceHydrator, syncSource: partial as never } }),
    ).rejects.toThrow(/syncSource\.path/);
  });
});
