import { mergePatch } from "../../base/json/merge-patch.ts";
import { whyNot } from "./explain.ts";
import { nouns } from "./nouns.ts";
import { observe, type Report, type Standing } from "./observe.ts";
import { Problem } from "./problem.ts";
import { checkRules, checkSchema, referencesIn, withDefaults } from "./rules/spec.ts";
import { contains, keyOf, levelOf, resolveReference, upwards, workerName } from "./scope.ts";
import { ENDED, type TaskEvent, type TaskState, transition } from "./tasks.ts";

const account = { account: "a", org: "", project: "" };
const org = { account: "a", org: "o", project: "" };
const project = { account: "a", org: "o", project: "p" };

test.each([
  ["x", project, { scope: project, id: "x" }],
  ["org.x", project, { scope: org, id: "x" }],
  ["org.x", org, { scope: org, id: "x" }],
  ["org.x", account, undefined],
  ["account.x", project, { scope: account, id: "x" }],
  ["account.x", account, { scope: account, id: "x" }],
  ["project.x", project, undefined],
  ["o/x", account, { scope: account, id: "o/x" }],
])("reference %s", (reference, from, want) => expect(resolveReference(reference, from)).toEqual(want));

test.each([
  [account, project, true],
  [org, project, true],
  [org, { ...project, org: "x" }, false],
  [project, org, false],
  [project, { ...project, project: "q" }, false],
  [account, { ...account, account: "b" }, false],
])("contains %j %j", (outer, inner, want) => expect(contains(outer, inner)).toBe(want));

test("names of scopes", () => {
  expect([account, org, project].map(levelOf)).toEqual(["account", "org", "project"]);
  expect([keyOf(account, "x"), keyOf(org, "x"), keyOf(project, "x")]).toEqual(["-/-/x", "o/-/x", "o/p/x"]);
  expect(upwards(project)).toEqual([project, org, account]);
  expect(workerName(org, org, "x")).toBe("x");
  expect(workerName(account, org, "x")).toMatch(/^x-[0-9a-f]{12}$/);
  expect(workerName(account, org, "x")).not.toBe(workerName(account, project, "x"));
});

// The examples of RFC 7396, appendix A.
test.each([
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])("merge patch %j + %j", (target, patch, want) => expect(mergePatch(target, patch)).toEqual(want));

test("what the contract says of the nouns is found in it", () => {
  expect(nouns.repositories.moves).toEqual(["agent"]);
  expect(nouns.clusters.moves).toEqual(["agent"]);
  expect(nouns.applications.references).toEqual([
    { path: ["agent"], to: "agents" },
    { path: ["appProject"], to: "appprojects" },
    { path: ["source", "repository"], to: "repositories" },
    { path: ["sources", "*", "repository"], to: "repositories" },
    { path: ["destination", "cluster"], to: "clusters" },
    { path: ["service"], to: "services" },
    { path: ["environment"], to: "environments" },
  ]);
  const spec = {
    agent: "a",
    destination: { cluster: "c" },
    sources: [{ repository: "r" }, {}, { repository: "org.s" }],
  };
  expect(referencesIn(nouns.applications, spec).map((r) => `${r.pointer} ${r.reference}`)).toEqual([
    "/spec/agent a",
    "/spec/sources/0/repository r",
    "/spec/sources/2/repository org.s",
    "/spec/destination/cluster c",
  ]);
});

test("defaults are filled in, also twice", () => {
  const spec = withDefaults(nouns.repositories, { agent: "a", url: "https://h/x" });
  expect(spec).toEqual({ agent: "a", url: "https://h/x", type: "git", insecure: false });
  expect(withDefaults(nouns.repositories, spec)).toEqual(spec);
});

const app = { agent: "a", destination: {}, source: { repoUrl: "https://h/x", path: "." } };
test.each<[string, () => void, [string, string] | undefined]>([
  ["a sound application", () => checkRules(nouns.applications, app), undefined],
  [
    "two sources with one ref",
    () =>
      checkRules(nouns.applications, {
        ...app,
        source: undefined,
        sources: [
          { repoUrl: "x", ref: "r" },
          { repoUrl: "y", ref: "r" },
        ],
      }),
    ["invalid_field", "/spec/sources/1/ref"],
  ],
  [
    "chart and path",
    () => checkRules(nouns.applications, { ...app, source: { repoUrl: "x", chart: "c", path: "p" } }),
    ["invalid_field", "/spec/source/path"],
  ],
  [
    "values that are a list",
    () => checkRules(nouns.applications, { ...app, source: { repoUrl: "x", helm: { values: "- a" } } }),
    ["invalid_field", "/spec/source/helm/values"],
  ],
  [
    "values that explode",
    () => checkRules(nouns.applications, { ...app, source: { repoUrl: "x", helm: { values: bomb() } } }),
    ["invalid_field", "/spec/source/helm/values"],
  ],
  [
    "values with maps as keys of maps as keys",
    () => checkRules(nouns.applications, { ...app, source: { repoUrl: "x", helm: { values: "? ".repeat(500) } } }),
    ["invalid_field", "/spec/source/helm/values"],
  ],
  [
    "values of thousands of levels",
    () => checkRules(nouns.applications, { ...app, source: { repoUrl: "x", helm: { values: "[".repeat(20_000) } } }),
    ["invalid_field", "/spec/source/helm/values"],
  ],
  [
    "an unknown field deep inside",
    () => checkSchema(nouns.applications, { ...app, source: { ...app.source, helm: { valuez: 1 } } }),
    ["invalid_request", "/spec/source/helm/valuez"],
  ],
])("%s", (_, check, want) => {
  let got: unknown;
  try {
    check();
  } catch (error) {
    got = error instanceof Problem ? [error.code, error.details.pointer] : error;
  }
  expect(got).toEqual(want);
});

