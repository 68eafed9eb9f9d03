import { repositoryKey } from "../../../base/repository-key.ts";
import { Secret } from "../../../base/secret.ts";
import { HOOK_CALLS, signHook } from "../../testing/hooks.ts";
import { providers } from "./providers/table.ts";
import type { Incoming } from "./signature.ts";

const provider = (name: string) => providers[name as keyof typeof providers];
const SECRET = "3y-qWk3RrYpV0mFJ2l0oXHh1S6p0m3Hk0Jt4hC8m2bE";

test("every provider has a call in the table", () => {
  expect([...new Set(HOOK_CALLS.map((call) => call.provider))].sort()).toEqual(Object.keys(providers).sort());
});

test.each(HOOK_CALLS.map((call) => [`${call.provider}: ${call.name}`, call] as const))("%s", (_, call) => {
  const read = provider(call.provider).read({ headers: call.headers, payload: call.payload });
  if (typeof call.want === "string") {
    expect(read).toBe({ Ignored: "ignored", PayloadInvalid: "unreadable" }[call.want]);
    return;
  }
  if (typeof read === "string") throw new Error(read);
  expect(read.urls.map(repositoryKey)).toEqual(expect.arrayContaining(call.want.addresses.map(repositoryKey)));
  expect(new Set(read.urls.map(repositoryKey)).size).toBe(read.urls.length);
  expect(read.refs).toEqual(call.want.refs ?? []);
  expect(read.revision).toBe(call.want.revision);
});

function incoming(call: (typeof HOOK_CALLS)[number], secret: string): Incoming {
  const { headers, raw, query } = signHook(call, secret);
  return { headers, bytes: Buffer.from(raw), secret: new URLSearchParams(query).get("secret") ?? undefined };
}

test.each(Object.keys(providers))("%s: only who knows the secret has signed", (name) => {
  const call = HOOK_CALLS.find((one) => one.provider === name)!;
  const signed = (what: Partial<Incoming>, secret = SECRET) =>
    provider(name).signed({ ...incoming(call, SECRET), ...what }, new Secret(secret));
  expect(signed({})).toBe(true);
  expect(signed({}, `${SECRET}x`)).toBe(false);
  expect(signed({ headers: {}, secret: undefined })).toBe(false);
  expect(signed({ headers: call.headers, secret: "" })).toBe(false);
  for (const [field, value] of Object.entries(incoming(call, SECRET).headers)) {
    if (field.startsWith("x-") ? !/signature|token/.test(field) : field !== "authorization") continue;
    for (const wrong of [
      "",
      " ",
      `x${value}`,
      (value as string).slice(0, -4),
      (value as string).replace(/^sha256=/, "sha1="),
      "sha256=",
      "\u0000",
      "x".repeat(9_000),
    ])
      if (wrong !== value)
        expect([field, wrong.slice(0, 20), signed({ headers: { [field]: wrong } })]).toEqual([
          field,
          wrong.slice(0, 20),
          false,
        ]);
  }
});

test.each(["github", "gitea", "bitbucket", "bitbucketServer"])(
  "%s: one byte more or other, and the signature does not fit",
  (name) => {
    const sent = incoming(HOOK_CALLS.find((one) => one.provider === name)!, SECRET);
    const other = Buffer.from(sent.bytes);
    other[10]! ^= 1;
    for (const bytes of [other, Buffer.concat([sent.bytes, Buffer.from(" ")]), sent.bytes.subarray(1)])
      expect(provider(name).signed({ ...sent, bytes }, new Secret(SECRET))).toBe(false);
  },
);

test("what a host puts into an address to sign in goes no further", () => {
  const payload = {
    repositories: ["https://name:canary@git.example/a/b?token=canary#canary", "ssh://git:canary@git.example/c/d"],
  };
  expect(provider("generic").read({ headers: {}, payload })).toEqual({
    urls: ["https://git.example/a/b", "ssh://git@git.example/c/d"],
    refs: [],
  });
});

test("what is not an address, ref or commit is left out, and there is an end to how much of it is looked at", () => {
  const payload = {
    repositories: [
      "file:///etc/passwd",
      "--upload-pack=x",
      7,
      null,
      ...Array.from({ length: 500 }, (_, i) => `https://git.example/a/${i}`),
    ],
    ref: "a b",
    revision: "; rm -rf /",
  };
  const read = provider("generic").read({ headers: {}, payload });
  expect(read).toMatchObject({ refs: [] });
  expect(typeof read === "string" ? read : [read.urls.length, read.revision]).toEqual([16, undefined]);
});
