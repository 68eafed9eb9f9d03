import { type DiscoveredReport, digestOf, idsFor, mappingFor, shownOf } from "./discover.ts";
import { type DiscoveredCollection, nouns } from "./nouns.ts";

const HOME = "outpost-agent";
const key = (name: string, namespace = HOME, collection: DiscoveredReport["collection"] = "applications") => ({
  collection,
  namespace,
  name,
});

test.each<[string, Parameters<typeof idsFor>[0], RegExp]>([
  ["a name that can be an id is one", key("web"), /^web$/],
  ["another namespace gets a tail", key("web", "team"), /^web-[0-9a-f]{10}$/],
  ["dots and capitals are replaced", key("Web.Shop"), /^web-shop-[0-9a-f]{10}$/],
  ["a long name is cut", key("a".repeat(253)), /^a{52}-[0-9a-f]{10}$/],
  ["a cut never ends in a hyphen", key(`${"a".repeat(51)}--${"b".repeat(100)}`), /^a{51}-[0-9a-f]{10}$/],
  ["a name without letters is its digest", key("..."), /^[0-9a-f]{10}$/],
  ["the agent's own cluster has a reserved name", key("in-cluster", HOME, "clusters"), /^in-cluster-[0-9a-f]{10}$/],
])("%s", (_, report, want) => {
  const ids = idsFor(report, "agent-1", HOME);
  expect(ids[0]).toMatch(want);
  for (const id of ids) expect(id).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
  expect(new Set(ids).size).toBe(ids.length);
});

test("equal names of two agents and of two namespaces have different tails", () => {
  const tails = [
    idsFor(key("web", "a"), "one", HOME),
    idsFor(key("web", "b"), "one", HOME),
    idsFor(key("web", "a"), "two", HOME),
  ].map(([id]) => id);
  expect(new Set(tails).size).toBe(3);
});

const mapping = (id: string, argoProject: string) => ({ id, argoProject, org: "o", project: "" });
test.each<[string, string | undefined, string[], string | undefined]>([
  ["an exact name comes before globs", "shop-web", ["*", "shop-*", "shop-web"], "shop-web"],
  ["the glob with more characters comes first", "shop-web", ["*", "s*", "shop-*"], "shop-*"],
  ["a question mark is one character", "shop1", ["shop?", "shop"], "shop?"],
  ["nothing fits", "bank", ["shop-*"], undefined],
  ["no project, no mapping", undefined, ["*"], undefined],
])("%s", (_, project, globs, want) => {
  expect(
    mappingFor(
      globs.map((glob, i) => mapping(`m${i}`, glob)),
      project,
    )?.argoProject,
  ).toBe(want);
});

test("two mappings of the same weight are decided by their ids", () => {
  expect(mappingFor([mapping("b", "a*"), mapping("a", "a*")], "ab")?.id).toBe("a");
});

const agent = { account: "x", org: "", project: "", id: "prod" };
test("an object names its agent as its own scope must", () => {
  const report = { ...key("web"), uid: "k" };
  const at = (org: string, project: string, of = agent) =>
    shownOf(report, of, { account: "x", org, project })?.spec.agent;
  expect([at("", ""), at("o", ""), at("o", "p")]).toEqual(["prod", "account.prod", "account.prod"]);
  expect(at("o", "p", { ...agent, org: "o" })).toBe("org.prod");
});

test("a status that is too large is kept without its lists, a specification that is too large is named as not expressible", () => {
  const resources = Array.from({ length: 5_000 }, (_, i) => ({
    version: "v1",
    kind: "ConfigMap",
    name: `${"n".repeat(240)}${i}`,
  }));
  const report: DiscoveredReport = {
    ...key("web"),
    uid: "k",
    status: { sync: { status: "Synced" }, resources },
    spec: { source: { repoUrl: "https://git.example/a.git", helm: { values: "x".repeat(300_000) } } },
  };
  const { status, spec, found } = shownOf(report, agent, agent)!;
  expect(status).toEqual({ sync: { status: "Synced" } });
  expect(spec.source).toBeUndefined();
  expect(found.inexpressible).toEqual(["spec.source"]);
});

const sound: Record<DiscoveredCollection, Record<string, unknown>> = {
  applications: { destination: { namespace: "web" }, source: { repoUrl: "https://git.example/a.git", path: "." } },
  applicationsets: { generators: [{ list: { elements: [] } }], template: { metadata: { name: "a" } } },
  appprojects: { sourceRepos: ["*"] },
  clusters: { server: "https://10.0.0.1" },
  repositories: { url: "https://git.example/a.git" },
};
const odd = [undefined, null, 0, "", " ", "x", [], {}, [null], [{}], { a: 1 }, Array.from({ length: 100 }, () => ({}))];
test.each(Object.keys(sound) as DiscoveredCollection[])(
  "whatever an agent reports of %s, only what fits the contract is shown",
  (collection) => {
    expect(
      shownOf({ ...key("a", HOME, collection), uid: "k", spec: sound[collection] }, agent, agent)?.ignored,
    ).toEqual([]);
    for (const field of [
      ...Object.keys(sound[collection]),
      "agent",
      "syncPolicy",
      "roles",
      "namespaces",
      "labels",
      "type",
      "notOfTheContract",
    ])
      for (const value of odd) {
        const spec = { ...sound[collection], [field]: value };
        const shown = shownOf({ ...key("a", HOME, collection), uid: "k", spec }, agent, agent);
        const fits = shown === undefined || nouns[collection].validateSpec(shown.spec);
        expect({ field, value, fits }).toEqual({ field, value, fits: true });
      }
  },
);

test.each<[string, DiscoveredReport["spec"], string[]]>([
  ["no generators", { template: {} }, ["spec.generators"]],
  ["an empty list of generators", { generators: [], template: {} }, ["spec.generators"]],
  [
    "more generators than the contract takes",
    { generators: Array.from({ length: 33 }, () => ({ list: {} })), template: {} },
    ["spec.generators"],
  ],
])("a set with %s is shown without them, and says so", (_, spec, want) => {
  const shown = shownOf({ ...key("a", HOME, "applicationsets"), uid: "k", spec }, agent, agent);
  expect([shown?.spec.generators, shown?.found.inexpressible]).toEqual([[{ list: { elements: [] } }], want]);
});

test.each<[DiscoveredCollection, Record<string, unknown>]>([
  ["clusters", {}],
  ["clusters", { server: "http://10.0.0.1" }],
  ["repositories", {}],
  ["repositories", { url: 7 }],
])("of %s with the specification %j nothing can be shown", (collection, spec) => {
  expect(shownOf({ ...key("a", HOME, collection), uid: "k", spec }, agent, agent)).toBeUndefined();
});

test("the digest of a report does not depend on its round or on its mark", () => {
  const report = { ...key("web"), uid: "k" };
  expect(digestOf({ ...report, round: 4, mark: "m" })).toBe(digestOf(report));
  expect(digestOf({ ...report, uid: "l" })).not.toBe(digestOf(report));
});
