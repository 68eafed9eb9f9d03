import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { audienceOf } from "../../openapi/audience.ts";
import { generateSealKeys, open } from "../../openapi/seal.ts";
import { application } from "../generated/application.ts";
import { Diagnostics } from "../schema/diagnostics.ts";
import { print } from "../value/path.ts";
import { isLocalhost } from "./http.ts";
import { pathOf, report } from "./problem.ts";
import { resolveProfile } from "./profile.ts";
import { seal } from "./seal.ts";

test("credentials sealed here are opened by the contract's own code, for their object only", async () => {
  const { publicKey, privateKey } = await generateSealKeys();
  const context = { account: "main", org: "team", collection: "repositories" as const, id: "apps" };
  const spec = { url: "https://git.example/ä.git", insecure: true };
  const envelope = seal({ id: "k1", publicKey }, context, { spec, credentials: { password: "pässword", n: 1 } });
  expect(envelope).toMatchObject({ keyId: "k1", audience: audienceOf("repositories", spec) });
  expect(await open(privateKey, context, envelope)).toEqual({ password: "pässword", n: 1 });
  await expect(open(privateKey, { ...context, id: "other" }, envelope)).rejects.toThrow();
  await expect(
    open(privateKey, context, { ...envelope, audience: { ...envelope.audience, host: "evil.example" } }),
  ).rejects.toThrow();
  expect(() => seal({ id: "k", publicKey: "AAAA" }, context, { spec, credentials: {} })).toThrow("not an X25519 key");
});

test.each([
  ["/spec/source/repoUrl", "source.repo_url"],
  ["/spec/sources/1/helm/parameters/0/forceString", "sources[1].helm.parameters[0].force_string"],
  ["/spec/labels/a~1b", 'labels["a/b"]'],
  ["/spec/syncPolicy/syncOptions/2", "sync_policy.sync_options[2]"],
  ["/spec/source/helm/valuesObject/a/b", "source.helm.values_object"],
  ["/spec/source/new/thing", "source"],
  ["/id", "id"],
  ["/spec", undefined],
  ["", undefined],
] as [string, string | undefined][])("the pointer %s is the attribute %s", (pointer, want) => {
  const path = pathOf(application.schema.attributes, pointer);
  expect(path && print(path)).toBe(want);
});

test("each error of a problem is said at its own place, with code and request", () => {
  const diagnostics = new Diagnostics();
  const problem = {
    type: "x",
    title: "A field's value is not allowed",
    status: 422,
    code: "invalid_field",
    detail: "two",
    instance: "r1",
    errors: [
      { code: "c", detail: "no namespace", pointer: "/spec/destination/namespace" },
      { code: "c", detail: "elsewhere" },
    ],
  };
  report(diagnostics, "Creating", problem, application.schema.attributes);
  expect(diagnostics.list.map((d) => [d.summary, d.detail, d.path && print(d.path)])).toEqual([
    [
      "Creating: A field's value is not allowed",
      "no namespace\n\nCode: invalid_field. Request: r1.",
      "destination.namespace",
    ],
    ["Creating: A field's value is not allowed", "elsewhere\n\nCode: invalid_field. Request: r1.", undefined],
  ]);
});

test("localhost and what is below it is this machine", () => {
  expect(["localhost", "outpost.localhost", "localhost.example.com", "notlocalhost"].map(isLocalhost)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("an empty variable counts as not set: the sign-in is used", () => {
  const folder = mkdtempSync(join(tmpdir(), "profile-"));
  try {
    const OUTPOST_CONFIG = join(folder, "config.json");
    writeFileSync(
      OUTPOST_CONFIG,
      JSON.stringify({ current: "a", contexts: { a: { endpoint: "https://a.test", apiKey: "ka" } } }),
    );
    const signedIn = { endpoint: "https://a.test", apiKey: "ka" };
    expect(resolveProfile({}, { OUTPOST_CONFIG, OUTPOST_ENDPOINT: "", OUTPOST_API_KEY: "" })).toEqual(signedIn);
    expect(resolveProfile({ endpoint: "https://a.test" }, { OUTPOST_CONFIG, OUTPOST_API_KEY: "" })).toEqual(signedIn);
    const elsewhere = { OUTPOST_CONFIG, OUTPOST_ENDPOINT: "https://other.test", OUTPOST_API_KEY: "" };
    expect(() => resolveProfile({}, elsewhere)).toThrow("No API key for https://other.test");
    const other = { OUTPOST_CONFIG, OUTPOST_CONTEXT: "b" };
    expect(() => resolveProfile({}, other)).toThrow(
      `${OUTPOST_CONFIG} cannot be used: it has no context "b", which OUTPOST_CONTEXT names`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("endpoint and key come from the block, the environment, then the sign-in, and a key never goes to another service", () => {
  const folder = mkdtempSync(join(tmpdir(), "profile-"));
  try {
    const OUTPOST_CONFIG = join(folder, "config.json");
    const contexts = {
      a: { endpoint: "https://a.test/", apiKey: "ka" },
      b: { endpoint: "https://b.test", apiKey: "kb" },
    };
    writeFileSync(OUTPOST_CONFIG, JSON.stringify({ current: "a", contexts }));
    const env = { OUTPOST_CONFIG };
    const given = { endpoint: "https://g.test/base/", apiKey: "kg" };
    expect(resolveProfile(given, { ...env, OUTPOST_ENDPOINT: "https://e.test", OUTPOST_API_KEY: "ke" })).toEqual({
      endpoint: "https://g.test/base",
      apiKey: "kg",
    });
    expect(resolveProfile({}, { ...env, OUTPOST_ENDPOINT: "https://e.test", OUTPOST_API_KEY: "ke" })).toEqual({
      endpoint: "https://e.test",
      apiKey: "ke",
    });
    expect(resolveProfile({}, env)).toEqual({ endpoint: "https://a.test", apiKey: "ka" });
    expect(resolveProfile({}, { ...env, OUTPOST_CONTEXT: "b" })).toEqual({ endpoint: "https://b.test", apiKey: "kb" });
    expect(resolveProfile({ endpoint: "https://a.test" }, env).apiKey).toBe("ka");
    expect(() => resolveProfile({ endpoint: "https://other.test" }, env)).toThrow("No API key for https://other.test");
    expect(() => resolveProfile({}, { OUTPOST_CONFIG: join(folder, "none") })).toThrow("No endpoint");
    expect(() => resolveProfile({ endpoint: "a.test", apiKey: "k" }, env)).toThrow("is not an address");
    expect(() => resolveProfile({ endpoint: "https://u:p@a.test", apiKey: "k" }, env)).toThrow("without credentials");
    writeFileSync(OUTPOST_CONFIG, "{");
    expect(() => resolveProfile({}, env)).toThrow("cannot be used");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
