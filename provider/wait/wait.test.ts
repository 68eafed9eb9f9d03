import type { Client, Reply, Stored } from "../client/client.ts";
import { print } from "../value/path.ts";
import { absence, judgeEnrolled } from "./agent.ts";
import { judgeApplication } from "./application.ts";
import { judgeApplicationSet } from "./application-set.ts";
import { judgeDelivered } from "./delivered.ts";
import { judgeGone } from "./gone.ts";
import { type Verdict, waitFor } from "./wait.ts";

const stored = (status: object, more: object = {}): Stored => ({
  id: "a",
  uid: "u",
  generation: 2,
  version: "1",
  spec: { agent: "prod", syncPolicy: { automated: {} } },
  status: status as Record<string, unknown>,
  ...more,
});
const seen = { observedGeneration: 2, delivery: { state: "Delivered" } };
const condition = (reason: string, type = "ComparisonError") => ({
  type,
  status: "True",
  reason,
  message: "words",
  lastTransitionTime: "x",
});
const deployment = { group: "apps", version: "v1", kind: "Deployment", name: "guestbook", namespace: "web" };
/** `done`, `later: reason`, `stop: reason @path +standsFor`. */
const words = (v: Verdict): string =>
  v.kind === "done"
    ? "done"
    : `${v.kind}: ${v.reason}${v.kind === "stop" ? `${v.path ? ` @${print(v.path)}` : ""}${v.standsFor ? ` +${v.standsFor}` : ""}` : ""}`;

test.each([
  ["gone", undefined, "stop: the application was deleted while it was waited for"],
  [
    "not seen yet",
    stored({ observedGeneration: 1, sync: { status: "Synced" }, health: { status: "Healthy" } }),
    "later: waiting for agent prod to take it",
  ],
  [
    "on its way, with a reason",
    stored({ delivery: { state: "Pending", message: "agent prod is not connected" } }),
    "later: agent prod is not connected",
  ],
  [
    "refused",
    stored({ ...seen, delivery: { state: "Refused", reason: "NamespaceDenied", message: "not here" } }),
    "stop: the agent refused it: not here",
  ],
  ["being deleted", stored(seen, { deletionRequestedAt: "x" }), "stop: the application is being deleted"],
  ["Synced and Healthy", stored({ ...seen, sync: { status: "Synced" }, health: { status: "Healthy" } }), "done"],
  [
    "Synced, still running",
    stored({
      ...seen,
      sync: { status: "Synced" },
      health: { status: "Healthy" },
      operation: { phase: "Running", message: "wave 2" },
    }),
    "later: syncing: wave 2",
  ],
  [
    "progressing",
    stored({
      ...seen,
      sync: { status: "Synced" },
      health: { status: "Progressing" },
      resources: [{ ...deployment, status: "Synced", health: "Progressing", message: "0 of 2 available" }],
    }),
    "later: waiting for apps/Deployment guestbook: 0 of 2 available",
  ],
  [
    "out of sync",
    stored({
      ...seen,
      sync: { status: "OutOfSync" },
      health: { status: "Healthy" },
      resources: [{ version: "v1", kind: "Service", name: "web", status: "OutOfSync" }],
    }),
    "later: waiting for Service web: OutOfSync",
  ],
  [
    "a path that is not there",
    stored({ ...seen, conditions: [condition("PathNotFound")] }),
    "stop: PathNotFound: words @source.path +3000",
  ],
  [
    "a repository out of reach",
    stored({ ...seen, conditions: [condition("RepositoryUnreachable")] }),
    "later: RepositoryUnreachable: words",
  ],
  ["a name of the language", stored({ ...seen, conditions: [condition("constructor")] }), "later: constructor: words"],
  [
    "a failed sync",
    stored({
      ...seen,
      operation: { phase: "Failed", message: "one failed" },
      conditions: [condition("Forbidden", "SyncError")],
      resources: [{ ...deployment, status: "OutOfSync", message: "deployments.apps is forbidden" }],
    }),
    "stop: the sync failed: apps/Deployment guestbook: deployments.apps is forbidden +3000",
  ],
  [
    "a failed sync without a culprit",
    stored({ ...seen, operation: { phase: "Error", message: "no cluster" } }),
    "stop: the sync failed: no cluster +3000",
  ],
  [
    "degraded",
    stored({
      ...seen,
      sync: { status: "Synced" },
      health: { status: "Degraded" },
      resources: [{ ...deployment, status: "Synced", health: "Degraded", message: "deadline exceeded" }],
    }),
    "stop: apps/Deployment guestbook is Degraded: deadline exceeded +30000",
  ],
  ["manual sync, compared", stored({ ...seen, sync: { status: "OutOfSync" } }, { spec: { agent: "prod" } }), "done"],
  [
    "manual sync, not compared",
    stored({ ...seen, sync: { status: "Unknown" } }, { spec: { agent: "prod" } }),
    "later: waiting for the first comparison",
  ],
  ["nothing known", stored(seen), "later: Unknown, Unknown"],
] as [string, Stored | undefined, string][])("an application that is %s", (_name, given, want) => {
  expect(words(judgeApplication(given))).toBe(want);
});

