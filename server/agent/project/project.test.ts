import {
  accountFor,
  countsAsOrphan,
  DEFAULT_PROJECT,
  type Held,
  type Impersonation,
  type Project,
  readProject,
  refusesApplication,
  refusesObject,
  refusesSource,
} from "./project.ts";

const REPO = "https://git.example.com/team/app";
const to = { server: "https://kubernetes.default.svc", name: "in-cluster", namespace: "web" };
const team: Project = {
  name: "team",
  sourceRepos: ["https://git.example.com/team/**"],
  destinations: [{ name: "in-cluster", namespace: "web" }],
  namespaceResourceBlacklist: [{ group: "", kind: "Secret" }],
};
const held = (kind: string, more: Partial<Held> = {}): Held => ({
  group: "",
  kind,
  name: "x",
  namespace: "web",
  namespaced: true,
  ...more,
});

test.each<[string, unknown, string]>([
  ["no spec", undefined, "it has no spec"],
  ["a text for a list", { sourceRepos: "*" }, "spec.sourceRepos must be a list"],
  ["numbers for addresses", { sourceRepos: [1] }, "spec.sourceRepos has an item of another shape"],
  ["texts for destinations", { destinations: ["*"] }, "spec.destinations has an item of another shape"],
  ["a window of objects", { syncWindows: [{ applications: [{}] }] }, "spec.syncWindows has an item of another shape"],
  [
    "an ignore list of texts",
    { orphanedResources: { ignore: ["x"] } },
    "spec.orphanedResources.ignore must be a list of group, kind and name",
  ],
])("a project with %s is said to be unreadable", (_name, spec, want) => {
  expect(readProject("p", spec)).toBe(want);
});

test("a list that is null counts as one that was not given", () => {
  expect(readProject("p", { namespaceResourceWhitelist: null, sourceRepos: ["*"] })).toEqual({
    name: "p",
    sourceRepos: ["*"],
  });
});

test.each<[string, Project, string[], object, string, string | undefined]>([
  ["everything in the default one", DEFAULT_PROJECT, [REPO], {}, "", undefined],
  ["its own repository and place", team, [REPO], {}, "", undefined],
  [
    "one of several repositories of others",
    team,
    [REPO, "https://git.example.com/other"],
    {},
    "",
    "SourceNotPermitted",
  ],
  ["another namespace", team, [REPO], { namespace: "other" }, "", "DestinationNotPermitted"],
  ["another cluster", team, [REPO], { name: "far", server: "https://far" }, "", "DestinationNotPermitted"],
  [
    "a cluster of everybody",
    { ...team, permitOnlyProjectScopedClusters: true },
    [REPO],
    {},
    "",
    "DestinationNotPermitted",
  ],
  ["a cluster of its own", { ...team, permitOnlyProjectScopedClusters: true }, [REPO], {}, "team", undefined],
])("an application with %s", (_name, project, urls, place, clusterProject, want) => {
  expect(refusesApplication(project, urls, { ...to, ...place }, clusterProject)?.reason).toBe(want);
});

test.each<[string, Held, string | undefined]>([
  ["a ConfigMap", held("ConfigMap"), undefined],
  ["a Secret", held("Secret"), "resource :Secret is not permitted in project team"],
  [
    "a ConfigMap elsewhere",
    held("ConfigMap", { namespace: "kube-system" }),
    "namespace kube-system is not permitted in project 'team'",
  ],
  [
    "a Namespace",
    held("Namespace", { namespaced: false, namespace: "" }),
    "resource :Namespace is not permitted in project team",
  ],
])("of %s the project says", (_name, object, want) => {
  expect(refusesObject(team, to, object)).toBe(want);
});

const account = (namespace: string, defaultServiceAccount: string) => ({
  server: "https://kube*",
  namespace,
  defaultServiceAccount,
});
test.each<[string, Project["destinationServiceAccounts"], object]>([
  [
    "the first that fits",
    [account("other", "a"), account("w*", "b"), account("*", "c")],
    { user: "system:serviceaccount:web:b" },
  ],
  ["one of another namespace", [account("*", "ops:deployer")], { user: "system:serviceaccount:ops:deployer" }],
  ["none that fits", [account("other", "a")], { problem: expect.stringMatching(/no matching service account/) }],
  ["a pattern for a name", [account("*", "a*")], { problem: expect.stringMatching(/not a name of a service account/) }],
  ["an empty name", [account("*", " ")], { problem: expect.stringMatching(/not a name of a service account/) }],
])("account: %s", (_name, destinationServiceAccounts, want) => {
  const asked = { impersonation: "where named", tenant: undefined } as const;
  expect(accountFor({ name: "p", destinationServiceAccounts }, to, asked)).toEqual(want);
});

