import { done } from "../../base/outcome.ts";
import type { KubeObject } from "../../kube/object.ts";
import { ALLOWED_SCOPES, MANAGED, TENANT, WITHIN } from "../project/tenant.ts";
import type { Application } from "./application.ts";
import { PROJECT_REFUSED, Projects, place } from "./projects.ts";

interface Marks {
  owner?: string;
  allowed?: string;
  within?: string;
  foreign?: boolean;
}

const stored = (
  name: string,
  { owner, allowed, within, foreign }: Marks = {},
  spec: object = { sourceRepos: ["*"] },
): KubeObject => {
  const marks = { [TENANT]: owner, [ALLOWED_SCOPES]: allowed, [WITHIN]: within };
  const annotations = Object.fromEntries(
    Object.entries(marks).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  const labels: Record<string, string> = foreign ? {} : { [MANAGED]: "true" };
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "AppProject",
    metadata: { name, annotations, labels },
    spec: { ...spec },
  };
};
const app = (project: string, tenant?: string) =>
  ({
    metadata: { name: "a", ...(tenant ? { annotations: { [TENANT]: tenant } } : {}) },
    spec: { project },
  }) as unknown as Application;
const known = (...objects: KubeObject[]): Projects => {
  const projects = new Projects();
  projects.replace(objects);
  return projects;
};
/** The names of the project and of what limits it, or the reason of the refusal. */
const judged = (projects: Projects, one: Application): string => {
  const found = projects.of(one);
  if (found.kind !== "done") return found.reason;
  const { name, limit } = found.value;
  return [name, limit?.name, limit?.limit?.name].filter(Boolean).join(" in ");
};

const platform = stored("platform", { allowed: "acme" });
const more = stored("more", { allowed: "acme" });
const own = (marks: Marks = {}) => stored("own", { owner: "acme/-", ...marks });
const ofB = stored("own", { owner: "b/-" });
const circle = [stored("a", { owner: "acme/-", within: "b" }), stored("b", { owner: "acme/-", within: "a" })];
const inShop = stored("own", { owner: "acme/shop", within: "org" });
test.each<[string, KubeObject[], Application, string]>([
  ["the agent's own scope may use any", [stored("any", { allowed: "" })], app("any"), "any"],
  ["the agent's own scope may use default without an object", [], app(""), "default"],
  ["a tenant may not use default without an object", [], app("default", "acme/-"), PROJECT_REFUSED],
  ["leaving the project out is default", [], app("", "acme/-"), PROJECT_REFUSED],
  [
    "a default that Argo CD stored serves no tenant",
    [stored("default", { foreign: true })],
    app("", "acme/-"),
    PROJECT_REFUSED,
  ],
  ["a default that the service delivered does", [stored("default")], app("", "acme/-"), "default"],
  ["a project of the agent's scope that lists the tenant", [platform], app("platform", "acme/shop"), "platform"],
  ["a project of the agent's scope that lists another", [platform], app("platform", "other/-"), PROJECT_REFUSED],
  [
    "another tenant's project",
    [platform, stored("theirs", { owner: "other/-" })],
    app("theirs", "acme/-"),
    PROJECT_REFUSED,
  ],
  ["its own project is limited", [platform, own()], app("own", "acme/-"), "own in platform"],
  ["its organisation's project is limited", [platform, own()], app("own", "acme/shop"), "own in platform"],
  ["its own project permits nothing without a limit", [own()], app("own", "acme/-"), PROJECT_REFUSED],
  ["a limit that serves another does not count", [platform, ofB], app("own", "b/-"), PROJECT_REFUSED],
  [
    "one that the service did not make does not count",
    [stored("x", { foreign: true }), ofB],
    app("own", "b/-"),
    PROJECT_REFUSED,
  ],
  ["of two limits none is chosen by its name", [platform, more, own()], app("own", "acme/-"), PROJECT_REFUSED],
  [
    "of two limits the named one counts",
    [platform, more, own({ within: "more" })],
    app("own", "acme/-"),
    "own in more",
  ],
  [
    "a limit in between is limited too",
    [platform, stored("org", { owner: "acme/-" }), inShop],
    app("own", "acme/shop"),
    "own in org in platform",
  ],
  ["a limit of the same scope is none", [platform, own({ within: "own" })], app("own", "acme/-"), PROJECT_REFUSED],
  ["a circle is none", [platform, ...circle], app("a", "acme/-"), PROJECT_REFUSED],
  [
    "a limit that does not serve the tenant is none",
    [platform, stored("closed", { allowed: "" }), own({ within: "closed" })],
    app("own", "acme/-"),
    PROJECT_REFUSED,
  ],
  ["a limit that is gone is none", [platform, own({ within: "gone" })], app("own", "acme/-"), "ProjectNotFound"],
  [
    "an application without a mark under a tenant's project is limited too",
    [platform, own()],
    app("own"),
    "own in platform",
  ],
  ["and permitted nothing without a limit", [own()], app("own"), PROJECT_REFUSED],
])("%s", (_, objects, one, want) => {
  expect(judged(known(...objects), one)).toBe(want);
});

