import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { Application } from "../application.ts";
import { Claims } from "../cluster/claims.ts";
import { Verdicts } from "../compare/compare.ts";
import type { Destination } from "../destination.ts";
import type { Task } from "../tasks.ts";
import { BY_ANNOTATION, mark } from "../tracking.ts";
import { applyTarget, isUnchangeable, mannerOf } from "./apply.ts";
import { tryDryRun } from "./dry-run.ts";

const app = { metadata: { name: "shop" }, spec: { destination: { namespace: "shop" } } } as Application;
const resource = { group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true };
const wanted = (kind = "Deployment"): KubeObject => {
  const object: KubeObject = {
    apiVersion: "apps/v1",
    kind,
    metadata: { name: "web", namespace: "shop" },
    spec: { rev: 2 },
  };
  mark(object, "shop", "shop", BY_ANNOTATION);
  return object;
};
const NO = stop("Invalid", 'Deployment.apps "web" is invalid: spec.selector: Invalid value: field is immutable');
const DENIED = stop(
  "Invalid",
  'admission webhook "a.example.com" denied the request: Deployment.apps "web" is invalid: no',
);
const UNDECLARED = stop(
  "Invalid",
  "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.colour: field not declared in schema",
);

/** A cluster that has the object, and answers applies in this order; what it was asked, in the order of asking. */
function cluster(answers: Outcome<unknown>[], kind = "Deployment") {
  const asked: string[] = [];
  const object = wanted(kind);
  const metadata = { ...object.metadata, uid: "1", resourceVersion: "7", managedFields: [] };
  const current = { ...object, metadata, spec: { rev: 1 }, status: { ready: 1 } };
  const created: KubeObject[] = [];
  const apply = async (_: unknown, __: unknown, { dryRun }: { dryRun?: boolean } = {}) => {
    asked.push(dryRun ? "try" : "apply");
    return answers.shift() ?? done(current);
  };
  const writer = {
    apply,
    delete: async () => {
      asked.push("delete");
      return done({ kind: "Status", metadata: {} });
    },
    create: async (_: unknown, given: KubeObject) => {
      asked.push("create");
      created.push(given);
      return done(given);
    },
    json: async (method: string, _: string, { query }: { query: { dryRun?: string } }) => {
      asked.push(`${method}${query.dryRun ? " to try" : ""}`);
      return answers.shift() ?? done(current);
    },
  };
  const live = { get: () => current, find: () => current, put: () => undefined };
  const settings = { tracking: BY_ANNOTATION, rules: [] };
  const destination = {
    live,
    writer,
    client: writer,
    own: "argocd",
    settings,
    claims: new Claims(),
    namespaces: new Set(),
  };
  const target = { key: "apps/Deployment/shop/web", object, digest: "d", wave: 0, resource: { ...resource, kind } };
  return { destination: destination as unknown as Destination, target, asked, created };
}

test.each<[string, Outcome<unknown>[], string[], string, string]>([
  [
    "what cannot be changed is re-created",
    [NO, done({ ...wanted(), metadata: { name: "web" } })],
    ["Force=true"],
    "apply delete apply",
    "configured",
  ],
  [
    "and comes back as it was where the new one is not taken",
    [NO, DENIED],
    ["Force=true"],
    "apply delete apply create",
    "is back",
  ],
  ["but a Job, which would run once more", [NO, DENIED], ["Force=true"], "apply delete apply", "denied"],
  ["what a webhook denies is not deleted for it", [DENIED], ["Force=true"], "apply", "denied"],
  ["nor what has a field that its kind does not have", [UNDECLARED], ["Force=true"], "apply", "not declared"],
  ["nor what could not be asked", [again("ClusterUnavailable", "away")], ["Force=true"], "apply", "away"],
  ["and without force nothing is", [NO], [], "apply", "immutable"],
])("by force %s", async (name, answers, options, asks, says) => {
  const { destination, target, asked, created } = cluster(answers, name.includes("Job") ? "Job" : "Deployment");
  const sent = await applyTarget(destination, target, { app, verdicts: new Verdicts(), options });
  expect(asked.join(" ")).toBe(asks);
  expect(sent.kind === "done" ? sent.value : sent.message).toContain(says);
  for (const back of created)
    expect(back).toMatchObject({
      spec: { rev: 1 },
      metadata: { name: "web", namespace: "shop", labels: { "outpost.dev/app": "shop" } },
    });
  for (const { metadata } of created) expect([metadata.uid, metadata.resourceVersion]).toEqual([undefined, undefined]);
});

