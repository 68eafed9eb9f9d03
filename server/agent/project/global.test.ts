import { inherit } from "./global.ts";
import { DEFAULT_PROJECT, type Project, refusesApplication, refusesObject } from "./project.ts";

const to = { server: "https://kubernetes.default.svc", name: "in-cluster", namespace: "web" };
const held = (kind: string, namespaced = true) => ({
  group: "",
  kind,
  name: "x",
  namespace: namespaced ? "web" : "",
  namespaced,
});
const team: Project = {
  name: "team",
  sourceRepos: ["https://git.example/team"],
  destinations: [{ name: "in-cluster", namespace: "web" }],
};

test("a project has what its global project permits, and keeps its own name", () => {
  const both = inherit(team, {
    name: "global",
    sourceRepos: ["https://git.example/shared"],
    clusterResourceWhitelist: [{ kind: "Namespace" }],
  });
  expect(both.name).toBe("team");
  for (const url of ["https://git.example/team", "https://git.example/shared"])
    expect(refusesApplication(both, [url], to, "")).toBeUndefined();
  expect(refusesObject(both, to, held("Namespace", false))).toBeUndefined();
  expect(refusesObject(team, to, held("Namespace", false))).toMatch(/is not permitted in project team/);
});

test("what a global project denies, nobody has who inherits from it", () => {
  const global: Project = {
    name: "global",
    sourceRepos: ["!https://git.example/team"],
    destinations: [{ server: "*", namespace: "!web" }],
    namespaceResourceBlacklist: [{ group: "", kind: "Secret" }],
  };
  expect(refusesObject(inherit(team, { ...global, destinations: [] }), to, held("Secret"))).toMatch(
    /:Secret is not permitted in project team/,
  );
  expect(refusesApplication(inherit(team, global), ["https://git.example/team"], to, "")).toMatchObject({
    reason: "SourceNotPermitted",
  });
  expect(
    refusesApplication(inherit(DEFAULT_PROJECT, { ...global, sourceRepos: [] }), ["https://a.example"], to, ""),
  ).toMatchObject({
    reason: "DestinationNotPermitted",
  });
});

test("a global project's list of permitted kinds restricts a project that had none, an empty one says nothing", () => {
  const listed = inherit(team, { name: "global", namespaceResourceWhitelist: [{ group: "", kind: "ConfigMap" }] });
  expect(refusesObject(listed, to, held("ConfigMap"))).toBeUndefined();
  expect(refusesObject(listed, to, held("Service"))).toBeDefined();
  expect(
    refusesObject(inherit(team, { name: "global", namespaceResourceWhitelist: [] }), to, held("Service")),
  ).toBeUndefined();
});

test("accounts, orphans and who may sign are a project's own", () => {
  const global: Project = {
    name: "global",
    orphanedResources: { warn: true },
    permitOnlyProjectScopedClusters: true,
    destinationServiceAccounts: [{ server: "*", defaultServiceAccount: "a" }],
    signatureKeys: [{ keyID: "4AEE18F83AFDEB23" }],
  } as Project;
  expect(inherit(team, global)).toEqual(team);
});
