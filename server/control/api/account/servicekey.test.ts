import { createHmac } from "node:crypto";
import { type PostgresServer, startPostgres } from "../../../../test/servers/postgres.ts";
import { ed25519Verify } from "../../../base/crypto/ed25519.ts";
import { hashCredential, makeApiKey } from "../../access/apikey.ts";
import type { Database } from "../../store/database/sql.ts";
import { insertKey } from "../../store/identity/keys.ts";
import { ensureAccount, openStore } from "../../store/store.ts";
import { ask, eventually, startService, type TestService } from "../../testing/service.ts";
import { TestWorker } from "../../testing/worker.ts";

/** The service's own key is replaced, with two replicas on one PostgreSQL. */
let postgres: PostgresServer;
let a: TestService;
let b: TestService;
beforeAll(async () => {
  postgres = await startPostgres();
  const { url } = await postgres.database();
  a = await startService({ db: await openStore({ url, poolSize: 8 }) });
  b = await startService({ db: await openStore({ url, poolSize: 8 }) });
}, 120_000);
afterAll(async () => {
  await Promise.all([a?.stop(), b?.stop()]);
  await postgres?.stop();
});

const greeting = async ({ url }: TestService) =>
  (await ask(url, "GET", "/v1/worker/hello?nonce=0123456789abcdef")).body;
const rotate = (headers = {}) => a.ask("POST", "/v1/servicekey/rotate", { headers });

test("the old key names the new one, both replicas sign with it at once, and it is written who asked for that", async () => {
  const before = await greeting(b);
  expect(before.successors).toBeUndefined();
  const made = await rotate();
  expect([made.status, made.body.publicKey === before.publicKey]).toEqual([200, false]);
  for (const replica of [a, b]) {
    const now = await greeting(replica);
    expect(now).toMatchObject(made.body);
    expect(ed25519Verify(now.publicKey, `outpost/hello/v1\n0123456789abcdef\n${now.nonce}`, now.signature)).toBe(true);
    expect(now.successors).toMatchObject([{ from: before.publicKey, to: now.publicKey }]);
    expect(ed25519Verify(before.publicKey, `outpost/successor/v1\n${now.publicKey}`, now.successors[0].signature)).toBe(
      true,
    );
  }
  const { items } = (await a.ask("GET", "/v1/audit")).body;
  expect(items[0]).toMatchObject({ operation: "rotateServiceKey", outcome: "accepted" });
});

test("a replica that nobody has asked since hears of it, and signs work for an open session with the new key", async () => {
  await a.ask("PUT", "/v1/delegates/d", { body: { spec: {} } });
  const { token } = (await a.ask("POST", "/v1/delegates/d/tokens", { body: {} })).body;
  const worker = await (await new TestWorker(b.url).enrol(token)).open();
  const { publicKey } = (await rotate()).body;
  await eventually("the other replica has it", async () => b.running.services.signer.publicKey === publicKey);
  await a.ask("POST", "/v1/tasks", { body: { kind: "shell.run", params: { script: "true" } } });
  worker.servicePublicKey = publicKey;
  expect((await worker.exchange({ wait: 5, free: 1 })).tasks).toHaveLength(1);
});

test("addresses and secrets of webhooks, nonces and kept answers outlive the key", async () => {
  await a.ask("PUT", "/v1/webhooks/w", { body: { spec: { provider: "github" } } });
  const secret = async (s: TestService) =>
    (await ask(s.url, "GET", "/v1/webhooks/w/secret", { key: a.admin })).body.secret;
  const nonce = a.running.services.signer.makeNonce(Date.now());
  const before = await secret(a);
  const keyed = { "idempotency-key": "once" };
  const first = (await rotate(keyed)).body;
  expect([await secret(a), await secret(b)]).toEqual([before, before]);
  expect(b.running.services.signer.fitsNonce(nonce, Date.now())).toBe(true);
  // The same request again is the same rotation.
  expect((await rotate(keyed)).body).toEqual(first);
  expect((await greeting(a)).publicKey).toBe(first.publicKey);
});

const rotateHook = (s: TestService, id: string, overlap: string) =>
  ask(s.url, "POST", `/v1/webhooks/${id}/secret/rotate`, { key: a.admin, body: { overlap } });
const hookOf = async (s: TestService, id: string) => {
  const { url, secret } = (await ask(s.url, "GET", `/v1/webhooks/${id}/secret`, { key: a.admin })).body;
  return { path: new URL(url).pathname, secret: secret as string };
};
/** The status code of a call at this address that is signed with this secret. */
const call = async (s: TestService, path: string, secret: string) => {
  const headers = { authorization: `Bearer ${secret}` };
  return (await ask(s.url, "POST", path, { headers, body: { repositories: ["https://git.example/a"] } })).status;
};

test("a webhook that is rotated after the service's key depends on the new key alone, at every replica", async () => {
  await a.ask("PUT", "/v1/webhooks/old", { body: { spec: { provider: "generic" } } });
  // As a version of the service that could not rotate has stored it.
  await a.db.query("update objects set status = status - 'secretKey' where id = 'old'");
  const old = await hookOf(a, "old");
  const { keyId } = (await rotate()).body;
  expect(await hookOf(b, "old")).toEqual(old);
  const { status } = (await rotateHook(b, "old", "1h")).body;
  expect([status.secretKey, status.previousSecretKey]).toEqual([keyId, undefined]);
  const fresh = await hookOf(a, "old");
  expect(fresh.path).toContain(keyId);
  for (const s of [a, b])
    for (const path of [old.path, fresh.path])
      expect([await call(s, path, old.secret), await call(s, path, fresh.secret)]).toEqual([202, 202]);
  await a.db.query(
    "update objects set status = status || jsonb_build_object('previousSecretUntil', (now() - interval '1 second')::text) where id = 'old'",
  );
  for (const s of [a, b]) {
    expect([await call(s, fresh.path, old.secret), await call(s, fresh.path, fresh.secret)]).toEqual([401, 202]);
    expect([await call(s, old.path, old.secret), await call(s, old.path, fresh.secret)]).toEqual([401, 401]);
  }
});

