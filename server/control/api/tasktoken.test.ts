import { within } from "../../../test/within.ts";
import { delegatesOf, type Leased } from "../testing/delegates.ts";
import { eventually, startService, type TestService } from "../testing/service.ts";
import type { TestWorker } from "../testing/worker.ts";

let s: TestService;
let w: TestWorker;
beforeAll(async () => {
  s = await startService();
  for (const org of ["o1", "o2"]) {
    await s.ask("PUT", `/v1/organizations/${org}`, { body: { spec: {} } });
    await s.ask("PUT", `/v1/projects/p1?org=${org}`, { body: { spec: {} } });
  }
  w = await replica("d");
}, 60_000);
afterAll(() => s?.stop());
const { replica, create, take, end, keep } = delegatesOf(() => s);

const file = (leased: Leased, token: string | undefined, query: string) =>
  s.ask("GET", `/v1/tasks/${leased.task}/artifacts/a${query}`, { key: token });
/** A running task with a file `a`. */
async function running(query: string): Promise<Leased> {
  await create({}, query);
  const leased = await take(w);
  expect((await keep(w, leased, "a", Buffer.from(leased.task))).status).toBe(200);
  return leased;
}

test("a lease's token is bound to its account, task, scope and fence, and stands in what the service signs", async () => {
  const leased = await running("?org=o1&project=p1");
  expect(leased.scope).toEqual({ account: "default", org: "o1", project: "p1" });
  expect(leased.token).toMatch(new RegExp(`^ott_default_${leased.task}_${leased.fence}_[A-Za-z0-9_-]{43}$`));
  expect((await file(leased, leased.token, "?org=o1&project=p1")).text).toBe(leased.task);
  await end(w, leased);
});

test("500 uses for another task, another scope, another fence, or after its end: all are refused", async () => {
  const mine = await running("?org=o1&project=p1");
  const other = await running("?org=o2&project=p1");
  const token = mine.token!;
  const ended = await running("?org=o1&project=p1");
  await end(w, ended);
  const swap = (from: string, to: string) => token.replace(from, to);
  const flip = (i: number) => {
    const at = token.length - 1 - (i % 43);
    return `${token.slice(0, at)}${token[at] === "x" ? "y" : "x"}${token.slice(at + 1)}`;
  };
  const uses: [string, (i: number) => Promise<{ status: number }>][] = [
    ["a file of another scope's task", () => file(other, token, "?org=o2&project=p1")],
    ["another scope's task, asked for in its own scope", () => file(other, token, "?org=o1&project=p1")],
    ["its own file in the scope above", () => file(mine, token, "?org=o1")],
    ["its own file in no scope", () => file(mine, token, "")],
    ["another task's id in the token", () => file(other, swap(mine.task, other.task), "?org=o2&project=p1")],
    ["another account in the token", () => file(mine, swap("ott_default_", "ott_other_"), "?org=o1&project=p1")],
    [
      "the next fence in the token",
      () => file(mine, swap(`_${mine.fence}_`, `_${mine.fence + 1}_`), "?org=o1&project=p1"),
    ],
    ["one character changed", (i) => file(mine, flip(i), "?org=o1&project=p1")],
    ["a task that has ended", () => file(mine, ended.token, "?org=o1&project=p1")],
    [
      "an operation that is not for tasks",
      () => s.ask("GET", `/v1/tasks/${mine.task}?org=o1&project=p1`, { key: token }),
    ],
  ];
  const through: string[] = [];
  for (let i = 0; i < 500; i++) {
    const [name, use] = uses[i % uses.length]!;
    const { status } = await use(i);
    if (status !== 401 && status !== 404) through.push(`${name}: ${status}`);
  }
  expect(through).toEqual([]);
  expect((await file(mine, token, "?org=o1&project=p1")).status).toBe(200);
  await end(w, mine);
  expect((await file(mine, token, "?org=o1&project=p1")).status).toBe(401);
  await end(w, other);
}, 60_000);

test("a token is dead within 5 s after its lease's time ran out, though nobody has ended the task", async () => {
  const leased = await running("");
  expect((await file(leased, leased.token, "")).status).toBe(200);
  await s.db.query("update tasks set lease_expires_at = now() + interval '1 second' where id = $1", [leased.task]);
  await eventually(
    "the token is refused",
    async () => (await file(leased, leased.token, "")).status === 401,
    within(5_000),
  );
});

test("what a task does stands in the audit trail under its name", async () => {
  const leased = await running("");
  expect((await s.ask("POST", "/v1/applications/missing/refresh", { key: leased.token, body: {} })).status).toBe(404);
  const { items } = (await s.ask("GET", "/v1/audit")).body;
  expect(items[0]).toMatchObject({ actor: `task:${leased.task}`, operation: "refreshApplication", outcome: "refused" });
  expect((await s.ask("GET", "/v1/applications?inherited=true", { key: leased.token })).status).toBe(403);
  await end(w, leased);
});
