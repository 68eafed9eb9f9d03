import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { trimAudit } from "../../audit-trim.ts";
import { trimAll } from "../../sweeper.ts";
import { startService, type TestService } from "../../testing/service.ts";

let s: TestService;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "outpost-audit-"));
  s = await startService({ env: { OUTPOST_AUDIT_RETENTION: "30d", OUTPOST_AUDIT_EXPORT_DIR: join(dir, "kept") } });
}, 60_000);
afterAll(async () => {
  await s?.stop();
  await rm(dir, { recursive: true, force: true });
});

const DAY = 86_400;
async function fill(count: number, daysAgo: number, change: { actor?: string; org?: string } = {}): Promise<void> {
  await s.db.query(
    `insert into audit (account, at, actor, operation, org, project, target, outcome)
     select 'default', now() - make_interval(secs => $2::float) + n * interval '1 millisecond', $3, 'putAgent', $4, '', 'x', 'accepted' from generate_series(1, $1::int) n`,
    [count, daysAgo * DAY, change.actor ?? "key:a", change.org ?? ""],
  );
}
const clear = () => s.db.query("delete from audit");
const count = async () => (await s.db.query("select count(*)::int n from audit"))[0]!.n as number;
const ago = (days: number) => encodeURIComponent(new Date(Date.now() - days * DAY * 1_000).toISOString());
const lines = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

beforeEach(clear);

test("the trail of a time is exported as JSON lines, oldest first, over many pages", async () => {
  await fill(2_500, 10);
  await fill(3, 5);
  await fill(7, 1);
  const all = await s.ask("GET", "/v1/audit/export");
  expect(all.headers.get("content-type")).toMatch(/^application\/x-ndjson/);
  const seqs = lines(all.text).map((line) => line.seq);
  expect(seqs).toHaveLength(2_510);
  expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  expect(lines((await s.ask("GET", `/v1/audit/export?since=${ago(6)}&until=${ago(2)}`)).text)).toHaveLength(3);
  expect((await s.ask("GET", `/v1/audit?since=${ago(6)}&until=${ago(2)}`)).body.items).toHaveLength(3);
});

test("as CSV, in which no field is a formula", async () => {
  await fill(1, 1, { actor: '=cmd("x"),1' });
  const { text, headers } = await s.ask("GET", "/v1/audit/export?format=csv");
  expect(headers.get("content-type")).toMatch(/^text\/csv/);
  expect(text.split("\r\n")[0]).toBe("seq,at,actor,address,operation,org,project,target,outcome,code,request,changes");
  expect(text).toContain(`"'=cmd(""x""),1"`);
});

test("lines are found by actor, kind of object, target, outcome and text, and say what a write changed", async () => {
  await s.ask("PUT", "/v1/organizations/shop", { body: { spec: { name: "Shop" } } });
  await s.ask("PATCH", "/v1/organizations/shop", { body: { spec: { name: "The Shop", description: "sells" } } });
  await s.ask("DELETE", "/v1/organizations/shop");
  await s.ask("DELETE", "/v1/projects/none?org=nowhere");
  await fill(3, 1, { actor: "key:Ben" });
  const found = async (query: string) => {
    const { body } = await s.ask("GET", `/v1/audit?${query}`);
    return body.items?.map(({ operation }: { operation: string }) => operation) ?? body;
  };
  const onShop = ["deleteOrganization", "patchOrganization", "putOrganization"];
  expect(await found("noun=organizations")).toEqual(onShop);
  expect(await found("target=shop")).toEqual(onShop);
  expect(await found("target=-%2F-%2Fshop&text=the%20shop")).toEqual(["deleteOrganization", "patchOrganization"]);
  expect(await found("actor=ben")).toEqual(Array(3).fill("putAgent"));
  expect((await found("outcome=accepted")).length).toBe(6);
  expect(await found("text=100%25")).toEqual([]);
  expect(lines((await s.ask("GET", "/v1/audit/export?noun=organizations")).text)).toHaveLength(3);
  const { items } = (await s.ask("GET", "/v1/audit?noun=organizations")).body;
  expect(items.map(({ changes }: { changes: unknown }) => changes)).toEqual([
    [
      { path: "/description", before: "sells" },
      { path: "/name", before: "The Shop" },
    ],
    [
      { path: "/description", after: "sells" },
      { path: "/name", before: "Shop", after: "The Shop" },
    ],
    [{ path: "/name", after: "Shop" }],
  ]);
  const wrong = await s.ask("GET", "/v1/audit?noun=application");
  expect([wrong.status, wrong.body.detail]).toEqual([400, expect.stringContaining("Did you mean `applications`?")]);
});