test.each([
  ["a broken map", "a: 1\nb: {x\nc: 2", /^The YAML cannot be read: .* at line 3, column 1\.$/],
  ["nothing but faults", "\n]".repeat(20_000), /^The YAML cannot be read: .* at line 2, column 1\.$/],
])("values that are no YAML are refused with the place of the first fault: %s", (_, values, want) => {
  expect(() => checkRules(nouns.applications, { ...app, source: { repoUrl: "x", helm: { values } } })).toThrow(want);
});

function bomb(): string {
  return `a: &a [x, x, x, x, x, x, x, x, x]\n${Array.from("bcdefghi", (c, i) => `${c}: &${c} [${Array.from({ length: 9 }, () => `*${"abcdefgh"[i]}`).join(", ")}]`).join("\n")}`;
}

describe("what a report makes of an object", () => {
  const standing: Standing = { op: "put", revision: 5, specRevision: 4, ackedRevision: 3 };
  const report: Report = { collection: "applications", key: "-/-/x", uid: "u" };
  const now = new Date("2030-01-01T00:00:00Z");
  const see = (given: {
    report: Partial<Report>;
    standing?: Partial<Standing>;
    status?: object;
    collection?: "applications" | "repositories";
  }) =>
    observe(
      nouns[given.collection ?? "applications"],
      7,
      (given.status ?? {}) as Record<string, unknown>,
      { ...standing, ...given.standing },
      { ...report, ...given.report },
      now,
    );

  const cases: [string, Parameters<typeof see>[0], object][] = [
    [
      "applied, the newest",
      { report: { outcome: "applied", generation: 5 } },
      { ackedRevision: 5, credentialsArrived: true, gone: false, status: { delivery: { state: "Delivered" } } },
    ],
    [
      "applied, an older one",
      { report: { outcome: "applied", generation: 4 } },
      { ackedRevision: 4, credentialsArrived: false, status: {} },
    ],
    ["applied, one from the future", { report: { outcome: "applied", generation: 99 } }, { ackedRevision: 5 }],
    ["an acknowledgement that is overtaken", { report: { outcome: "applied", generation: 2 } }, { ackedRevision: 3 }],
    [
      "refused",
      { report: { outcome: "refused", generation: 5, reason: "Forbidden" } },
      { ackedRevision: 5, credentialsArrived: false, status: { delivery: { state: "Refused", reason: "Forbidden" } } },
    ],
    [
      "deleted, as asked",
      { standing: { op: "delete" }, report: { outcome: "deleted", generation: 5 } },
      { gone: true },
    ],
    [
      "deleted, an older tombstone",
      { standing: { op: "delete" }, report: { outcome: "deleted", generation: 4 } },
      { gone: false },
    ],
    [
      "deleted, though nobody asked",
      { report: { outcome: "deleted", generation: 5 } },
      { gone: false, ackedRevision: 0, status: { delivery: { state: "Pending", reason: "RemovedByHand" } } },
    ],
    [
      "applied, though it is to be deleted",
      { standing: { op: "delete" }, report: { outcome: "applied", generation: 4 } },
      { gone: false, ackedRevision: 4 },
    ],
    [
      "nothing but a status",
      { report: { status: { health: { status: "Healthy" } } } },
      { ackedRevision: 3, status: { health: { status: "Healthy" }, reportedAt: now.toISOString() } },
    ],
    [
      "a status of the newest spec",
      { report: { status: { observedGeneration: 4 } } },
      { status: { observedGeneration: 7 } },
    ],
    [
      "a status of an older spec",
      { report: { status: { observedGeneration: 3 } }, status: { observedGeneration: 6 } },
      { status: { observedGeneration: 6 } },
    ],
    [
      "fields that do not fit",
      { report: { status: { health: { status: "Great" }, sync: { status: "Synced" }, x: 1 } } },
      { ignored: expect.arrayContaining(["health", "x"]), status: { sync: { status: "Synced" } } },
    ],
    [
      "fields that are the service's",
      {
        report: { status: { delivery: { state: "Delivered" }, reportedAt: "2020-01-01T00:00:00Z" } },
        status: { delivery: { state: "Pending" } },
      },
      { status: { delivery: { state: "Pending" }, reportedAt: now.toISOString() } },
    ],
    [
      "a repository's credentials arrive",
      { collection: "repositories", report: { outcome: "applied", generation: 5 }, status: { credentials: "Pending" } },
      { status: { credentials: "Delivered", observedGeneration: 7 } },
    ],
  ];
  test.each(cases)("%s", (_, given, want) => expect(see(given)).toMatchObject(want));
});

