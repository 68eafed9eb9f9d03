import { done } from "../../../base/outcome.ts";
import type { Free } from "../types.ts";
import { ORIGINS, originsOf } from "./cluster-world.ts";
import { access, type Provider } from "./scm.ts";
import type { World } from "./world.ts";

const secret = (origins?: string) => {
  const annotations: Record<string, string> = origins === undefined ? {} : { [ORIGINS]: origins };
  return { metadata: { name: "host", annotations } };
};
const CORP = "https://git.corp https://api.github.com:443/";
const REF = { secretName: "host", key: "token" };

/** Whether the sign-in was asked for the token, and how one asks then. */
async function asks(origins: string | undefined, settings: Free, tenant?: string) {
  let signedIn = 0;
  const provider = {
    host: {},
    api: "https://api.github.com",
    signIn: async () => done({ headers: {}, sign: (void signedIn++, undefined) }),
  };
  const world = { tenant, origins: async () => done(originsOf(secret(origins))) } as unknown as World;
  const found = await access(settings, provider as unknown as Provider<unknown>, { world });
  return { signedIn, insecure: found.kind === "done" && found.value.ask.insecure === true };
}

test.each<[string, string | undefined, Free, boolean]>([
  ["which names no origins", undefined, { api: "https://any.example/", tokenRef: REF }, true],
  ["which names the origin", CORP, { api: "https://GIT.corp:443/api/v4", tokenRef: REF }, true],
  ["which names the host's own", CORP, { tokenRef: REF }, true],
  ["to another host", CORP, { api: "https://evil.example/api/v4", tokenRef: REF }, false],
  ["to another port", CORP, { api: "https://git.corp:8443/", tokenRef: REF }, false],
  ["by another scheme", CORP, { api: "http://git.corp/", tokenRef: REF }, false],
  ["to a host that only begins alike", CORP, { api: "https://git.corp.evil.example/", tokenRef: REF }, false],
  ["to a text that is not an address", CORP, { api: "git.corp", tokenRef: REF }, false],
  ["by another field", CORP, { api: "https://evil.example/", basicAuth: { username: "u", passwordRef: REF } }, false],
  ["by another field beside the first", CORP, { api: "https://evil.example/", bearerToken: { tokenRef: REF } }, false],
  ["where no origin can be read", "git.corp", { api: "https://git.corp/", tokenRef: REF }, false],
])("a token goes only where its Secret lets it: %s", async (_, origins, settings, may) => {
  expect((await asks(origins, settings)).signedIn > 0).toBe(may);
});

test.each<[string, string | undefined, Free, boolean]>([
  ["without origins, to a host of the tenant's", undefined, { api: "https://evil.example/", tokenRef: REF }, false],
  [
    "without origins, by another field",
    undefined,
    { api: "https://evil.example/", basicAuth: { username: "u", passwordRef: REF } },
    false,
  ],
  ["without origins, to the host's own address", undefined, { tokenRef: REF }, true],
  ["with the origin", CORP, { api: "https://git.corp/", tokenRef: REF }, true],
])("a tenant's set uses a token and does not read it: %s", async (_, origins, settings, may) => {
  const asked = await asks(origins, { ...settings, insecure: true }, "acme/-");
  expect([asked.signedIn > 0, asked.insecure]).toEqual([may, false]);
});

test("a set does not say that the certificate of a bound token's host need not be checked", async () => {
  const settings = { api: "https://git.corp/", tokenRef: REF, insecure: true };
  expect([(await asks(CORP, settings)).insecure, (await asks(undefined, settings)).insecure]).toEqual([false, true]);
});
