import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureAccount, openStore } from "../store/store.ts";
import { templateStore } from "../testing/database.ts";
import { FIRST_ACCOUNT, firstStart } from "./bootstrap.ts";
import { loadMasterKeys, MasterKeyError, MasterKeys, parseMasterKeys } from "./master.ts";
import { loadSigner } from "./signer.ts";

const [a, b] = [randomBytes(32), randomBytes(32)];

test("what one key wraps it opens for the same row only, and no other key does", () => {
  const keys = new MasterKeys([a]);
  const text = keys.wrap("row", "seed");
  expect(text).toMatch(/^w1\.[0-9a-f]{16}\./);
  expect(text).not.toContain("seed");
  expect(keys.unwrap("row", text)).toBe("seed");
  expect(() => keys.unwrap("other", text)).toThrow(MasterKeyError);
  expect(() => keys.unwrap("row", `${text.slice(0, -2)}AA`)).toThrow(/backup/);
  expect(() => new MasterKeys([b]).unwrap("row", text)).toThrow(/OUTPOST_MASTER_KEY_FILE/);
  expect(() => new MasterKeys([]).unwrap("row", text)).toThrow(/OUTPOST_MASTER_KEY_FILE/);
  expect(new MasterKeys([b, a]).unwrap("row", text)).toBe("seed");
  expect(new MasterKeys([]).unwrap("row", "seed")).toBe("seed");
});

test.each<[name: string, text: string, want: "taken" | RegExp]>([
  ["base64", a.toString("base64"), "taken"],
  ["base64url", a.toString("base64url"), "taken"],
  ["hexadecimal", a.toString("hex"), "taken"],
  ["several with a comment", `# new\n${a.toString("base64")}\n\n${b.toString("base64")}\n`, "taken"],
  ["too short", randomBytes(16).toString("base64"), /line 1 .* 32 bytes/],
  ["a password", "correct horse battery staple", /line 1/],
  ["nothing", "\n", /has no key/],
])("a master key: %s", (_, text, want) => {
  if (want === "taken") expect(parseMasterKeys(text, "the file").some).toBe(true);
  else expect(() => parseMasterKeys(text, "the file")).toThrow(want);
});

