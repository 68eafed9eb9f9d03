import { colours } from "../../base/colour.ts";
import { type Answer, person, type Seen } from "../testing.ts";
import { type Run, RunView, stepLines, waitsFor } from "./run-view.ts";

const began = "2026-01-01T00:00:00Z";
const run = (state: string, steps: object[], revision = 1, more: object = {}) =>
  ({
    id: "r-1",
    pipeline: "p",
    generation: 1,
    revision,
    state,
    inputs: {},
    steps,
    createdAt: began,
    ...more,
  }) as unknown as Run;
const running = run("Running", [
  { id: "build", state: "Running", task: "t-1", startedAt: began },
  { id: "ship", state: "Pending" },
]);
const waits = run(
  "Waiting",
  [
    { id: "build", state: "Succeeded", task: "t-1", startedAt: began, endedAt: "2026-01-01T00:00:02Z" },
    { id: "ok", state: "Waiting", message: "Ship v1?" },
  ],
  2,
);
const done = run(
  "Succeeded",
  [
    { id: "build", state: "Succeeded", task: "t-1" },
    { id: "ok", state: "Succeeded", decisions: [{ by: "key:bob", decision: "approved", at: began }] },
  ],
  3,
);

/** A service that tells a run's states one after the other. */
function service(...states: Run[]) {
  let i = 0;
  return ({ operation }: Seen): Answer => {
    if (operation === "getTaskLogs")
      return { body: { items: [{ seq: 1, stream: "stdout", text: "hello" }], complete: true } };
    return { body: states[Math.min(i++, states.length - 1)] };
  };
}

test("a run that is followed exits 0 when it succeeds, telling each step once", async () => {
  const me = person(service(running, waits, done));
  const { exit, err, out } = await me.types("pipeline", "run", "p", "--input", "tag=v=1", "--wait");
  expect([exit, out]).toEqual([0, ""]);
  expect(me.requests[0]!.body).toEqual({ inputs: { tag: "v=1" } });
  expect(me.requests[0]!.headers["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
  expect(me.requests[1]!.url.searchParams.get("after")).toBe("1");
  expect(err.split("\n").map((line) => line.replace(/\s+/g, " "))).toEqual([
    "run r-1",
    expect.stringMatching(/^▸ build Running .* t-1$/),
    "✓ build Succeeded 2.0s t-1",
    "? ok Waiting Ship v1?",
    expect.stringContaining("✓ ok Succeeded"),
    "✓ run r-1 succeeded",
    "",
  ]);
});

test.each([
  ["Failed", 1],
  ["Cancelled", 1],
  ["TimedOut", 5],
])("a run that ends as %s exits %d and says why", async (state, want) => {
  const { exit, err } = await person(
    service(run(state, [{ id: "a", state: "Failed", message: "exit 3" }], 2, { message: "a: exit 3" })),
  ).types("run", "wait", "r-1");
  expect(exit).toBe(want);
  expect(err).toContain(`run r-1 ended as ${state}: a: exit 3`);
});

test("with --logs each line stands behind its step", async () => {
  const { exit, out } = await person(service(running, done)).types("pipeline", "run", "p", "--logs");
  expect([exit, out]).toEqual([0, "build | hello\n"]);
});

test("a service that is away for a moment is asked again", async () => {
  let asks = 0;
  const answers = service(running, done);
  const away: Answer = {
    status: 503,
    body: { type: "about:blank", title: "x", status: 503, code: "unavailable", detail: "not now" },
  };
  const { exit } = await person((seen) => (seen.operation === "getRun" && ++asks === 1 ? away : answers(seen))).types(
    "pipeline",
    "run",
    "p",
    "--wait",
  );
  expect([exit, asks]).toEqual([0, 2]);
});

test("waiting too long exits 5 and says what it waits for", async () => {
  const { exit, err } = await person(service(waits)).types("run", "wait", "r-1", "--timeout", "1ms");
  expect([exit, err]).toEqual([5, expect.stringContaining("ok waits for approval: outpost run approve r-1 ok")]);
});

test("a decision is sent with its comment, and more approvals are asked for", async () => {
  const me = person(service(waits));
  const { err } = await me.types("run", "approve", "r-1", "ok", "-m", "fine");
  expect(me.requests[0]!.url.pathname).toBe("/v1/runs/r-1/steps/ok/approve");
  expect(me.requests[0]!.body).toEqual({ comment: "fine" });
  expect(err).toContain("step ok approved; more approvals are needed");
});

test("what a terminal shows is redrawn in place and cut at its width", () => {
  let text = "";
  const io = {
    env: { NO_COLOR: "1" },
    err: { isTTY: true, columns: 24, write: (t: string) => (text += t) },
    out: { isTTY: true, write() {} },
  } as never;
  const view = new RunView(io, true);
  view.show(running);
  view.show(done);
  view.end();
  const pictures = text.split("\u001b[2A");
  expect(pictures).toHaveLength(3);
  for (const line of pictures.flatMap((p) => p.split("\n").filter(Boolean)))
    expect(line.replace("\r", "").replace("\u001b[K", "").length).toBeLessThanOrEqual(24);
  expect(pictures[1]).toMatch(/✓ build {2}Succeeded/);
});

test("hostile texts cannot reach the terminal", () => {
  const lines = stepLines(
    run("Failed", [{ id: "a", state: "Failed", message: "\u001b[2Jgone\nnext" }]),
    colours(false),
  );
  expect(lines).toHaveLength(1);
  for (const bad of ["\u001b", "\n"]) expect(lines[0]).not.toContain(bad);
  expect(waitsFor(waits)).toContain("outpost run approve r-1 ok");
});
