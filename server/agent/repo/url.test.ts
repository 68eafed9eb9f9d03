import { matchGlob } from "../../base/lang/glob.ts";
import { Secret } from "../../base/secret.ts";
import { authorizationOf } from "./auth/authorization.ts";
import { highest, resolveRevision } from "./revision.ts";
import type { RepoAccess } from "./types.ts";
import { gitAccess, identityOf, normaliseUrl, redactUrl } from "./url.ts";

test.each([
  "https://git.example/a.git",
  "http://127.0.0.1:8080/a.git",
  "ssh://git@git.example:22/a.git",
  "git@github.com:org/repo.git",
])("accepts %s", (url) => {
  expect(gitAccess({ url })).toMatchObject({ kind: "done", value: { url } });
});
test.each([
  "--upload-pack=touch /tmp/x",
  "ext::sh -c id",
  "file:///etc/passwd",
  "/etc",
  "https://a b/c",
  "https://git.example/a\n--x",
  "git://git.example/a",
  "fd::17",
  "-oProxyCommand=x:y",
  "git@-oProxyCommand=x:y",
  "",
])("refuses %j", (url) => {
  expect(gitAccess({ url })).toMatchObject({ kind: "stop", reason: "RepositoryUrlRefused" });
});
test("credentials are taken out of the address", () => {
  const got = gitAccess({ url: "https://ana:p%40ss@git.example/a.git" });
  expect(got).toMatchObject({ kind: "done", value: { url: "https://git.example/a.git", username: "ana" } });
  expect(got.kind === "done" && (got.value.password as Secret).reveal()).toBe("p@ss");
  expect(redactUrl("fatal: https://ana:canary@git.example/a?token=canary")).toBe(
    "fatal: https://***@git.example/a?token=***",
  );
});
test.each([
  "https://ana:can ary@git.example/a",
  "https://ana:can\tary@git.example/a",
  "git://ana:can\\ary@git.example/a",
])("a refused address tells nothing of its password: %j", (url) => {
  expect(gitAccess({ url })).toMatchObject({
    kind: "stop",
    message: expect.stringMatching(/^repository address \w+:\/\/\*\*\*@git.example\/a /),
  });
});
test.each<[string, string, Partial<RepoAccess>, string | undefined]>([
  ["nobody signs in where nothing else is given", "acme@dev.azure.com/acme", {}, undefined],
  ["nor where it is written the old way", "acme@acme.visualstudio.com", {}, undefined],
  ["it goes along with a password", "acme@dev.azure.com/acme", { password: new Secret("pat") }, "Basic acme:pat"],
  [
    "what is configured wins",
    "acme@dev.azure.com/acme",
    { username: "ana", password: new Secret("pat") },
    "Basic ana:pat",
  ],
  ["a configured token wins", "acme@dev.azure.com/acme", { bearerToken: new Secret("tok") }, "Bearer tok"],
  ["a password of the address counts", "acme:pat@dev.azure.com/acme", {}, "Basic acme:pat"],
  ["elsewhere it is a user", "token@git.example", {}, "Basic token:"],
])(
  "the organisation in an address of Azure DevOps is not a credential of its own: %s",
  async (_, at, configured, want) => {
    const got = gitAccess({ url: `https://${at}/shop/_git/shop`, ...configured });
    if (got.kind !== "done") throw new Error(got.message);
    expect(got.value.url).toBe(`https://${at.replace(/.*@/, "")}/shop/_git/shop`);
    const said = await authorizationOf(got.value);
    if (said.kind !== "done") throw new Error(said.message);
    const [scheme, value = ""] = (said.value ?? "").split(" ");
    expect(scheme === "Basic" ? `Basic ${Buffer.from(value, "base64")}` : said.value).toBe(want);
  },
);
test.each([
  ["https://GitHub.com/Org/Repo.git/", "https://github.com/Org/Repo"],
  ["git@github.com:org/repo.git", "ssh://git@github.com/org/repo"],
  ["ssh://git@github.com/org/repo.git", "ssh://git@github.com/org/repo"],
  ["https://ana@github.com/org/repo", "https://github.com/org/repo"],
])("%s is the same as %s", (given, want) => {
  expect(normaliseUrl(given)).toBe(want);
});

const refs = {
  head: "a".repeat(40),
  branches: { main: "a".repeat(40), dev: "b".repeat(40) },
  tags: { "v1.2.3": "c".repeat(40), "v1.3.0": "d".repeat(40), "v2.0.0-rc.1": "e".repeat(40) },
};
test.each([
  [undefined, "a"],
  ["HEAD", "a"],
  ["dev", "b"],
  ["refs/heads/dev", "b"],
  ["v1.2.3", "c"],
  ["1.x", "d"],
  ["~1.2", "c"],
  [">=2.0.0-0", "e"],
  ["bbbbbbb", "b"],
  ["f".repeat(40), "f"],
])("revision %s", (target, want) => {
  expect(resolveRevision(refs, target, "u")).toMatchObject({ kind: "done", value: want.repeat(40) });
});
test.each(["nope", "constructor", "__proto__", "9.x", "ccccccd", "1.2", "v1"])(
  "revision %s does not exist",
  (target) => {
    expect(resolveRevision(refs, target, "u")).toMatchObject({ kind: "stop", reason: "RevisionNotFound" });
  },
);
test("a range ignores prereleases unless it names one", () => {
  expect(highest(">=1.0.0", Object.keys(refs.tags))).toBe("v1.3.0");
});

test.each([
  ["*.yaml", "a.yaml", true],
  ["sub/*", "sub/deep/x.yaml", true],
  ["{a,b}.yaml", "b.yaml", true],
  ["{a,b}.yaml", "c.yaml", false],
  ["{*.json,values*}", "values-prod.yaml", true],
  ["[a-c]?.yaml", "bx.yaml", true],
  ["[!a].yaml", "a.yaml", false],
  ["*a*a*a*a*a*a*a*a*b", "a".repeat(5_000), false],
])("glob %s on %s", (pattern, text, want) => {
  expect(matchGlob(pattern, text)).toBe(want);
});

test("what is fetched another way, or with other credentials, is kept apart", () => {
  const base: RepoAccess = { url: "https://h/x" };
  const others: Partial<RepoAccess>[] = [
    {},
    { proxy: "http://p" },
    { noProxy: "h" },
    { insecure: true },
    { insecureIgnoreHostKey: true },
    { forceHttp: true },
    { trust: "t" },
    { password: new Secret("p") },
    { bearerToken: new Secret("p") },
    { url: "https://h/y" },
  ];
  const identities = others.map((one) => JSON.stringify(identityOf({ ...base, ...one })));
  expect(new Set(identities).size).toBe(others.length);
  // What is off is nothing: folders of older versions keep their names.
  expect(identityOf({ ...base, insecure: false, forceHttp: false })).toEqual(identityOf(base));
});

test("a refused way is no way", () => {
  const refused = { reason: "RepositoryAmbiguous", message: "there are two" };
  expect(gitAccess({ url: "https://h/x", refused })).toMatchObject({ kind: "stop", ...refused });
});