test("a thief of a dump with the first key forges no call to a webhook that was rotated since", async () => {
  await a.ask("PUT", "/v1/webhooks/stolen", { body: { spec: { provider: "generic" } } });
  const dump = await a.db.query("select id, hook_key from service_keys where account = '' order by number");
  const { uid } = (await a.ask("GET", "/v1/webhooks/stolen")).body;
  const { keyId } = (await rotate()).body;
  await rotateHook(a, "stolen", "0s");
  const { status } = (await a.ask("GET", "/v1/webhooks/stolen")).body;
  const now = await hookOf(a, "stolen");
  expect(await call(b, now.path, now.secret)).toBe(202);
  // The thief also knows what the API shows of the webhook: its uid, version, rotations, and the address.
  for (const { id, hook_key } of dump) {
    if (!hook_key) continue;
    const keys = Buffer.from(hook_key, "base64url");
    const name = Buffer.from(uid.replaceAll("-", ""), "hex");
    const proof = createHmac("sha256", keys.subarray(0, 32)).update(`default\n${uid}`).digest().subarray(0, 16);
    const data = Buffer.concat([name, proof]).toString("base64url");
    const paths = [
      now.path,
      ...[`default_${data}`, `default_${id}_${data}`, `default_${keyId}_${data}`].map((one) => `/v1/hooks/${one}`),
    ];
    const texts = ["1", `1\n${status.secretRotation}`].map((rest) => `default\n${uid}\n${rest}`);
    for (const text of texts)
      for (const path of paths) {
        const secret = createHmac("sha256", keys.subarray(32)).update(text).digest("base64url");
        expect([path, await call(a, path, secret)]).toEqual([path, 401]);
      }
  }
});

test("a new webhook uses the current key at once, also where a replica has not heard of it", async () => {
  const { signer } = b.running.services;
  const known = signer.keyId;
  // The rotation of another replica, of which nothing was told yet.
  await a.db.transaction((tx) =>
    a.running.services.signer.rotate({ query: tx.query.bind(tx), notify: () => undefined } as typeof tx),
  );
  expect(signer.keyId).toBe(known);
  const { body } = await ask(b.url, "PUT", "/v1/webhooks/fresh", {
    key: a.admin,
    body: { spec: { provider: "generic" } },
  });
  expect(body.status.secretKey).not.toBe(known);
  const { path, secret } = await hookOf(a, "fresh");
  expect([body.status.url.endsWith(path), await call(a, path, secret), await call(b, path, secret)]).toEqual([
    true,
    202,
    202,
  ]);
});

test("many at once follow one another, and only the last key keeps its private half", async () => {
  const made = await Promise.all(
    [a, b, a, b].map((s) => ask(s.url, "POST", "/v1/servicekey/rotate", { key: a.admin })),
  );
  expect(made.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const { successors, publicKey } = await greeting(a);
  expect(successors.slice(1).map((link: { from: string }) => link.from)).toEqual(
    successors.slice(0, -1).map((link: { to: string }) => link.to),
  );
  expect(successors.at(-1).to).toBe(publicKey);
  const kept = await a.db.query(
    "select private_key <> '' as kept from service_keys where account = '' order by number",
  );
  expect(kept.map((row) => row.kept)).toEqual([...successors.map(() => false), true]);
});

/** An administrator of another account. */
async function adminOf(db: Database, account: string): Promise<string> {
  const key = makeApiKey(account).reveal();
  await ensureAccount(db, account);
  await insertKey(db, { account, org: "", project: "", id: "admin", role: "admin", hash: hashCredential(key) });
  return key;
}

test("administrators of several accounts rotate at once: each gets a key of its own, and workers can follow them all", async () => {
  const embedded = await startService();
  try {
    for (const replicas of [[a, b], [embedded]]) {
      const { db } = replicas[0]!;
      const keys = await Promise.all(["one", "two", "three", "four"].map((account) => adminOf(db, account)));
      const before = (await greeting(replicas[0]!)).publicKey;
      for (let round = 0; round < 2; round++) {
        const made = await Promise.all(
          keys.map((key, i) => ask(replicas[i % replicas.length]!.url, "POST", "/v1/servicekey/rotate", { key })),
        );
        expect(made.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
        expect(new Set(made.map(({ body }) => body.keyId)).size).toBe(4);
      }
      const { successors, publicKey } = await greeting(replicas[0]!);
      const followed = successors.slice(-8) as { from: string; to: string; signature: string }[];
      expect([followed[0]!.from, followed.at(-1)!.to]).toEqual([before, publicKey]);
      for (const [i, { from, to, signature }] of followed.entries()) {
        if (i > 0) expect(from).toBe(followed[i - 1]!.to);
        expect(ed25519Verify(from, `outpost/successor/v1\n${to}`, signature)).toBe(true);
      }
      const kept = await db.query("select number from service_keys where account = '' and private_key <> ''");
      expect(kept.map((row) => row.number)).toEqual([successors.length]);
    }
  } finally {
    await embedded.stop();
  }
}, 120_000);
