import { RESOURCES } from "../../server/kube/path.ts";
import {
  CONFIG_MAP,
  condition,
  configMap,
  project,
  settings,
  synced,
  value,
  type World,
  world,
} from "./engine-world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
}, 180_000);
afterAll(() => w?.stop(), 60_000);

const all = { server: "*", namespace: "*" };
const everything = { sourceRepos: ["*"], destinations: [all], clusterResourceWhitelist: [{ group: "*", kind: "*" }] };
const once = { automated: { prune: true, selfHeal: true }, retry: { limit: 0 }, syncOptions: ["CreateNamespace=true"] };

/** Its project does not permit one of its objects. */
const outside = (app: Parameters<typeof synced>[0]) =>
  app.status?.conditions?.some(({ type }) => type === "ExcludedResourceWarning") === true;

describe("global projects", () => {
  const globalProjects = JSON.stringify([
    {
      projectName: "platform",
      labelSelector: { matchExpressions: [{ key: "tier", operator: "In", values: ["team"] }] },
    },
  ]);

  test("what a global project denies holds for the projects with its labels, and a change of it, of their labels and of the settings is seen", async () => {
    await w.git.createRepository("inherited", { files: { "a.yaml": configMap("a", { a: "1" }) } });
    await project(w, "platform", { namespaceResourceBlacklist: [{ group: "", kind: "ConfigMap" }] });
    await project(w, "blue", everything, { tier: "team" });
    await project(w, "green", everything);
    await settings(w, "argocd-cm", { globalProjects });
    await w.app("green", { repo: "inherited", project: "green" });
    await w.app("blue", { repo: "inherited", project: "blue", syncPolicy: once });
    await w.until("green", synced, "Synced");
    const refused = await w.until("blue", (a) => a.status?.operationState?.phase === "Failed", "Failed");
    expect(refused.status?.operationState?.syncResult?.resources).toMatchObject([
      { kind: "ConfigMap", status: "SyncFailed", message: "resource :ConfigMap is not permitted in project blue" },
    ]);
    // The global one permits it now.
    await project(w, "platform", { namespaceResourceBlacklist: [] });
    const sync = { initiatedBy: { username: "test" }, sync: {} };
    await w.until("blue", (a) => !outside(a), "permitted");
    value(await w.client.mergePatch(RESOURCES.application, w.namespace, "blue", { operation: sync }));
    await w.until("blue", synced, "Synced");
    // It denies again, and then it no longer belongs to this project.
    await project(w, "platform", { namespaceResourceBlacklist: [{ group: "", kind: "ConfigMap" }] });
    await w.until("blue", outside, "refused");
    await project(w, "blue", everything, { tier: "other" });
    await w.until("blue", (a) => !outside(a) && a.status?.sync?.status === "Synced", "permitted again");
    await project(w, "blue", everything, { tier: "team" });
    await w.until("blue", outside, "refused again");
    await settings(w, "argocd-cm", {});
    await w.until("blue", (a) => !outside(a) && a.status?.sync?.status === "Synced", "permitted without the setting");
  });

  test("what a global project permits need not be in a project of its own", async () => {
    await w.git.createRepository("lent", { files: { "a.yaml": configMap("a", { a: "1" }) } });
    await project(w, "lender", everything);
    await project(w, "borrower", {}, { borrows: "yes" });
    await w.app("borrower", { repo: "lent", project: "borrower" });
    await w.until("borrower", (a) => condition(a, "SourceNotPermitted") !== undefined, "refused");
    await settings(w, "argocd-cm", {
      globalProjects:
        "- projectName: lender\n  labelSelector:\n    matchLabels: {borrows: 'yes'}\n- projectName: nobody\n  labelSelector: {}\n",
    });
    await w.until("borrower", synced, "Synced");
    // What cannot be read is not inherited: it may have been a denial.
    await project(w, "lender", { ...everything, destinations: "everywhere" });
    const app = await w.until("borrower", (a) => condition(a, "ProjectInvalid") !== undefined, "refused");
    expect(condition(app, "ProjectInvalid")?.message).toMatch(
      /its global project lender cannot be read: spec\.destinations must be a list/,
    );
    await settings(w, "argocd-cm", {
      globalProjects: "- projectName: lender\n  labelSelector: {matchExpressions: [{key: a, operator: Like}]}\n",
    });
    const said = await w.until("green", (a) => condition(a, "SettingsInvalid") !== undefined, "told of the setting");
    expect(condition(said, "SettingsInvalid")?.message).toMatch(
      /globalProjects\[0\] is left out: "Like" is not a valid label selector/,
    );
    await settings(w, "argocd-cm", {});
  });
});

describe("hydrated applications", () => {
  test("one whose source is rendered by somebody else is synced from the branch that holds the result, and nothing is written to Git", async () => {
    await w.git.createRepository("dry", { files: { "chart/a.yaml": "not: {{ .Values }}\n" } });
    await w.git.createRepository("wet", { files: { "README.md": "rendered\n" } });
    const rendered = await w.git.commit(
      "wet",
      { "env/prod/a.yaml": configMap("hydrated", { by: "ci" }) },
      "render",
      "env",
    );
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
    const next = await w.git.commit(
      "wet",
      { "env/prod/a.yaml": configMap("hydrated", { by: "ci again" }) },
      "render",
      "env",
    );
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
    await project(w, "wetonly", { ...everything, sourceRepos: [w.git.cloneUrl("both")] });
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
