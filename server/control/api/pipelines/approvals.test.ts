import { delegatesOf } from "../../testing/delegates.ts";
import { eventually, startService, type TestService } from "../../testing/service.ts";
import type { TestWorker } from "../../testing/worker.ts";

let s: TestService;
const keys: Record<string, string> = {};
beforeAll(async () => {
  s = await startService();
  for (const [id, role] of [
    ["ann", "admin"],
    ["bob", "admin"],
    ["eve", "editor"],
  ] as const)
    keys[id] = (await s.ask("POST", "/v1/apikeys", { body: { id, role } })).body.key;
}, 60_000);
afterAll(() => s?.stop());
const { replica, create, take, end } = delegatesOf(() => s);

const step = (id: string, more: object = {}) => ({
  id,
  task: { kind: "shell.run", params: { script: "true" }, selectors: ["prod"] },
  ...more,
});
const as = (who: string, method: string, path: string, body?: object) =>
  s.ask(method, path, { ...(who === "first" ? {} : { key: keys[who] }), ...(body ? { body } : {}) });
const define = (who: string, id: string, steps: object[]) => as(who, "PUT", `/v1/pipelines/${id}`, { spec: { steps } });

describe("an editor and the approval of an admin", () => {
  const steps = [{ id: "go", approval: { role: "admin", message: "Ship it?" } }, step("deploy")];
  test.each<[name: string, change: () => Promise<{ status: number; body: any }>]>([
    ["PUT without it", () => define("eve", "kept", [step("deploy")])],
    [
      "PUT with a lower role",
      () => define("eve", "kept", [{ id: "go", approval: { role: "editor", message: "Ship it?" } }, step("deploy")]),
    ],
    ["PUT around it", () => define("eve", "kept", [steps[0]!, step("deploy", { needs: [] })])],
    ["PUT with a condition", () => define("eve", "kept", [{ ...steps[0], condition: "'a' == 'b'" }, step("deploy")])],
    ["PUT with the task first", () => define("eve", "kept", [step("deploy"), steps[0]!])],
    ["PATCH", () => as("eve", "PATCH", "/v1/pipelines/kept", { spec: { steps: [step("deploy")] } })],
    ["DELETE, to make it anew", () => as("eve", "DELETE", "/v1/pipelines/kept")],
  ])("%s is refused, and nothing is changed", async (_, change) => {
    await define("ann", "kept", steps);
    const before = (await s.ask("GET", "/v1/pipelines/kept")).body;
    expect(await change()).toMatchObject({
      status: 403,
      body: { code: "approval_kept", detail: expect.stringContaining("`go`") },
    });
    expect((await s.ask("GET", "/v1/pipelines/kept")).body).toEqual(before);
  });
  test("the editor may change the tasks behind it, and an admin may remove it", async () => {
    await define("ann", "kept", steps);
    expect((await define("eve", "kept", [steps[0]!, step("deploy"), step("check")])).status).toBe(200);
    expect((await define("ann", "kept", [step("deploy")])).status).toBe(200);
    expect((await as("eve", "DELETE", "/v1/pipelines/kept")).status).toBe(204);
  });
});

describe("a delegate that asks for an approval by an admin", () => {
  let guarded: TestWorker;
  beforeAll(async () => {
    guarded = await replica("guarded", {
      spec: { tags: ["prod"], requiresApproval: { role: "admin", excludeRequester: true } },
    });
  }, 60_000);
  const waits = async (id: string, query = "") => {
    expect((await guarded.exchange({ wait: 1, free: 5 })).tasks).toEqual([]);
    const { body } = await s.ask("GET", `/v1/tasks/${id}${query}`);
    expect(body).toMatchObject({ state: "Queued" });
    expect(body.explanation[0].reason).toMatch(/^ApprovalRequired: .*an approval by an admin other than/);
    await s.ask("POST", `/v1/tasks/${id}/cancel`);
  };
  const run = async (who: string, id: string) =>
    (await as(who, "POST", `/v1/pipelines/${id}/run`, {})).body.id as string;
  const told = async (id: string) => (await s.ask("GET", `/v1/runs/${id}`)).body;
  const taskOf = (id: string, name: string) =>
    eventually(
      `the task of ${name}`,
      async () => (await told(id)).steps.find((x: any) => x.id === name)?.task as string | undefined,
    );
  const approve = (who: string, id: string, name = "go") => as(who, "POST", `/v1/runs/${id}/steps/${name}/approve`, {});

  test("takes no task that was sent directly, by an admin either", async () => {
    await waits((await create({ selectors: ["prod"] })).id);
    const sent = await as("eve", "POST", "/v1/tasks", {
      kind: "shell.run",
      params: { script: "true" },
      selectors: ["prod"],
    });
    await waits(sent.body.id);
  });
  test("takes the task of a run that an admin has approved, and not its retry", async () => {
    await define("ann", "guarded", [{ id: "go", approval: { role: "admin" } }, step("deploy")]);
    const id = await run("eve", "guarded");
    expect((await approve("eve", id)).status).toBe(403);
    expect((await approve("bob", id)).status).toBe(200);
    expect((await told(id)).steps[0].decisions[0]).toMatchObject({ by: "key:bob", role: "admin" });
    const leased = await take(guarded);
    expect(leased.task).toBe(await taskOf(id, "deploy"));
    await end(guarded, leased, { outcome: "failed", message: "no" });
    const retry = await as("eve", "POST", `/v1/tasks/${leased.task}/retry`, {});
    expect(retry.status).toBe(201);
    await waits(retry.body.id);
  });
  test("takes nothing of a pipeline without the approval, with a lower one, with one beside the task, or with one by the requester", async () => {
    await define("eve", "none", [step("deploy")]);
    await waits(await taskOf(await run("eve", "none"), "deploy"));
    await define("eve", "lower", [{ id: "go", approval: { role: "editor" } }, step("deploy")]);
    const lower = await run("eve", "lower");
    await approve("eve", lower);
    await waits(await taskOf(lower, "deploy"));
    await define("eve", "beside", [{ id: "go", approval: { role: "admin" } }, step("deploy", { needs: [] })]);
    const beside = await run("eve", "beside");
    await approve("ann", beside);
    await waits(await taskOf(beside, "deploy"));
    const own = await run("ann", "guarded");
    await approve("ann", own);
    await waits(await taskOf(own, "deploy"));
  });
  test("an admin's word counts whatever role the step asked for", async () => {
    await define("eve", "higher", [{ id: "go", approval: { role: "editor" } }, step("deploy")]);
    const id = await run("eve", "higher");
    await approve("bob", id);
    const leased = await take(guarded);
    expect(leased.task).toBe(await taskOf(id, "deploy"));
    await end(guarded, leased);
  });
  test("an editor cannot take the requirement from the delegate", async () => {
    expect((await as("eve", "PATCH", "/v1/delegates/guarded", { spec: { requiresApproval: null } })).status).toBe(403);
  });
});

