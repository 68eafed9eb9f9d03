import { createHash, randomBytes } from "node:crypto";
import { PIECE_BYTES } from "../tasks/artifacts.ts";
import { delegatesOf } from "../testing/delegates.ts";
import { startService, type TestService } from "../testing/service.ts";
import type { TestWorker } from "../testing/worker.ts";

let s: TestService;
let w: TestWorker;
beforeAll(async () => {
  s = await startService({ env: { OUTPOST_ARTIFACT_MAX_MIB: "300" } });
  w = await replica("d");
}, 60_000);
afterAll(() => s?.stop());
const { replica, create, task, take, end, keep } = delegatesOf(() => s);
const MIB = 1024 * 1024;

const read = async (id: string, name: string) => {
  const answer = await fetch(`${s.url}/v1/tasks/${id}/artifacts/${name}`, {
    headers: { authorization: `Bearer ${s.admin}` },
  });
  return { answer, bytes: Buffer.from(await answer.arrayBuffer()) };
};

test.each([0, 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 7])(
  "a file of %d bytes is given back as it was",
  async (size) => {
    await create();
    const leased = await take(w);
    const bytes = randomBytes(size);
    const kept = await keep(w, leased, "out.bin", bytes);
    expect([kept.status, kept.body]).toMatchObject([200, { name: "out.bin", size }]);
    const { answer, bytes: got } = await read(leased.task, "out.bin");
    expect(answer.headers.get("content-type")).toBe("application/octet-stream");
    expect(answer.headers.get("etag")).toBe(`"${createHash("sha256").update(bytes).digest("hex")}"`);
    expect(got.equals(bytes)).toBe(true);
    expect((await task(leased.task)).artifacts).toMatchObject([{ name: "out.bin", size }]);
    await end(w, leased);
  },
);

test("the same name again replaces the file, and nothing is left of the first", async () => {
  await create();
  const leased = await take(w);
  await keep(w, leased, "a", Buffer.from("first"));
  await keep(w, leased, "a", Buffer.from("second"));
  expect((await read(leased.task, "a")).bytes.toString()).toBe("second");
  const [row] = await s.db.query("select count(*)::int n from artifact_pieces where data = 'first'::bytea");
  expect(row!.n).toBe(0);
  await end(w, leased);
});

test("a file whose checksum does not fit is refused by name, and not kept", async () => {
  await create();
  const leased = await take(w);
  const answer = await keep(w, leased, "a", Buffer.from("x"), { sha256: "0".repeat(64) });
  expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
  expect((await read(leased.task, "a")).answer.status).toBe(404);
  await end(w, leased);
});

test("only who holds the lease may keep files", async () => {
  await create();
  const leased = await take(w);
  const other = await replica("other");
  expect((await keep(other, leased, "a", Buffer.from("x"))).body.code).toBe("stale_fence");
  expect((await keep(w, { ...leased, fence: leased.fence + 1 }, "a", Buffer.from("x"))).body.code).toBe("stale_fence");
  await end(w, leased);
  expect((await keep(w, leased, "a", Buffer.from("x"))).body.code).toBe("stale_fence");
});

test("a file, a task and an account have bounds, each refused by its name", async () => {
  await create();
  const leased = await take(w);
  // The service answers before the whole body has come and closes; some clients see the closed connection only.
  const large = await keep(w, leased, "large", Buffer.alloc(64 * MIB + 1)).catch(() => undefined);
  if (large) expect(large.body.code).toBe("body_too_large");
  const claim = (id: string, name: string, size: number) =>
    s.db.query("insert into task_artifacts values ('default', $1, $2, $2, $3, '', now())", [id, name, size]);
  await claim(leased.task, "much", 255 * MIB);
  const second = await keep(w, leased, "a", Buffer.alloc(2 * MIB));
  expect([second.body.code, second.body.detail]).toEqual([
    "body_too_large",
    expect.stringMatching(/one task may have 256 MiB/),
  ]);
  expect((await task(leased.task)).artifacts).toHaveLength(1);
  await end(w, leased);

  await create();
  const next = await take(w);
  await claim(leased.task, "more", 44 * MIB);
  const third = await keep(w, next, "a", Buffer.alloc(2 * MIB));
  expect([third.body.code, third.body.detail]).toEqual([
    "body_too_large",
    expect.stringMatching(/OUTPOST_ARTIFACT_MAX_MIB/),
  ]);
  expect((await task(next.task)).artifacts).toBeUndefined();
  await end(w, next);
}, 60_000);
