import { readFileSync } from "node:fs";
import { SetController } from "../../server/agent/appset/controller.ts";
import { APPLICATION_SET } from "../../server/agent/appset/reconcile/reconcile.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
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

const RBAC = { group: "rbac.authorization.k8s.io", version: "v1" };
let w: World;
beforeAll(async () => {
  w = await world();
}, 180_000);
afterAll(() => w?.stop(), 60_000);

const all = { server: "*", namespace: "*" };
const everything = { sourceRepos: ["*"], destinations: [all], clusterResourceWhitelist: [{ group: "*", kind: "*" }] };

describe("applications in other namespaces", () => {
  const application = (
    namespace: string,
    name: string,
    repository: string,
    spec: object = {},
    metadata: object = {},
  ): KubeObject => ({
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
  const enable = (namespaces: string) => settings(w, "argocd-cmd-params-cm", { "application.namespaces": namespaces });
  const CONTROLLER = "outpost-agent";

  beforeAll(async () => {
    for (const name of ["team-a", "team-b", "stranger"]) await namespace(name);
    await project(w, "tenants", { ...everything, sourceNamespaces: ["team-*"] });
  }, 60_000);

  test("one of the same name in two namespaces is two applications: each has its own objects, status, refresh and end", async () => {
    await w.git.createRepository("same", { files: { "a.yaml": configMap("a", { a: "1" }) } });
    await w.app("same", { repo: "same", destination: { name: "in-cluster", namespace: "of-home" } });
    await create(
      application("team-a", "same", "same", {}, { finalizers: ["resources-finalizer.argocd.argoproj.io/background"] }),
    );
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
    expect(condition(second, "SharedResource")?.message).toContain(
      "is part of applications team-b_shared and team-a_shared",
    );
    const object = await w.object(CONFIG_MAP, "of-both", "shared");
    expect(object?.metadata.annotations?.["argocd.argoproj.io/tracking-id"]).toBe(
      "team-a_shared:/ConfigMap:of-both/shared",
    );
  });

  test("a project lets in only namespaces that it names, and default none: nothing happens, and the application says why", async () => {
    await w.git.createRepository("uninvited", { files: { "a.yaml": configMap("a", {}) } });
    await project(w, "narrow", { ...everything, sourceNamespaces: ["team-b"] });
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
    await project(w, "narrow", { ...everything, sourceNamespaces: ["/^team-[ab]$/"] });
    await w.until("uninvited", synced, "Synced", "team-a");
  });

  test("an application in a namespace that is not enabled is not touched at all, until it is, and left as it is afterwards", async () => {
    await w.git.createRepository("ignored", { files: { "a.yaml": configMap("ignored", {}) } });
    await project(w, "open", { ...everything, sourceNamespaces: ["*"] });
    const finalizers = ["resources-finalizer.argocd.argoproj.io/background"];
    const given = await create(application("stranger", "ignored", "ignored", { project: "open" }, { finalizers }));
    // One that is enabled went through the same events meanwhile.
    await create(
      application("team-b", "watched", "ignored", { destination: { name: "in-cluster", namespace: "of-watched" } }),
    );
    await w.until("watched", synced, "Synced", "team-b");
    expect(await read("stranger", "ignored")).toEqual(given);
    await enable("team-*, /^strang/");
    await w.until("ignored", synced, "Synced", "stranger");
    await enable("team-*");
    await create(
      application("team-b", "later", "ignored", { destination: { name: "in-cluster", namespace: "of-later" } }),
    );
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
    const child = application("team-b", "brought", "child", {
      destination: { name: "in-cluster", namespace: "of-brought" },
    });
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
    await create(
      application("team-b", "honest", "honest", { destination: { name: "in-cluster", namespace: "of-honest" } }),
    );
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
    for (const name of ["one", "two", "three", "four", "five"])
      expect(await w.object(CONFIG_MAP, "of-honest", name)).toBeDefined();
  });

  test("rights in the named namespaces are enough, and one without rights keeps nobody else waiting", async () => {
    await w.git.createRepository("righted", { files: { "a.yaml": configMap("righted", {}) } });
    await create(
      application("team-b", "righted", "righted", { destination: { name: "in-cluster", namespace: "of-righted" } }),
    );
    const may = async (kind: "Role" | "ClusterRole", at: string | undefined, rule: object) => {
      const binding = `${kind}Binding`;
      const name = `limited-${at ?? "all"}`;
      const of = (what: string, plural: string): Resource => ({
        ...RBAC,
        kind: what,
        plural,
        namespaced: kind === "Role",
      });
      const apiVersion = `${RBAC.group}/${RBAC.version}`;
      value(
        await w.client.create(of(kind, `${kind.toLowerCase()}s`), {
          apiVersion,
          kind,
          metadata: { name, namespace: at },
          rules: [rule],
        }),
      );
      const subjects = [{ kind: "User", name: "limited", apiGroup: RBAC.group }];
      const roleRef = { apiGroup: RBAC.group, kind, name };
      const bound = { apiVersion, kind: binding, metadata: { name, namespace: at }, roleRef, subjects };
      value(await w.client.create(of(binding, `${binding.toLowerCase()}s`), bound));
    };
    await may("Role", CONTROLLER, { apiGroups: ["*"], resources: ["*"], verbs: ["*"] });
    await may("Role", "team-b", {
      apiGroups: ["argoproj.io"],
      resources: ["applications"],
      verbs: ["get", "list", "watch", "patch"],
    });
    await may("ClusterRole", undefined, { apiGroups: [""], resources: ["configmaps", "namespaces"], verbs: ["*"] });
    await enable("team-a,team-b,no-such-namespace");
    const config = parseKubeconfig(readFileSync(w.api.kubeconfig, "utf8"));
    await w.restart({ config: { ...config, impersonate: "limited" } });
    await w.until("righted", synced, "Synced", "team-b");
    await w.restart();
  });
});

describe("application sets in other namespaces", () => {
  let sets: SetController;
  const log = { warn: () => {}, error: () => {} };
  const start = async (hosts?: string[]) => {
    const { home, repo, repositories } = w.controller.deps;
    sets = new SetController({
      home,
      namespace: w.namespace,
      namespaces: w.controller.setNamespaces,
      repo,
      access: (url) => repositories.find(url),
      applications: (on) => w.controller.follow(on),
      allowedProviders: hosts,
      log,
    });
    w.controller.onSetNamespaces = (now) => void sets.replaceNamespaces(now);
    await sets.start();
  };
  const enable = (namespaces: string) =>
    settings(w, "argocd-cmd-params-cm", {
      "application.namespaces": namespaces,
      "applicationsetcontroller.namespaces": namespaces,
    });
  const make = async (namespace: string, names: string[], more: object = {}) => {
    const metadata = { name: "fleet", namespace };
    const of = { name: "{{.name}}", labels: { from: namespace } };
    const spec = {
      goTemplate: true,
      generators: [{ list: { elements: names.map((name) => ({ name })) } }],
      template: {
        metadata: of,
        spec: {
          project: namespace === w.namespace ? "default" : "tenants",
          source: { repoURL: w.git.cloneUrl("fleet"), path: ".", targetRevision: "main" },
          destination: { name: "in-cluster", namespace: `{{.name}}-${namespace}` },
          syncPolicy: {
            automated: { prune: true },
            syncOptions: ["CreateNamespace=true", "PrunePropagationPolicy=background"],
          },
        },
      },
      // No controller-manager runs, so a deletion in the foreground would not end.
      syncPolicy: { preserveResourcesOnDeletion: true },
      ...more,
    };
    const set = { apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", metadata, spec };
    const there = await w.object(APPLICATION_SET, namespace, "fleet");
    const patch = () => w.client.mergePatch(APPLICATION_SET, namespace, "fleet", { spec });
    return value(there ? await patch() : await w.client.create(APPLICATION_SET, set));
  };
  const has = (namespace: string, name: string) => w.object(RESOURCES.application, namespace, name);

  beforeAll(async () => {
    await w.git.createRepository("fleet", { files: { "a.yaml": configMap("a", {}) } });
    await start();
  }, 60_000);
  afterAll(() => sets?.stop(), 30_000);

  test("sets of one name in two namespaces make applications of one name, each in its own namespace, and take only their own away", async () => {
    await make(w.namespace, ["one", "two"]);
    await make("team-a", ["one", "two"]);
    await w.settled(async () => (await has(w.namespace, "two")) !== undefined, "made at home");
    // Not enabled yet: it is not looked at.
    expect((await w.object(APPLICATION_SET, "team-a", "fleet"))?.status).toBeUndefined();
    await enable("team-*");
    for (const name of ["one", "two"]) {
      await w.settled(async () => (await has("team-a", name)) !== undefined, "made in team-a");
      await w.until(name, synced, "Synced", "team-a");
    }
    expect((await has("team-a", "one"))?.metadata.labels).toEqual({ from: "team-a" });
    expect((await has(w.namespace, "one"))?.metadata.labels).toEqual({ from: w.namespace });
    await make("team-a", ["one"]);
    await w.settled(async () => (await has("team-a", "two")) === undefined, "taken away in team-a");
    expect(await has(w.namespace, "two")).toBeDefined();
    const status = (await w.object(APPLICATION_SET, w.namespace, "fleet"))?.status;
    expect(status.resources.map((one: { name: string }) => one.name)).toEqual(["one", "two"]);
  });

  test("a set in another namespace cannot use the Secrets of the agent's", async () => {
    const data = { token: Buffer.from("not for a team").toString("base64") };
    value(
      await w.client.create(RESOURCES.secret, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "token", namespace: w.namespace },
        data,
      }),
    );
    const api = "http://127.0.0.1:1";
    const scmProvider = { gitea: { owner: "o", api, tokenRef: { secretName: "token", key: "token" } } };
    await make("team-a", [], { generators: [{ scmProvider }] });
    const said = async () =>
      JSON.stringify((await w.object(APPLICATION_SET, "team-a", "fleet"))?.status?.conditions ?? []);
    // Hosts are the operator's to name, where it is others who make sets.
    await w.settled(
      async () => (await said()).includes("not among OUTPOST_SCM_PROVIDERS"),
      "told that the host is not named",
    );
    await sets.stop();
    await start([api]);
    await w.settled(
      async () => (await said()).includes("there is no Secret token in namespace team-a"),
      "told that there is none",
    );
    // Not to be read is no reason to take anything away.
    expect(await has("team-a", "one")).toBeDefined();
  });
});