test("an installation of its own makes one file that only its user reads, and finds it again", async () => {
  const dir = await mkdtemp(join(tmpdir(), "outpost-master-"));
  try {
    const file = join(dir, "data", "master-key");
    const first = await loadMasterKeys({}, file);
    expect(first.made).toBe(file);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const again = await loadMasterKeys({}, file);
    expect(again.made).toBeUndefined();
    expect(again.keys.unwrap("r", first.keys.wrap("r", "x"))).toBe("x");
    expect((await readFile(file, "utf8")).trim()).toHaveLength(44);
    await expect(loadMasterKeys({ file: join(dir, "absent") })).rejects.toThrow(/OUTPOST_MASTER_KEY_FILE/);
    await expect(loadMasterKeys({ text: "x", file: "y" })).rejects.toThrow(/not both/);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

test("the first key of an older version gives webhooks the same secrets, and its private half goes with the next rotation", async () => {
  const db = await openStore({ template: await templateStore() });
  try {
    await ensureAccount(db, FIRST_ACCOUNT);
    const made = await loadSigner(db, FIRST_ACCOUNT, new MasterKeys([a]));
    made.close();
    await db.query("update service_keys set hook_key = ''");
    const row = (await db.query("select id, private_key from service_keys"))[0]!;
    const seed = new MasterKeys([a]).unwrap(row.id, row.private_key);
    const signer = await loadSigner(db, FIRST_ACCOUNT, new MasterKeys([a]));
    const hook = { account: "default", uid: "00000000-0000-4000-8000-000000000000" };
    const secret = () => signer.hookSecret(hook, { version: 2, rotation: 0 })?.reveal();
    const address = signer.hookId(hook);
    const key = Buffer.from(hkdfSync("sha256", seed, "outpost", "webhook-secret", 32));
    expect(secret()).toBe(createHmac("sha256", key).update(`default\n${hook.uid}\n2`).digest("base64url"));
    expect(await signer.openHookId(address!)).toEqual({ ...hook, key: signer.keyId });
    const before = secret();
    await db.transaction((tx) => signer.rotate(tx));
    await signer.refresh();
    const [first] = await db.query("select private_key, hook_key from service_keys order by number");
    expect([first!.private_key, first!.hook_key.startsWith("w1."), secret(), signer.hookId(hook)]).toEqual([
      "",
      true,
      before,
      address,
    ]);
    // A hook key is bound to its place as much as a private key is.
    await db.query(
      "update service_keys set private_key = (select hook_key from service_keys where number = 1) where number = 1",
    );
    await expect(loadSigner(db, FIRST_ACCOUNT, new MasterKeys([a]))).rejects.toThrow(MasterKeyError);
    signer.close();
  } finally {
    await db.close();
  }
}, 60_000);

test("a key in clear is wrapped at the next start, moves to a new master key, and is never written in clear again", async () => {
  const db = await openStore({ template: await templateStore() });
  const dir = await mkdtemp(join(tmpdir(), "outpost-master-"));
  try {
    await firstStart(db, dir, undefined);
    const stored = async () =>
      (await db.query("select private_key, hook_key from service_keys order by number")).flatMap((row): string[] => [
        row.private_key,
        row.hook_key,
      ]);
    const clear = await loadSigner(db, FIRST_ACCOUNT);
    const { publicKey } = clear;
    const hook = { account: "default", uid: "00000000-0000-4000-8000-000000000000" };
    const secretOf = (signer: typeof clear, key?: string) =>
      signer.hookSecret(hook, { key, version: 1, rotation: 0 })?.reveal();
    const secret = secretOf(clear);
    clear.close();
    const [seed, hookKey] = await stored();
    const wrapped = await loadSigner(db, FIRST_ACCOUNT, new MasterKeys([a]));
    expect((await stored())[0]).toMatch(/^w1\./);
    for (const text of [seed, hookKey]) expect(JSON.stringify(await stored())).not.toContain(text);
    expect([wrapped.publicKey, secretOf(wrapped)]).toEqual([publicKey, secret]);
    const [nonce, lease] = [wrapped.makeNonce(Date.now()), { account: "default", task: "t-1", fence: 1 }];
    const token = wrapped.taskToken(lease).split("_").slice(4).join("_");
    await db.transaction((tx) => wrapped.rotate(tx));
    await wrapped.refresh();
    // Of the key before only its part for webhooks stays.
    expect((await stored()).map((text) => text.slice(0, 3))).toEqual(["", "w1.", "w1.", "w1."]);
    expect(new Set([secret, secretOf(wrapped), secretOf(wrapped, wrapped.keyId)]).size).toBe(2);
    // For a moment on the replica that knew the key before; not on one that starts now.
    expect(wrapped.fitsNonce(nonce, Date.now())).toBe(true);
    const fresh = await loadSigner(db, FIRST_ACCOUNT, new MasterKeys([b, a]));
    expect([fresh.fitsNonce(nonce, Date.now()), fresh.fitsTaskToken(lease, token)]).toEqual([false, false]);
    expect(secretOf(fresh)).toBe(secret);
    const moved = await loadSigner(db, FIRST_ACCOUNT, new MasterKeys([b]));
    expect(moved.publicKey).toBe(fresh.publicKey);
    await expect(loadSigner(db, FIRST_ACCOUNT, new MasterKeys([a]))).rejects.toThrow(MasterKeyError);
    await expect(loadSigner(db, FIRST_ACCOUNT)).rejects.toThrow(/OUTPOST_MASTER_KEY_FILE/);
    for (const one of [wrapped, fresh, moved]) one.close();
  } finally {
    await db.close();
    await rm(dir, { recursive: true, force: true });
  }
}, 60_000);
