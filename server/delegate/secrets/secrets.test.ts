import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { within } from "../../../test/within.ts";
import { Redactor } from "../../base/crypto/redact.ts";
import { again, done, stop } from "../../base/outcome.ts";
import { temporaryFolder } from "../testing/temporary.ts";
import { Secrets } from "./secrets.ts";
import type { SecretSource } from "./source.ts";
import { secretSources } from "./sources.ts";

const dir = temporaryFolder();
const folder = join(dir, "secrets");
mkdirSync(join(folder, "..data"), { recursive: true });
mkdirSync(join(folder, "below"));
writeFileSync(join(folder, "token"), "file-token-value\n");
writeFileSync(
  join(folder, "below/json"),
  JSON.stringify({ user: "app", password: "json-password", port: 5432_0000, nothing: null }),
);
writeFileSync(join(folder, "key.pem"), "-----BEGIN X-----\nabcdefgh\n-----END X-----\n");
writeFileSync(join(folder, "empty"), "\n");
writeFileSync(join(folder, "big"), "x".repeat(64 * 1024 + 1));
writeFileSync(join(folder, "lines"), "line-line\n".repeat(5_000));
writeFileSync(join(folder, "binary"), Buffer.from([0xff, 0xfe, 1, 2, 3, 4, 5, 6, 7]));
writeFileSync(join(folder, "nul"), "abcdef\0ghijk");
writeFileSync(join(folder, "..data/mounted"), "mounted-value");
symlinkSync("..data/mounted", join(folder, "mounted"));
writeFileSync(join(dir, "outside"), "outside-value");
writeFileSync(join(dir, "secrets-beside"), "outside-value");
symlinkSync("../outside", join(folder, "leads-out"));
symlinkSync("../secrets-beside", join(folder, "leads-beside"));
symlinkSync("/etc", join(folder, "etc"));
symlinkSync("round", join(folder, "round"));

const env = {
  OUTPOST_SECRETS_DIR: folder,
  OUTPOST_SECRET_DB: "env-password",
  OUTPOST_SECRET_PIN: "12345",
  OUTPOST_SECRET_JSON: '{"a":"member-of-env"}',
  OUTPOST_TOKEN: "ot1_not-for-tasks",
};
const all = new Secrets(secretSources({ env }));
const resolve = (
  params: unknown,
  secrets = all,
  more: { plain?: Record<string, string>; signal?: AbortSignal } = {},
) => {
  const redactor = new Redactor();
  return secrets
    .resolve({ params, refuses: () => undefined, redactor, signal: new AbortController().signal, ...more })
    .then((outcome) => ({ outcome, redactor }));
};

test("references are replaced wherever they stand, and every value is masked from then on", async () => {
  const params = {
    url: "postgres://app:${secret:env/DB}@db/${secret:file/token}",
    env: {
      A: "${secret:file/below/json#password}",
      B: "plain",
      C: "$${secret:env/DB}",
      D: ["${secret:file/mounted}", 1, null, true],
    },
    pem: "${secret:file/key.pem}",
    port: "${secret:file/below/json#port}",
    member: "${secret:env/JSON#a}",
  };
  const { outcome, redactor } = await resolve(params);
  expect(outcome).toEqual(
    done({
      url: "postgres://app:env-password@db/file-token-value",
      env: { A: "json-password", B: "plain", C: "${secret:env/DB}", D: ["mounted-value", 1, null, true] },
      pem: "-----BEGIN X-----\nabcdefgh\n-----END X-----\n",
      port: "54320000",
      member: "member-of-env",
    }),
  );
  expect(redactor.text("env-password file-token-value json-password mounted-value member-of-env abcdefgh")).toBe(
    Array(6).fill("[secret]").join(" "),
  );
});