test("a filter that nothing fits looks through a bounded part, and the next page goes on behind it", async () => {
  await fill(3, 3, { actor: "key:early" });
  await fill(20_500, 1);
  const first = (await s.ask("GET", "/v1/audit?actor=early")).body;
  expect(first.items).toEqual([]);
  const second = (await s.ask("GET", `/v1/audit?actor=early&cursor=${first.nextCursor}`)).body;
  expect([second.items.length, second.nextCursor]).toEqual([3, undefined]);
});

test("of its own scope and below only, for an admin only, and a time that is none is refused", async () => {
  await s.ask("PUT", "/v1/organizations/o1", { body: { spec: {} } });
  await fill(2, 1, { org: "o1" });
  await fill(2, 1, { org: "o2" });
  const make = async (id: string, role: string, query: string) =>
    (await s.ask("POST", `/v1/apikeys${query}`, { body: { id, role } })).body.key as string;
  const key = await make("a", "admin", "?org=o1");
  const seen = lines((await s.ask("GET", "/v1/audit/export?org=o1", { key })).text);
  expect(new Set(seen.map((line) => line.org))).toEqual(new Set(["o1"]));
  expect((await s.ask("GET", "/v1/audit/export", { key })).status).toBe(404);
  expect((await s.ask("GET", "/v1/audit/export?org=o1", { key: await make("v", "viewer", "?org=o1") })).status).toBe(
    403,
  );
  for (const query of ["since=yesterday", `since=${ago(1)}&until=${ago(2)}`])
    expect((await s.ask("GET", `/v1/audit/export?${query}`)).status).toBe(400);
});

test("what is older than the retention is written to the day's file, and only then removed", async () => {
  await fill(6_000, 40);
  await fill(5, 1);
  await trimAll(s.running.services);
  expect(await count()).toBe(5);
  const day = new Date(Date.now() - 40 * DAY * 1_000).toISOString().slice(0, 10);
  const path = join(dir, "kept", `audit-default-${day}.jsonl.gz`);
  const kept = lines(gunzipSync(await readFile(path)).toString());
  expect(kept).toHaveLength(6_000);
  expect(kept[0]).toMatchObject({ account: "default", actor: "key:a", operation: "putAgent", outcome: "accepted" });
});

test("without a folder to write to nothing is removed; without a folder asked for it is; with 0 it never is", async () => {
  await fill(10, 500);
  const blocked = join(dir, "blocked");
  await mkdir(dir, { recursive: true });
  await writeFile(blocked, "a file, not a folder");
  await expect(trimAudit(s.db, { retentionSeconds: DAY, exportDir: blocked })).rejects.toThrow();
  expect(await count()).toBe(10);
  expect(await trimAudit(s.db, { retentionSeconds: 0, exportDir: undefined })).toBe(0);
  expect(await trimAudit(s.db, { retentionSeconds: 600 * DAY, exportDir: undefined })).toBe(0);
  expect(await trimAudit(s.db, { retentionSeconds: DAY, exportDir: undefined })).toBe(10);
  expect(await count()).toBe(0);
});

test("no name in a path keeps a refused call out of the trail, or makes its line long", async () => {
  for (const name of ["web%00", "%00", "a".repeat(8_000), `${"a".repeat(507)}%F0%9F%98%80`])
    expect((await s.ask("DELETE", `/v1/applications/${name}`)).status).toBe(400);
  const { items } = (await s.ask("GET", "/v1/audit")).body;
  expect(items).toHaveLength(4);
  expect(items.map(({ operation, outcome }: Record<string, string>) => `${operation} ${outcome}`)).toEqual(
    Array(4).fill("deleteApplication refused"),
  );
  expect(
    items
      .map(({ target }: { target: string }) => target.slice(0, 12))
      .reverse()
      .slice(0, 2),
  ).toEqual(["-/-/web\u2400", "-/-/\u2400"]);
  for (const { target } of items) expect(target.length).toBeLessThanOrEqual(512);
});
