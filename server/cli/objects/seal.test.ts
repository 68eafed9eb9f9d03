import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { audienceOf } from "../../../openapi/audience.ts";
import { fingerprintOf } from "../../../openapi/known-agents.ts";
import { generateSealKeys, open } from "../../../openapi/seal.ts";
import { person, type Seen } from "../testing.ts";

const head = {
  uid: "u",
  generation: 2,
  version: "7",
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
};

/** A service with one enrolled agent and one repository. */
async function world(stored: object) {
  const keys = await generateSealKeys();
  const me = person(({ operation }: Seen) => {
    if (operation === "whoAmI") return { body: { account: "default", id: "me", role: "admin" } };
    if (operation === "getAgent")
      return { body: { ...head, id: "prod", spec: {}, status: { sealKey: { id: "k1", publicKey: keys.publicKey } } } };
    return { body: { ...head, id: "code", spec: stored, status: {} } };
  });
  return { me, keys };
}
const context = { account: "default", collection: "repositories", id: "code" } as const;

test("credentials are sealed for the addresses that they are given with", async () => {
  const { me, keys } = await world({});
  const words = [
    "repo",
    "create",
    "code",
    "--agent",
    "prod",
    "--url",
    "https://git.test/a",
    "--proxy",
    "http://proxy.test",
  ];
  const { exit, err } = await me.types(...words, "--password-file", "-");
  expect([exit, err]).toEqual([0, "✓ repo code created\n"]);
  const { spec } = me.requests.find((r) => r.operation === "putRepository")!.body;
  expect(spec.sealedCredentials.audience).toEqual(audienceOf("repositories", spec));
  expect(spec.sealedCredentials.audience).toMatchObject({
    scheme: "https",
    host: "git.test",
    port: "443",
    proxy: "http://proxy.test",
  });
  expect(await open(keys.privateKey, context, spec.sealedCredentials)).toEqual({ password: "secret-from-stdin" });
});

test("credentials of a patch are sealed for the addresses that the object will have", async () => {
  const githubApp = { id: 7, enterpriseBaseUrl: "https://ghe.test/api/v3" };
  const stored = { agent: "prod", url: "https://git.test/a", proxy: "http://proxy.test", insecure: true, githubApp };
  const { me, keys } = await world(stored);
  const words = [
    "repo",
    "patch",
    "code",
    "--url",
    "https://other.test/a",
    "--set",
    "proxy=null",
    "--set",
    "githubApp.id=8",
  ];
  const { exit, err } = await me.types(...words, "--github-app-private-key-file", "-");
  expect([exit, err]).toEqual([0, "✓ repo code changed\n"]);
  const { sealedCredentials } = me.requests.find((r) => r.operation === "patchRepository")!.body.spec;
  const whole = { agent: "prod", url: "https://other.test/a", insecure: true, githubApp: { ...githubApp, id: 8 } };
  expect(sealedCredentials.audience).toEqual(audienceOf("repositories", whole));
  expect(await open(keys.privateKey, context, sealedCredentials)).toEqual({ githubAppPrivateKey: "secret-from-stdin" });
});

test("credentials are sealed to no other key than before, whatever account the service says it is, until its fingerprint is accepted", async () => {
  const dir = mkdtempSync(join(tmpdir(), "outpost-seal-"));
  try {
    const [first, second] = [await generateSealKeys(), await generateSealKeys()];
    let [offered, account] = [first.publicKey, "default"];
    const env = {
      OUTPOST_ENDPOINT: "https://service.test",
      OUTPOST_API_KEY: "opk_default_x",
      OUTPOST_CONFIG: join(dir, "config.json"),
    };
    const typing = (more: object = {}) => {
      const me = person(
        ({ operation }: Seen) => {
          if (operation === "whoAmI") return { body: { account, id: "me", role: "admin" } };
          if (operation === "getAgent")
            return { body: { ...head, id: "prod", spec: {}, status: { sealKey: { id: "k1", publicKey: offered } } } };
          return { body: { ...head, id: "code", spec: {}, status: {} } };
        },
        { env: { ...env, ...more } },
      );
      return me.types(
        "repo",
        "create",
        "code",
        "--agent",
        "prod",
        "--url",
        "https://git.test/a",
        "--password-file",
        "-",
      );
    };
    expect((await typing()).exit).toBe(0);
    expect((await typing()).exit).toBe(0);
    [offered, account] = [second.publicKey, "another"];
    const refused = await typing();
    expect(refused.exit).not.toBe(0);
    expect(refused.err).toContain(`another key for agent prod than before: ${fingerprintOf(second.publicKey)}`);
    expect((await typing({ OUTPOST_ACCEPT_AGENT_KEY: fingerprintOf(first.publicKey) })).exit).not.toBe(0);
    account = "default";
    expect((await typing({ OUTPOST_ACCEPT_AGENT_KEY: fingerprintOf(second.publicKey) })).exit).toBe(0);
    expect((await typing()).exit).toBe(0);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