const set = (status: object, more: object = {}): Stored =>
  stored(
    { ...seen, ...status },
    { spec: { agent: "prod", template: { spec: { syncPolicy: { automated: {} } } } }, ...more },
  );
const made = {
  type: "ResourcesUpToDate",
  status: "True",
  reason: "ApplicationSetUpToDate",
  message: "",
  lastTransitionTime: "x",
};
const a = { name: "a", sync: "Synced", health: "Healthy" };

test.each([
  ["gone", undefined, "stop: the application set was deleted while it was waited for"],
  ["not seen yet", set({ observedGeneration: 1, conditions: [made] }), "later: waiting for agent prod to take it"],
  [
    "refused",
    set({ delivery: { state: "Refused", message: "the name is another's" } }),
    "stop: the agent refused it: the name is another's",
  ],
  ["not generated", set({}), "later: waiting for its applications to be made"],
  ["without applications", set({ conditions: [made], applications: [] }), "done"],
  ["all there", set({ conditions: [made], applications: [a] }), "done"],
  [
    "waiting for one",
    set({ conditions: [made], applications: [a, { name: "b", sync: "OutOfSync", health: "Missing" }] }),
    "later: waiting for application b: OutOfSync, Missing",
  ],
  [
    "waiting for a step",
    set({
      conditions: [made],
      applications: [{ name: "b", sync: "OutOfSync", health: "Healthy", step: "2", state: "Waiting" }],
    }),
    "later: waiting for application b: Waiting",
  ],
  [
    "degraded",
    set({ conditions: [made], applications: [a, { ...a, name: "b", health: "Degraded", message: "no space" }] }),
    "stop: application b is Degraded: no space +30000",
  ],
  [
    "rolling out",
    set({ conditions: [made, { ...made, type: "RolloutProgressing", message: "step 2" }], applications: [a] }),
    "later: step 2",
  ],
  [
    "without automated sync, compared",
    set(
      { conditions: [made], applications: [{ name: "a", sync: "OutOfSync", health: "Missing" }] },
      { spec: { agent: "prod" } },
    ),
    "done",
  ],
  [
    "of a template that cannot be filled",
    set({ conditions: [condition("RenderTemplateParamsError", "ErrorOccurred")] }),
    "stop: RenderTemplateParamsError: words @template +3000",
  ],
  [
    "kept out of its repository",
    set({ conditions: [condition("AuthenticationFailed", "ErrorOccurred")] }),
    "stop: AuthenticationFailed: words @generators +3000",
  ],
  [
    "of a host that does not answer",
    set({ conditions: [condition("RepositoryUnreachable", "ErrorOccurred")] }),
    "later: RepositoryUnreachable: words",
  ],
] as [string, Stored | undefined, string][])("an application set that is %s", (_name, given, want) => {
  expect(words(judgeApplicationSet(given))).toBe(want);
});

test("a key that the agent refuses is said at the key", () => {
  const refused = stored({ ...seen, delivery: { state: "Refused", message: "another has it" } });
  expect(words(judgeDelivered("public_key")(refused))).toBe("stop: the agent refused it: another has it @public_key");
});