test("a project that loses a scope, and what limits a tenant's project, are seen as changes of all that depends on them", () => {
  const projects = known(platform, own());
  expect(judged(projects, app("own", "acme/-"))).toBe("own in platform");
  const closed = [stored("platform", { allowed: "" }), own()];
  expect([...(projects.replace(closed) as Set<string>)].sort()).toEqual(["own", "platform"]);
  expect(judged(projects, app("own", "acme/-"))).toBe(PROJECT_REFUSED);
  expect(judged(projects, app("platform", "acme/-"))).toBe(PROJECT_REFUSED);
  expect(projects.replace(closed)).toEqual(new Set());
});

test("a pair that has not changed stays the same object, so that what was found out for it holds", () => {
  const projects = known(platform, own());
  const [first, second] = [projects.of(app("own", "acme/-")), projects.of(app("own", "acme/-"))];
  expect(first.kind === "done" && second.kind === "done" && first.value === second.value).toBe(true);
});

test("labels that a tenant gives its project bring it no more than its limit has", () => {
  const projects = new Projects();
  projects.inherit([{ projectName: "global", covers: (labels) => labels.wide === "yes" }]);
  const mine = own();
  mine.metadata.labels = { ...mine.metadata.labels, wide: "yes" };
  projects.replace([
    stored("platform", { allowed: "acme" }, { sourceRepos: ["https://a/*"] }),
    stored("global", { allowed: "" }),
    mine,
  ]);
  const found = projects.of(app("own", "acme/-"));
  expect(found).toMatchObject({ kind: "done", value: { limit: { name: "platform", sourceRepos: ["https://a/*"] } } });
});

test.each([
  ["a tenant's application of another project", "acme/-", "DestinationNotPermitted"],
  ["a tenant's application of that project", "acme/-", "done", "platform"],
  ["the agent's own scope, as in Argo CD", undefined, "done"],
])("a cluster that is kept for a project: %s", async (_, tenant, want, project = "more") => {
  const spec = {
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "*" }],
    destinationServiceAccounts: [{ server: "*", namespace: "*", defaultServiceAccount: "deployer" }],
  };
  const projects = known(stored("platform", { allowed: "acme" }, spec), stored("more", { allowed: "acme" }, spec));
  const cluster = {
    server: "https://kept",
    name: "kept",
    project: "platform",
    own: "outpost",
    settings: { impersonation: "off" },
  };
  const shape = {
    ...cluster,
    accounts: new Map([["system:serviceaccount:web:deployer", { lane: () => ({}) }]]),
    client: { lane: () => ({}) },
  };
  const destinations = { own: "outpost", find: async () => done(shape) };
  const one = app(project, tenant);
  one.spec.destination = { name: "kept", namespace: "web" };
  const placed = await place({ projects, destinations: destinations as never }, one);
  expect(placed.kind === "done" ? placed.kind : placed.reason).toBe(want);
});