test.each<[string, Outcome<unknown>[], string[], string, string]>([
  ["as it is applied", [], [], "try", "configured"],
  ["as it is replaced", [], ["Replace=true"], "PUT to try", "configured"],
  ["what is always re-created is not tried", [], ["Replace=true", "Force=true"], "", "configured"],
  ["what is re-created where it cannot be changed", [NO], ["Force=true"], "try", "configured"],
  ["what would be refused", [NO], ["Replace=true"], "PUT to try", "immutable"],
  ["what would be denied, also by force", [DENIED], ["Force=true"], "try", "denied"],
  [
    "without what its kind does not have",
    [UNDECLARED],
    ["Validate=false"],
    "try try",
    "configured (without .spec.colour, which its kind does not have)",
  ],
  [
    "what a webhook does not let be tried, in its words",
    [stop("Invalid", 'admission webhook "a.example.com" does not support dry run')],
    [],
    "try",
    'configured, which could not be tried: admission webhook "a.example.com" does not support dry run',
  ],
])("a dry run tries and writes nothing: %s", async (_, answers, options, asks, says) => {
  const { destination, target, asked } = cluster(answers);
  (target.object.spec as Record<string, unknown>).colour = "red";
  const task = { object: target.object, target } as unknown as Task;
  const sync = { app, targets: [target], destination, verdicts: new Verdicts(), unseen: new Map() };
  const told = await tryDryRun(sync, task, options);
  expect(asked.join(" ")).toBe(asks);
  expect(told.kind === "done" ? told.value : told.message).toContain(says);
});

test.each([
  [["Replace=true", "Force=true"], "Deployment", { anew: true, forces: true }],
  [["Replace=true", "Force=true"], "Namespace", { anew: false, forces: false }],
  [["Replace=true", "Force=true"], "CustomResourceDefinition", { anew: false, forces: false }],
  [["Replace=true"], "Deployment", { anew: false, forces: false }],
  [["Force=true"], "Deployment", { anew: false, forces: true }],
])("with %j a %s is written as it bears", (options, kind, want) => {
  expect(mannerOf(wanted(kind), options)).toEqual(want);
});

test("only what the API server calls invalid can be helped by a new object", () => {
  expect([NO, DENIED, UNDECLARED].map((one) => one.kind === "stop" && isUnchangeable(one))).toEqual([
    true,
    false,
    false,
  ]);
});

test("what is deleted to be re-created is not written to while it is not known to be gone", async () => {
  const { destination, target, asked } = cluster([NO]);
  const going = async () => {
    asked.push("delete");
    return done({ ...target.object, metadata: { ...target.object.metadata, uid: "1", deletionTimestamp: "now" } });
  };
  const get = async () => again("ClusterUnavailable", "away");
  Object.assign(destination.writer, { delete: going, get });
  const sent = await applyTarget(destination, target, { app, verdicts: new Verdicts(), options: ["Force=true"] });
  expect(sent).toMatchObject({ kind: "again", reason: "ClusterUnavailable" });
  expect(asked).toEqual(["apply", "delete"]);
});
test("an object that cannot be read is not written where its differences are to be kept", async () => {
  const { destination, target, asked } = cluster([]);
  const get = async () => again("ClusterUnavailable", "away");
  Object.assign(destination.live, { get: () => undefined, find: () => undefined, ofApp: () => new Map() });
  Object.assign(destination.writer, { get });
  const keeping = {
    ...app,
    spec: { ...app.spec, ignoreDifferences: [{ kind: "Deployment", jsonPointers: ["/spec/replicas"] }] },
  };
  const by = { app: keeping, verdicts: new Verdicts(), options: ["RespectIgnoreDifferences=true"] };
  expect(await applyTarget(destination, target, by)).toMatchObject({ kind: "again", reason: "ClusterUnavailable" });
  expect(asked).toEqual([]);
});