test.each([
  ["delivered and connected", stored({ ...seen, connection: { state: "Successful" } }), "done"],
  ["credentials on their way", stored({ ...seen, credentials: "Pending" }), "later: waiting for agent prod to take it"],
  [
    "a wrong password",
    stored({ ...seen, connection: { state: "Failed", reason: "AuthenticationFailed", message: "401" } }),
    "stop: AuthenticationFailed: 401 @url +3000",
  ],
  ["an older generation", stored({ ...seen, observedGeneration: 1 }), "later: waiting for agent prod to take it"],
] as [string, Stored, string][])("a repository with %s", (_name, given, want) => {
  expect(words(judgeDelivered("url")(given))).toBe(want);
});

test("an agent is waited for until it has a key, and its absence is named", () => {
  expect(words(judgeEnrolled("prod")(undefined))).toBe("stop: There is no agent prod. @agent");
  expect(words(judgeEnrolled("prod")(stored({})))).toBe("later: waiting for agent prod to connect");
  expect(words(judgeEnrolled("prod")(stored({ sealKey: { id: "k", publicKey: "x" } })))).toBe("done");
  expect(absence("prod", stored({ connected: true }))).toBeUndefined();
  expect(absence("prod", stored({ enrolledAt: "x" }))).toBe("waiting for agent prod to connect again");
});

test("gone means this object, whatever has its id now", () => {
  expect(words(judgeGone("u")(undefined))).toBe("done");
  expect(words(judgeGone("other")(stored({})))).toBe("done");
  expect(words(judgeGone("u")(stored({ applications: [a] })))).toBe("later: waiting for application a to be deleted");
  expect(words(judgeGone("u")(stored({ resources: [deployment] })))).toBe(
    "later: waiting for apps/Deployment guestbook to be deleted",
  );
  expect(words(judgeGone("u")(stored({ conditions: [condition("Forbidden", "DeletionError")] })))).toBe(
    "later: Forbidden: words",
  );
});

const place = { collection: "applications", id: "a" };
const clientOf = (...replies: (Stored | number)[]): Client => {
  let at = 0;
  const get = async (): Promise<Reply<Stored>> => {
    const next = replies[Math.min(at++, replies.length - 1)]!;
    if (typeof next === "object") return { ok: true, status: 200, body: next, repeated: false };
    return {
      ok: false,
      status: next,
      problem: { type: "x", title: "t", status: next, code: "c", detail: "d" },
      repeated: false,
    };
  };
  return { get } as unknown as Client;
};
const limit = (milliseconds: number) => ({ deadline: Date.now() + milliseconds, signal: new AbortController().signal });

test("a wait ends with the object, the first refusal, a failure that stands, or the last reason", async () => {
  const said: string[] = [];
  const log = (_level: unknown, message: string) => said.push(message.replace(/ \(.*/, ""));
  const judge = (s: Stored | undefined): Verdict => {
    if (s?.status.ok) return { kind: "done" };
    return s?.status.bad ? { kind: "stop", reason: "bad", standsFor: 250 } : { kind: "later", reason: "not yet" };
  };
  expect(
    await waitFor(clientOf(stored({}), stored({}), stored({ ok: true })), place, judge, limit(5_000), log),
  ).toMatchObject({
    kind: "done",
  });
  expect(said).toEqual(["applications a: not yet"]);
  expect(await waitFor(clientOf(stored({}), 401), place, judge, limit(5_000), log)).toMatchObject({
    kind: "problem",
    problem: { status: 401 },
  });
  expect(
    await waitFor(clientOf(stored({ bad: true }), stored({ ok: true })), place, judge, limit(5_000), log),
  ).toMatchObject({
    kind: "done",
  });
  expect(await waitFor(clientOf(stored({ bad: true })), place, judge, limit(5_000), log)).toMatchObject({
    kind: "failed",
    reason: "bad",
  });
  expect(await waitFor(clientOf(stored({})), place, judge, limit(300), log)).toMatchObject({
    kind: "timeout",
    reason: "not yet",
  });
  expect(await waitFor(clientOf(0), place, judge, limit(300), log)).toMatchObject({ kind: "timeout", reason: "d" });
});

test("a failure whose words change is one failure: its time runs on", async () => {
  let look = 0;
  const judge = (): Verdict => ({ kind: "stop", reason: `back-off ${++look}`, same: "Pod a", standsFor: 250 });
  const waited = await waitFor(clientOf(stored({})), place, judge, limit(5_000), () => {});
  expect(waited).toMatchObject({ kind: "failed" });
  expect(look).toBeGreaterThan(1);
});