// Only the agent's own scope may write as the controller; a tenant needs an account whatever the setting says.
const deployer = { user: "system:serviceaccount:web:deployer" };
const refused = {
  problem: expect.stringMatching(
    /no matching service account found for .*: add one to destinationServiceAccounts of project 'p'/,
  ),
};
test.each<[Impersonation, string | undefined, "no account" | "another account" | "an account", object]>([
  ["where named", undefined, "no account", { user: "" }],
  ["where named", undefined, "another account", refused],
  ["where named", undefined, "an account", deployer],
  ["always", undefined, "no account", refused],
  ["always", undefined, "another account", refused],
  ["always", undefined, "an account", deployer],
  ["off", undefined, "no account", { user: "" }],
  ["off", undefined, "another account", { user: "" }],
  ["off", undefined, "an account", { user: "" }],
  ["where named", "acme/-", "no account", refused],
  ["where named", "acme/-", "another account", refused],
  ["where named", "acme/-", "an account", deployer],
  ["always", "acme/-", "no account", refused],
  ["off", "acme/-", "no account", refused],
  ["off", "acme/-", "another account", refused],
  ["off", "acme/-", "an account", deployer],
])("impersonation %s, tenant %s, a project with %s", (impersonation, tenant, which, want) => {
  const accounts = {
    "no account": [],
    "another account": [account("other", "a")],
    "an account": [account("w*", "deployer")],
  };
  expect(accountFor({ name: "p", destinationServiceAccounts: accounts[which] }, to, { impersonation, tenant })).toEqual(
    want,
  );
});

describe("a project with a limit", () => {
  const wide: Project = {
    name: "wide",
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "*" }],
    clusterResourceWhitelist: [{ group: "*", kind: "*" }],
    destinationServiceAccounts: [account("*", "kube-system:admin")],
  };
  const limited: Project = { ...wide, limit: { ...team, destinationServiceAccounts: [account("w*", "deployer")] } };

  test("permits what both permit, and says which one refuses", () => {
    expect(refusesApplication(limited, [REPO], to, "")).toBeUndefined();
    expect(refusesApplication(limited, ["https://elsewhere.example/x"], to, "")?.message).toMatch(/project 'team'/);
    expect(refusesSource(limited, "https://elsewhere.example/x")?.reason).toBe("SourceNotPermitted");
    expect(refusesApplication(limited, [], { ...to, namespace: "kube-system" }, "")?.message).toMatch(/project 'team'/);
    expect(refusesObject(limited, to, held("ConfigMap"))).toBeUndefined();
    expect(refusesObject(limited, to, held("Secret"))).toMatch(/project team/);
    expect(refusesObject(limited, to, held("Namespace", { namespaced: false, namespace: "" }))).toMatch(/project team/);
  });

  test("takes a cluster that is kept for it only where its limit may use that cluster too", () => {
    const only = { ...limited, limit: { ...wide, name: "outer", permitOnlyProjectScopedClusters: true } };
    expect(refusesApplication(only, [], to, "wide")?.message).toMatch(/project 'outer'/);
    expect(refusesApplication(only, [], to, "outer")).toBeUndefined();
  });

  test("writes as the account that the limit names, never as one of its own", () => {
    const asked = { impersonation: "where named", tenant: "acme/-" } as const;
    expect(accountFor(limited, to, asked)).toEqual(deployer);
    expect(accountFor({ ...limited, limit: { ...wide, destinationServiceAccounts: [] } }, to, asked)).toHaveProperty(
      "problem",
    );
  });

  test("a stored project cannot bring a limit or marks of its own", () => {
    expect(readProject("p", { limit: wide, sharing: { foreign: false } })).toEqual({ name: "p" });
  });
});

test.each<[string, Held, boolean]>([
  ["a ConfigMap of nobody", held("ConfigMap"), true],
  ["a kind the project does not permit", held("Secret"), false],
  ["an ignored one", held("ConfigMap", { name: "cache-1" }), false],
  ["the default account", held("ServiceAccount", { name: "default" }), false],
  ["the cluster's certificate", held("ConfigMap", { name: "kube-root-ca.crt" }), false],
])("as an orphan counts: %s", (_name, object, want) => {
  const project = { ...team, orphanedResources: { ignore: [{ kind: "ConfigMap", name: "cache-*" }] } };
  expect(countsAsOrphan(project, to, object)).toBe(want);
});
