import { demandFor, demandForAll, type IntegritySpec } from "./integrity.ts";
import { type Project, readProject } from "./project.ts";

const [A, B] = ["A".repeat(16), "b".repeat(40)];
const policy = (urls: string[], mode: string, keys = [A]) => ({
  repos: urls.map((url) => ({ url })),
  gpg: { mode, keys },
});
const git = (...policies: ReturnType<typeof policy>[]): IntegritySpec => ({ sourceIntegrity: { git: { policies } } });
const APP = "https://github.com/team/app.git";

test.each<[string, IntegritySpec, ReturnType<typeof demandFor>]>([
  ["a project that says nothing demands nothing", {}, undefined],
  ["the older list means every repository", { signatureKeys: [{ keyID: A }] }, { mode: "head", keys: [A] }],
  ["an empty older list demands nothing", { signatureKeys: [] }, undefined],
  [
    "the first policy that matches counts",
    git(policy(["*"], "strict"), policy([APP], "none")),
    { mode: "strict", keys: [A] },
  ],
  ["none takes a repository out", git(policy([APP], "none"), policy(["*"], "head")), undefined],
  ["a deny takes away from what the others name", git(policy(["*", "!https://github.com/team/*"], "head")), undefined],
  ["a deny alone names nothing", git(policy(["!https://github.com/other/*"], "head")), undefined],
  ["a pattern goes over slashes", git(policy(["https://github.com/*"], "head", [B])), { mode: "head", keys: [B] }],
  [
    "spellings of an address are one",
    git(policy(["https://GitHub.com/team/app"], "head")),
    { mode: "head", keys: [A] },
  ],
  [
    "where no policy matches the older list still counts",
    { ...git(policy(["https://elsewhere/*"], "none")), signatureKeys: [{ keyID: A }] },
    { mode: "head", keys: [A] },
  ],
  [
    "a policy without keys is a demand that nothing fulfils",
    git(policy(["*"], "head", [])),
    { mode: "head", keys: [] },
  ],
])("%s", (_, spec, want) => {
  expect(demandFor(spec, APP)).toEqual(want);
  expect(readProject("p", spec)).toMatchObject({ name: "p" });
});

test.each<[string, Record<string, unknown>]>([
  [
    "a mode nobody knows",
    { sourceIntegrity: { git: { policies: [{ repos: [{ url: "*" }], gpg: { mode: "all" } }] } } },
  ],
  ["a policy that names no repositories", { sourceIntegrity: { git: { policies: [{ gpg: { mode: "head" } }] } } }],
  ["policies that are no list", { sourceIntegrity: { git: { policies: {} } } }],
  ["a key of eight digits, of which anybody can make another one", { signatureKeys: [{ keyID: "12345678" }] }],
  ["a text instead of it all", { sourceIntegrity: "strict" }],
])("what cannot be read permits nothing: %s", (_, spec) => {
  expect(typeof (readProject("p", spec) as Project | string)).toBe("string");
});

test.each([
  "https://x@github.com/team/app",
  "https://x:y@github.com:443/team/app.git",
  "https://github.com//team/app",
  "HTTPS://GITHUB.com/team/app",
  "https://github.com./team/app/",
  "https://github.com/%74eam/app",
])("another spelling does not get rid of a demand: %s", (url) =>
  expect(demandFor(git(policy(["https://github.com/team/*"], "head")), url)).toEqual({ mode: "head", keys: [A] }),
);

const [LONG, OTHER] = ["0123456789ABCDEF0123456789ABCDEF01234567", "FEDCBA9876543210FEDCBA9876543210FEDCBA98"] as const;
test.each<[string, ("head" | "strict" | "none")[], string[][], object | undefined]>([
  ["no demand", ["none", "none"], [[], []], undefined],
  ["only the limit demands", ["none", "head"], [[], [LONG]], { mode: "head", keys: [LONG] }],
  ["the stricter way counts", ["head", "strict"], [[LONG], [LONG]], { mode: "strict", keys: [LONG] }],
  ["only keys of both count", ["head", "head"], [[LONG, OTHER], [OTHER]], { mode: "head", keys: [OTHER] }],
  ["a short name of a key is the key", ["head", "head"], [[LONG.slice(-16)], [LONG]], { mode: "head", keys: [LONG] }],
  ["without a key of both nothing fulfils it", ["head", "head"], [[LONG], [OTHER]], { mode: "head", keys: [] }],
])("of a project and its limit: %s", (_, modes, keys, want) => {
  const specs = modes.map((mode, i) => git(policy(["*"], mode, keys[i])));
  expect(demandForAll(specs, APP)).toEqual(want);
});

test("policies whose patterns are slow together let no commit through and keep nobody waiting", () => {
  const url = `https://h/${"*a".repeat(1_000)}b`;
  const policies = Array.from({ length: 50 }, () => ({
    repos: Array.from({ length: 10 }, () => ({ url })),
    gpg: { mode: "none" },
  }));
  const begun = performance.now();
  expect(demandFor({ sourceIntegrity: { git: { policies } } }, `https://h/${"a".repeat(2_000)}`)).toEqual({
    mode: "strict",
    keys: [],
  });
  expect(performance.now() - begun).toBeLessThan(2_000);
});