describe("two keys of one person", () => {
  const make = async (who: string, id: string, role: string, query = "") =>
    (keys[id] = (await as(who, "POST", `/v1/apikeys${query}`, { id, role })).body.key);
  const run = async (who: string, id: string) =>
    (await as(who, "POST", `/v1/pipelines/${id}/run`, {})).body.id as string;
  const decide = (who: string, id: string, word = "approve") => as(who, "POST", `/v1/runs/${id}/steps/go/${word}`, {});
  beforeAll(async () => {
    await make("ann", "ann2", "admin");
    await make("ann2", "ann3", "editor");
    await define("ann", "four-eyes", [
      { id: "go", approval: { role: "editor", excludeRequester: true } },
      step("deploy"),
    ]);
    await define("ann", "two", [{ id: "go", approval: { role: "editor", minimum: 2 } }, step("deploy")]);
  });

  // requester | approver | allowed. Ann made ann2, ann2 made ann3; the account's first key made ann, bob and eve.
  test.each<[string, string, boolean]>([
    ["ann", "ann", false],
    ["ann", "ann2", false],
    ["ann2", "ann", false],
    ["ann2", "ann3", false],
    ["ann3", "ann2", false],
    ["ann", "bob", true],
    ["ann3", "eve", true],
    ["bob", "ann2", true],
    ["first", "ann", true],
    ["eve", "first", true],
    ["first", "first", false],
  ])("%s starts a run, and %s approves it: %s", async (requester, approver, allowed) => {
    const id = await run(requester, "four-eyes");
    for (const word of ["reject", "approve"].slice(allowed ? 1 : 0))
      expect((await decide(approver, id, word)).status).toBe(allowed ? 200 : 403);
    if (requester !== approver && !allowed)
      expect((await decide(approver, id)).body.detail).toBe(
        `The person who started the run does not decide about this step. key:${approver} and key:${requester} count as one person, because both come from key:ann: use a key that the account's first key made for another person.`,
      );
  });

  test("a key that is deleted and made again under another person's id keeps the lineage of its maker", async () => {
    await make("first", "dan", "admin");
    await as("ann", "DELETE", "/v1/apikeys/dan");
    await make("ann", "dan", "admin");
    expect((await decide("dan", await run("ann3", "four-eyes"))).status).toBe(403);
    // A key of the first key's id is not the first key.
    const scope = "?org=lineage";
    await s.ask("PUT", "/v1/organizations/lineage", { body: { spec: {} } });
    await make("ann", "admin", "admin", scope);
    const { items } = (await s.ask("GET", `/v1/apikeys${scope}`)).body;
    expect(items).toMatchObject([{ id: "admin", lineage: "key:ann" }]);
  });

  test("give one approval of two", async () => {
    const id = await run("bob", "two");
    expect((await decide("ann", id)).status).toBe(200);
    expect(await decide("ann3", id)).toMatchObject({
      status: 403,
      body: {
        detail: expect.stringContaining(
          "key:ann has approved this step already. key:ann3 and key:ann count as one person",
        ),
      },
    });
    expect((await s.ask("GET", `/v1/runs/${id}`)).body.steps[0]).toMatchObject({
      state: "Waiting",
      decisions: [{ by: "key:ann" }],
    });
    expect((await decide("eve", id)).body.steps[0].state).toBe("Succeeded");
  });
});