test.each<[string, string, string, RegExp]>([
  ["a variable that is not there", "env/NONE", "SecretNotFound", /no variable OUTPOST_SECRET_NONE/],
  ["the delegate's other variables", "env/../OUTPOST_TOKEN", "SecretRefused", /letters, digits and _/],
  ["a member of Object's", "env/__proto__", "SecretNotFound", /OUTPOST_SECRET___proto__/],
  ["a source that is not there", "vault/a/b#c", "SecretSourceUnknown", /no source vault; it has env, file, kubernetes/],
  ["a value too short to be masked", "env/PIN", "SecretTooShort", /fewer than 6 characters/],
  ["an empty file", "file/empty", "SecretTooShort", /fewer than 6/],
  ["a file that is not there", "file/none", "SecretNotFound", /no such file/],
  ["a file below a file", "file/token/x", "SecretNotFound", /no such file/],
  ["a way out", "file/../outside", "SecretRefused", /no \.\./],
  ["a way out in the middle", "file/below/../../outside", "SecretRefused", /no \.\./],
  ["a way from the root", "file//etc/passwd", "SecretRefused", /no \.\./],
  ["a link out", "file/leads-out", "SecretRefused", /leads out of/],
  ["a link into a folder that is named alike", "file/leads-beside", "SecretRefused", /leads out of/],
  ["a folder behind a link out", "file/etc/passwd", "SecretRefused", /leads out of/],
  ["a link to itself", "file/round", "SecretRefused", /not a file/],
  ["a folder", "file/below", "SecretRefused", /not a file/],
  ["a file that is too large", "file/big", "SecretRefused", /64 KiB/],
  ["a file of too many lines", "file/lines", "SecretRefused", /4096 lines/],
  ["a file that is not text", "file/binary", "SecretRefused", /UTF-8/],
  ["a NUL", "file/nul", "SecretRefused", /NUL/],
  ["a key of no JSON", "file/token#a", "SecretRefused", /no #a: it is not a JSON object/],
  ["a key that is not there", "file/below/json#none", "SecretNotFound", /no #none/],
  ["a key without a value", "file/below/json#nothing", "SecretNotFound", /empty/],
  ["a Secret outside of a cluster", "kubernetes/a#b", "SecretRefused", /does not run in a cluster/],
  ["a Secret without a key", "kubernetes/a", "SecretRefused", /add #KEY/],
])("refuses %s by name", async (_name, inner, reason, message) => {
  const { outcome } = await resolve({ env: { "A/B": `x \${secret:${inner}}` } });
  expect(outcome).toMatchObject({ kind: "stop", reason, message: expect.stringMatching(message) });
  expect((outcome as { message: string }).message).toContain(`/params/env/A~1B: \${secret:${inner}}`);
  expect(JSON.stringify(outcome)).not.toMatch(/12345|outside-value|ot1_|json-password/);
});

test("programs take no reference, and say what to do; an escape in them is taken back", async () => {
  const plain = { "/script": "put it into env" };
  const { outcome } = await resolve({ script: "echo ${secret:env/DB}", env: {} }, all, { plain });
  expect(outcome).toEqual(stop("SecretRefused", "/params/script takes no reference to a secret: put it into env"));
  expect((await resolve({ script: "echo $${secret:env/DB} $$" }, all, { plain })).outcome).toEqual(
    done({ script: "echo ${secret:env/DB} $$" }),
  );
});

test("more secrets than a log can be searched for are refused", async () => {
  const params = Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`n${i}`, `\${secret:env/N${i}}`]));
  expect((await resolve(params)).outcome).toMatchObject({
    reason: "SecretRefused",
    message: expect.stringMatching(/more than 200/),
  });
  const large: SecretSource = { read: async (path) => done(path.repeat(60_000)) };
  const five = ["a", "b", "c", "d", "e"].map((name) => `\${secret:large/${name}}`);
  const { outcome } = await resolve(five, new Secrets(new Map([["large", large]])));
  expect(outcome).toMatchObject({ reason: "SecretRefused", message: expect.stringMatching(/256 KiB together/) });
});

test("a source that fails for a moment is asked again, each reference once, and for a bounded time", async () => {
  let asked = 0;
  const source: SecretSource = {
    read: async () => (++asked < 3 ? again("SecretSourceUnavailable", "it restarts") : done("value-of-it")),
  };
  const params = { a: "${secret:some/where}", b: "${secret:some/where}" };
  expect((await resolve(params, new Secrets(new Map([["some", source]])))).outcome).toEqual(
    done({ a: "value-of-it", b: "value-of-it" }),
  );
  expect(asked).toBe(3);
  const down: SecretSource = { read: async () => again("SecretSourceUnavailable", "connection refused") };
  const from = performance.now();
  const { outcome } = await resolve(params, new Secrets(new Map([["some", down]]), 600));
  expect(outcome).toEqual(stop("SecretSourceUnavailable", "/params/a: ${secret:some/where}: connection refused"));
  expect(performance.now() - from).toBeLessThan(within(2_000));
});

test("a task that is cancelled waits for no source", async () => {
  const cancelled = new AbortController();
  const hangs: SecretSource = {
    read: (_path, _key, signal) =>
      new Promise((give) =>
        signal.addEventListener("abort", () => give(again("SecretSourceUnavailable", "cancelled")), { once: true }),
      ),
  };
  const asking = resolve({ a: "${secret:some/where}" }, new Secrets(new Map([["some", hangs]])), {
    signal: cancelled.signal,
  });
  cancelled.abort();
  expect((await asking).outcome).toMatchObject({ kind: "stop", reason: "SecretSourceUnavailable" });
});