describe("a task's states: every cell of the table", () => {
  const expire = (change: object = {}) =>
    ({ type: "expire", idempotent: true, attempt: 1, maxAttempts: 3, cancelRequested: false, ...change }) as TaskEvent;
  const failed = (change: object = {}): TaskEvent => ({
    type: "result",
    outcome: "failed",
    retry: { on: ["Failed"], delaySeconds: 5, attempt: 1, maxAttempts: 3, cancelRequested: false, ...change },
  });
  const events: [string, TaskEvent, TaskState | undefined, TaskState | undefined][] = [
    // event, its value, next state when queued, next state when running
    ["lease", { type: "lease" }, "Running", undefined],
    ["succeeded", { type: "result", outcome: "succeeded" }, undefined, "Succeeded"],
    ["failed", { type: "result", outcome: "failed" }, undefined, "Failed"],
    ["cancelled", { type: "result", outcome: "cancelled" }, undefined, "Cancelled"],
    ["timedOut", { type: "result", outcome: "timedOut" }, undefined, "TimedOut"],
    ["cancel", { type: "cancel" }, "Cancelled", "Running"],
    ["failed, to be tried again", failed(), undefined, "Queued"],
    ["failed, the last attempt", failed({ attempt: 3 }), undefined, "Failed"],
    ["failed, cancelled meanwhile", failed({ cancelRequested: true }), undefined, "Failed"],
    ["failed, another end is tried again", failed({ on: ["TimedOut"] }), undefined, "Failed"],
    ["timeout", { type: "timeout" }, "TimedOut", "TimedOut"],
    ["expire, idempotent", expire(), undefined, "Queued"],
    ["expire, last attempt", expire({ attempt: 3 }), undefined, "Failed"],
    ["expire, not idempotent", expire({ idempotent: false }), undefined, "Unknown"],
    ["expire, cancelled", expire({ cancelRequested: true, idempotent: false }), undefined, "Cancelled"],
  ];
  test.each(events)("%s", (_, event, queued, running) => {
    expect(transition("Queued", event)?.state).toBe(queued);
    expect(transition("Running", event)?.state).toBe(running);
    for (const state of ENDED) expect(transition(state, event)).toBeUndefined();
  });

  test.each([
    [5, 1, 5],
    [5, 2, 10],
    [5, 4, 40],
    [0, 9, 0],
    [600, 9, 3_600],
  ])("with a delay of %d s attempt %d is followed by a pause of %d s", (delaySeconds, attempt, want) => {
    expect(transition("Running", failed({ delaySeconds, attempt, maxAttempts: 10 }))).toMatchObject({
      delaySeconds: want,
    });
  });
});

test.each<[string, Partial<Parameters<typeof whyNot>[0]>, string | undefined]>([
  ["it fits", {}, undefined],
  ["another scope", { org: "x" }, "OutOfScope"],
  ["away", { connected: false }, "Disconnected"],
  ["leaving", { draining: true }, "Draining"],
  ["a tag missing", { tags: [] }, "SelectorMismatch"],
  ["not able", { capabilities: [] }, "NotCapable"],
  ["full", { running: 2 }, "Full"],
  ["paused", { paused: true }, "Paused"],
  ["a kind it may not run", { kinds: ["git.clone"] }, "KindNotAllowed"],
  ["a kind it may run", { kinds: ["shell.run"] }, undefined],
  ["a full disk", { full: "DiskFull" }, "DiskFull"],
  ["the one that failed it", { worker: "bad" }, "AvoidedUntil"],
])("why not: %s", (_, change, want) => {
  const worker = {
    ...account,
    worker: "w",
    id: "d",
    instance: "i",
    version: "1",
    connected: true,
    lastSeenAt: undefined,
    draining: false,
    paused: false,
    kinds: [],
    lacking: [],
    full: undefined,
    tags: ["t"],
    capabilities: ["shell.run"],
    capacity: 2,
    running: 1,
    ...change,
  };
  const avoid = { instance: "bad/i", until: new Date(Date.now() + 60_000) };
  expect(whyNot(worker, { ...org, kind: "shell.run", selectors: ["t", "d"], avoid })?.split(":")[0]).toBe(want);
});
