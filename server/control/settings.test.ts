import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { firstStart } from "./access/bootstrap.ts";
import { makeLogger, redact } from "./log.ts";
import { readListen, readSettings } from "./settings.ts";
import { openStore } from "./store/store.ts";
import { templateStore } from "./testing/database.ts";

test.each<[string, { host: string; port: number } | undefined]>([
  ["127.0.0.1:8080", { host: "127.0.0.1", port: 8080 }],
  ["8080", { host: "127.0.0.1", port: 8080 }],
  [":8080", { host: "0.0.0.0", port: 8080 }],
  ["[::1]:80", { host: "::1", port: 80 }],
  ["localhost:0", { host: "localhost", port: 0 }],
  ["localhost", undefined],
  ["x:99999", undefined],
  ["", undefined],
])("OUTPOST_LISTEN=%s", (text, want) => {
  if (want) expect(readListen(text)).toEqual(want);
  else expect(() => readListen(text)).toThrow(/OUTPOST_LISTEN/);
});

test("settings that cannot be used say which", () => {
  expect(() => readSettings({ OUTPOST_PUBLIC_URL: "ftp://x" })).toThrow(/OUTPOST_PUBLIC_URL/);
  expect(() => readSettings({ OUTPOST_LOG_LEVEL: "loud" })).toThrow(/OUTPOST_LOG_LEVEL/);
  expect(readSettings({ OUTPOST_PUBLIC_URL: "https://x/" }).publicUrl).toBe("https://x");
});

test("no credential reaches the log, whatever carries it", () => {
  const lines: string[] = [];
  const log = makeLogger("debug", { write: (line) => void lines.push(line) });
  const secret = `opk_default_${"s".repeat(43)}`;
  log.info(
    {
      headers: { authorization: secret },
      body: { spec: { credentials: { password: secret } } },
      token: secret,
      key: secret,
    },
    "x",
  );
  log.error(
    { err: Object.assign(new Error(`refused ${secret} at postgres://u:hunter2@h/db`), { parameters: [secret] }) },
    "y",
  );
  expect(lines).toHaveLength(2);
  expect(lines.join("")).not.toMatch(/s{10}|hunter2/);
  expect(redact("ot1_default-1_abcdefgh_ijk")).toBe("ot1_[secret]");
});

describe("the first start", () => {
  test("makes a key in a file that only we can read; a start that was cut off goes on with it; later ones make none", async () => {
    const dir = await mkdtemp(join(tmpdir(), "outpost-first-"));
    const db = await openStore({ template: await templateStore() });
    const path = join(dir, "admin-key");
    await writeFile(path, "half a k", { mode: 0o644 });
    expect(await firstStart(db, dir, undefined)).toEqual({ path });
    const key = await readFile(path, "utf8");
    expect(key).toMatch(/^opk_default_[A-Za-z0-9_-]{43}\n$/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await firstStart(db, dir, undefined)).toEqual({ path: undefined });
    // Cut off between the file and the store.
    await db.query("delete from api_keys");
    await firstStart(db, dir, undefined);
    expect(await readFile(path, "utf8")).toBe(key);
    await db.close();
    await rm(dir, { recursive: true });
  });
  test("takes a preset key, replaces it when it changes, and refuses one that is none", async () => {
    const db = await openStore({ template: await templateStore() });
    const preset = (c: string) => `opk_default_${c.repeat(43)}`;
    for (const c of ["A", "A", "B"]) await firstStart(db, "/nonexistent", preset(c));
    expect(await db.query("select id, role from api_keys")).toEqual([{ id: "admin", role: "admin" }]);
    await expect(firstStart(db, "/nonexistent", "secret")).rejects.toThrow(/OUTPOST_ADMIN_KEY/);
    await db.close();
  });
});
