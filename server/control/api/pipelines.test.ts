import { within } from "../../../test/within.ts";
import type { Database } from "../store/database/sql.ts";
import { onBothStores } from "../testing/database.ts";
import { ask, eventually, startService, type TestService } from "../testing/service.ts";
import { TestWorker } from "../testing/worker.ts";

const task = (id: string, more: object = {}, params: object = {}) => ({
  id,
  task: { kind: "shell.run", params: { script: "true", ...params } },
  ...more,
});
const approval = (id: string, more: object = {}) => ({ id, approval: more });

/** The same database, which the service may close and the suite still uses. */
const lent = (db: Database): Database =>
  new Proxy(db, {
    get(of, name) {
      const member = Reflect.get(of, name) as unknown;
      if (name === "close") return async () => {};
      return typeof member === "function" ? member.bind(of) : member;
    },
  });

onBothStores("pipelines", (stores) => {
  let s: TestService;
  let db: Database;
  let worker: TestWorker;
  const keys: Record<string, string> = {};
  beforeAll(async () => {
    db = await stores().open();
    s = await startService({ db: lent(db) });
    await s.ask("PUT", "/v1/delegates/d", { body: { spec: {} } });
    const { token } = (await s.ask("POST", "/v1/delegates/d/tokens", { body: {} })).body;
    worker = await (await new TestWorker(s.url).enrol(token)).open();
    for (const [id, role] of [
      ["ann", "admin"],
      ["bob", "admin"],
      ["eve", "editor"],
    ] as const)
      keys[id] = (await s.ask("POST", "/v1/apikeys", { body: { id, role } })).body.key;
  });
  afterAll(() => s?.stop());

  const define = async (id: string, steps: object[], more: object = {}) => {
    const answer = await s.ask("PUT", `/v1/pipelines/${id}`, { body: { spec: { steps, ...more } } });
    expect([answer.status, answer.body.detail]).toEqual([answer.status < 300 ? answer.status : 201, undefined]);
    return answer.body;
  };
  const start = async (id: string, body: object = {}, key?: string) => {
    const answer = await s.ask("POST", `/v1/pipelines/${id}/run`, { body, ...(key ? { key } : {}) });
    expect(answer.body.detail).toBeUndefined();
    return answer.body;
  };
  const get = async (id: string) => (await s.ask("GET", `/v1/runs/${id}`)).body;
  /** `a:Running b:Pending`. */
  const told = (run: any) => run.steps.map((step: any) => `${step.id}:${step.state}`).join(" ");
  const until = (id: string, want: string) =>
    eventually(`${id} to be ${want}`, async () =>
      ((run) => (told(run) === want || run.state === want) && run)(await get(id)),
    );
  /** Takes the one task that waits, which must be this step's. */
  const take = async (step: string) => {
    const lease = await eventually(`a task for ${step}`, async () => (await worker.exchange({ free: 1 })).tasks[0]);
    const shown = (await s.ask("GET", `/v1/tasks/${lease.task}`)).body;
    expect(shown.step).toBe(step);
    return { ...lease, shown };
  };
  const finish = (lease: { task: string; fence: number }, outcome = "succeeded", more: object = {}) =>
    worker.call(`tasks/${lease.task}/result`, { fence: lease.fence, outcome, ...more });

  test("a run goes from step to step, with outputs passed on and each task knowing its run", async () => {
    const { generation } = await define(
      "flow",
      [
        task("build", {}, { env: { TAG: "${inputs.tag}" } }),
        task(
          "ship",
          {},
          { env: { DIGEST: "${steps.build.outputs.digest}", TASK: "${steps.build.task}", RUN: "${run.id}" } },
        ),
      ],
      { inputs: { tag: { pattern: "v[0-9]+" }, env: { default: "dev" } } },
    );
    const run = await start("flow", { inputs: { tag: "v1" } });
    expect(run).toMatchObject({
      pipeline: "flow",
      generation,
      state: "Running",
      inputs: { tag: "v1", env: "dev" },
      requestedBy: "key:admin",
    });
    const build = await take("build");
    expect(build.shown).toMatchObject({ run: run.id, step: "build", name: "flow/build", requestedBy: "key:admin" });
    expect(build.params.env).toEqual({ TAG: "v1" });
    await finish(build, "succeeded", { outputs: { digest: "sha256:a" } });
    const ship = await take("ship");
    expect(ship.params.env).toEqual({ DIGEST: "sha256:a", TASK: build.task, RUN: run.id });
    await finish(ship);
    const ended = await until(run.id, "Succeeded");
    expect(ended.steps.map((x: any) => [x.id, x.state, x.outputs])).toEqual([
      ["build", "Succeeded", { digest: "sha256:a" }],
      ["ship", "Succeeded", undefined],
    ]);
    expect((await s.ask("GET", "/v1/pipelines/flow")).body.status.lastRun).toMatchObject({
      id: run.id,
      state: "Succeeded",
      endedAt: ended.endedAt,
    });
  });

  test("a failure leaves out what follows, runs what is for failures, and says why", async () => {
    await define("fail", [task("a"), task("b"), task("tidy", { needs: ["b"], when: "failure" })]);
    const run = await start("fail");
    await finish(await take("a"), "failed", { reason: "ExitCode", message: "exit 3" });
    await finish(await take("tidy"));
    expect(await until(run.id, "Failed")).toMatchObject({
      reason: "StepFailed",
      message: "a: exit 3",
      steps: [
        { state: "Failed", reason: "ExitCode" },
        { state: "Skipped", reason: "NeedFailed" },
        { state: "Succeeded" },
      ],
    });
  });

  test("a step with values that do not fit its kind fails with the place, and makes no task", async () => {
    await define("unfit", [
      task("a"),
      { id: "b", task: { kind: "git.clone", params: { url: "${steps.a.outputs.url}" } } },
    ]);
    const run = await start("unfit");
    await finish(await take("a"), "succeeded", { outputs: { url: "file:///etc" } });
    const ended = await until(run.id, "Failed");
    expect(ended.steps[1]).toMatchObject({
      state: "Failed",
      reason: "InvalidParameters",
      message: expect.stringContaining("/url"),
    });
    expect(ended.steps[1].task).toBeUndefined();
  });

  test("cancel ends what runs and lets nothing begin", async () => {
    await define("stop", [task("a"), task("b", { when: "always" })]);
    const run = await start("stop");
    const a = await take("a");
    expect(told((await s.ask("POST", `/v1/runs/${run.id}/cancel`)).body)).toBe("a:Running b:Cancelled");
    expect((await worker.exchange({ wait: 5 })).cancel).toEqual([a.task]);
    await finish(a, "cancelled");
    expect(await until(run.id, "Cancelled")).toMatchObject({
      steps: [{ state: "Cancelled" }, { state: "Cancelled", reason: "RunCancelled" }],
    });
    const again = await s.ask("POST", `/v1/runs/${run.id}/cancel`);
    expect([again.status, again.body.state]).toEqual([202, "Cancelled"]);
  });

  test("a run out of time ends, and its tasks with it", async () => {
    await define("late", [task("a"), task("b")], { timeoutSeconds: 600 });
    const run = await start("late");
    const a = await take("a");
    await db.query("update runs set created_at = created_at - interval '600 s', due_at = outpost_now() where id = $1", [
      run.id,
    ]);
    await eventually("the task to be cancelled", async () =>
      (await worker.exchange({ wait: 1 })).cancel.includes(a.task),
    );
    await finish(a, "cancelled");
    expect(await until(run.id, "TimedOut")).toMatchObject({
      reason: "DeadlineExceeded",
      steps: [{ state: "Cancelled" }, { reason: "RunTimedOut" }],
    });
  });

  describe("approval", () => {
    const decide = (run: string, word: "approve" | "reject", who: string, body: object = {}) =>
      s.ask("POST", `/v1/runs/${run}/steps/ok/${word}`, { key: keys[who], body });
    const code = async (answer: Promise<{ status: number; body: any }>) =>
      ((a) => a.body.code ?? a.status)(await answer);

    test("two different people of the role, not who asked for it", async () => {
      await define(
        "careful",
        [approval("ok", { message: "Ship ${inputs.tag}?", minimum: 2, excludeRequester: true }), task("b")],
        {
          inputs: { tag: {} },
        },
      );
      const run = await start("careful", { inputs: { tag: "v1" } }, keys.ann);
      expect([run.state, run.steps[0].message]).toEqual(["Waiting", "Ship v1?"]);
      expect(await code(decide(run.id, "approve", "eve"))).toBe("forbidden");
      expect(await code(decide(run.id, "approve", "ann"))).toBe("forbidden");
      expect(told((await decide(run.id, "approve", "bob", { comment: "fine" })).body)).toBe("ok:Waiting b:Pending");
      expect((await decide(run.id, "approve", "bob")).body.steps[0].decisions).toEqual([
        {
          by: "key:bob",
          lineage: "key:bob",
          decision: "approved",
          role: "admin",
          comment: "fine",
          at: expect.any(String),
        },
      ]);
      expect(told((await s.ask("POST", `/v1/runs/${run.id}/steps/ok/approve`)).body)).toBe("ok:Succeeded b:Running");
      expect(await code(decide(run.id, "reject", "bob"))).toBe("conflict");
      await finish(await take("b"));
      await until(run.id, "Succeeded");
      const lines = (await s.ask("GET", "/v1/audit")).body.items.filter((l: any) => l.target === `${run.id}/ok`);
      expect(lines.map((l: any) => `${l.actor} ${l.operation} ${l.outcome}`)).toEqual([
        "key:bob rejectStep refused",
        "key:admin approveStep accepted",
        "key:bob approveStep accepted",
        "key:bob approveStep accepted",
        "key:ann approveStep denied",
        "key:eve approveStep denied",
      ]);
    });

    test("one rejection ends the step with its comment; an editor may where the step says so", async () => {
      await define("simple", [approval("ok", { role: "editor" }), task("b")]);
      const run = await start("simple");
      expect((await decide(run.id, "reject", "eve", { comment: "not on Friday" })).body).toMatchObject({
        state: "Failed",
        steps: [
          { state: "Failed", reason: "Rejected", message: "Rejected by key:eve: not on Friday" },
          { state: "Skipped" },
        ],
      });
    });

    test("nobody in time", async () => {
      await define("slow", [approval("ok", { timeoutSeconds: 1 })]);
      expect(await until((await start("slow")).id, "Failed")).toMatchObject({
        steps: [{ reason: "ApprovalTimedOut" }],
      });
    });

    test("of a step that is none, or not there", async () => {
      await define("none", [task("a")]);
      const run = await start("none");
      expect(await code(s.ask("POST", `/v1/runs/${run.id}/steps/a/approve`))).toBe("conflict");
      expect(await code(s.ask("POST", `/v1/runs/${run.id}/steps/x/approve`))).toBe("not_found");
      await s.ask("POST", `/v1/runs/${run.id}/cancel`);
      await until(run.id, "Cancelled");
    });
  });

  test("a run keeps its pipeline: changing it or deleting it changes no run", async () => {
    await define("gone", [task("a"), task("b")]);
    const run = await start("gone");
    await define("gone", [task("other")]);
    expect((await s.ask("DELETE", "/v1/pipelines/gone")).status).toBe(204);
    await finish(await take("a"));
    await finish(await take("b"));
    expect(told(await until(run.id, "Succeeded"))).toBe("a:Succeeded b:Succeeded");
  });

  test("inputs are checked, and the same Idempotency-Key starts one run", async () => {
    await define("once", [approval("ok")], { inputs: { tag: { pattern: "v.*" } } });
    const refused = await s.ask("POST", "/v1/pipelines/once/run", { body: { inputs: { tag: "1" } } });
    expect([refused.status, refused.body.pointer]).toEqual([422, "/inputs/tag"]);
    const headers = { "idempotency-key": "k-1" };
    const [one, two] = await Promise.all(
      [1, 2].map(() => s.ask("POST", "/v1/pipelines/once/run", { headers, body: { inputs: { tag: "v1" } } })),
    );
    expect(two!.body.id).toBe(one!.body.id);
    expect((await s.ask("GET", "/v1/runs?pipeline=once")).body.items).toHaveLength(1);
    await s.ask("POST", `/v1/runs/${one!.body.id}/cancel`);
  });

  test("a full queue takes no new run, and the runs there are go on", async () => {
    await define("full", [task("a"), task("b")]);
    const run = await start("full");
    const other = await startService({ db: lent(db), env: { OUTPOST_ADMIN_KEY: s.admin, OUTPOST_QUEUE_MAX: "1" } });
    try {
      const refused = await ask(other.url, "POST", "/v1/pipelines/full/run", { key: s.admin, body: {} });
      expect([refused.status, refused.body.code]).toEqual([429, "queue_full"]);
    } finally {
      await other.stop();
    }
    await finish(await take("a"));
    await finish(await take("b"));
    await until(run.id, "Succeeded");
  });

  test("runs are listed newest first, page by page, in their scope", async () => {
    await define("many", [approval("ok")]);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.unshift((await start("many")).id);
    const seen: string[] = [];
    let cursor = "";
    do {
      const page = (await s.ask("GET", `/v1/runs?pipeline=many&limit=2${cursor}`)).body;
      seen.push(...page.items.map((r: any) => r.id));
      cursor = page.nextCursor ? `&cursor=${page.nextCursor}` : "";
    } while (cursor);
    expect(seen).toEqual(ids);
    await s.ask("PUT", "/v1/organizations/o1", { body: { spec: {} } });
    expect((await s.ask("GET", `/v1/runs/${ids[0]}?org=o1`)).status).toBe(404);
    expect((await s.ask("GET", "/v1/runs?org=o1")).body.items).toEqual([]);
    for (const id of ids) await s.ask("POST", `/v1/runs/${id}/cancel`);
  });

  test("a long poll answers when the run has changed, not before", async () => {
    await define("poll", [approval("ok")]);
    const run = await start("poll");
    let answered = false;
    const poll = s.ask("GET", `/v1/runs/${run.id}?wait=20&after=${run.revision}`).finally(() => {
      answered = true;
    });
    await s.ask("GET", `/v1/runs/${run.id}`);
    expect(answered).toBe(false);
    const began = Date.now();
    await s.ask("POST", `/v1/runs/${run.id}/steps/ok/approve`);
    expect((await poll).body).toMatchObject({ state: "Succeeded" });
    expect(Date.now() - began).toBeLessThan(within(2_500));
  });

  test("a faulty pipeline is refused with the place of each fault", async () => {
    const answer = await s.ask("PUT", "/v1/pipelines/bad", {
      body: { spec: { steps: [task("a", { needs: ["b"] }), task("b", { needs: ["a"], condition: "x" })] } },
    });
    expect([answer.status, answer.body.code, answer.body.pointer]).toEqual([
      422,
      "invalid_field",
      "/spec/steps/0/needs",
    ]);
    expect(answer.body.errors.map((e: any) => e.pointer)).toEqual(["/spec/steps/0/needs", "/spec/steps/1/condition"]);
  });

  test("what no replica heard of is found: the end of a task without a word moves its run on once, with two replicas looking", async () => {
    await define("missed", [task("a"), task("b")]);
    const run = await start("missed");
    const a = await take("a");
    const other = await startService({ db: lent(db), env: { OUTPOST_ADMIN_KEY: s.admin } });
    try {
      await db.query(
        "update tasks set state = 'Succeeded', ended_at = outpost_now(), lease_worker = null where id = $1",
        [a.task],
      );
      await until(run.id, "a:Succeeded b:Running");
      const made = await db.query("select id from tasks where run = $1 and step = 'b'", [run.id]);
      expect(made).toHaveLength(1);
      expect((await ask(other.url, "GET", `/v1/runs/${run.id}`, { key: s.admin })).body.revision).toBe(
        (await get(run.id)).revision,
      );
      await finish(await take("b"));
      await until(run.id, "Succeeded");
    } finally {
      await other.stop();
    }
  });
});
