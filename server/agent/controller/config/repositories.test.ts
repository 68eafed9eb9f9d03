import type { KubeObject } from "../../../kube/object.ts";
import { TENANT } from "../../project/tenant.ts";
import { trustName } from "../../project/trust-names.ts";
import { Repositories } from "./repositories.ts";

/** `tenant` and `secret` (its name) are no fields of it. */
const secret = ({ tenant, secret: name = "s", ...data }: Record<string, string>): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, ...(tenant ? { annotations: { [TENANT]: tenant } } : {}) },
  data: Object.fromEntries(Object.entries(data).map(([name, value]) => [name, Buffer.from(value).toString("base64")])),
});
const known = (repositories: Record<string, string>[], templates: Record<string, string>[] = []) => {
  const all = new Repositories();
  all.replaceRepositories(repositories.map(secret));
  all.replaceTemplates(templates.map(secret));
  return all;
};

test.each([
  ["the longest beginning counts", "https://github.com/team/app", "long"],
  ["spellings of an address are one", "https://GitHub.com/team/app.git", "long"],
  ["a shorter one for the rest", "https://github.com/other/app", "short"],
  ["a slash at the end is a border", "https://github.com/team-evil/app", "short"],
  ["a host is a whole one", "https://github.com.evil.example/team/app", undefined],
  ["another scheme is another place", "http://github.com/team/app", undefined],
  ["scp's short form", "git@git.example.com:team/app.git", "scp"],
  ["the same host by ssh://", "ssh://git@git.example.com/team/app", "scp"],
  ["another user is another one", "root@git.example.com:team/app.git", undefined],
  ["a registry", "oci://ghcr.io/team/chart", "oci"],
])("credential templates: %s", (_, url, want) => {
  const all = known(
    [],
    [
      { url: "https://github.com", username: "short", password: "p" },
      { url: "https://github.com/team/", username: "long", password: "p" },
      { url: "git@git.example.com:", username: "scp", sshPrivateKey: "k" },
      { url: "oci://ghcr.io/team", username: "oci", password: "p" },
      { username: "nobody", password: "p" },
    ],
  );
  expect(all.find(url).username).toBe(want);
});

test.each([
  ["oci://registry.example", "oci://registry.example/x", true],
  ["oci://registry.example", "oci://registry.example", true],
  ["oci://registry.example", "oci://registry.example.evil.com/x", false],
  ["oci://registry.example", "oci://registry.example@evil.com/x", false],
  ["oci://registry.example", "oci://registry.example:8443/x", false],
  ["oci://registry.example:84", "oci://registry.example:8443/x", false],
  ["registry.example", "registry.example/x", true],
  ["registry.example", "registry.example.evil.com/x", false],
  ["registry.example", "registry.example:8443/x", false],
  ["ssh://git@git.example", "ssh://git@git.example/x", true],
  ["ssh://git@git.example", "ssh://git@git.example.evil.com/x", false],
  ["ssh://git@git.example", "ssh://git@git.example:2222/x", false],
])("a template of a whole host, %s, lends to %s: %s", (url, asked, want) => {
  expect(known([], [{ url, username: "u", password: "p" }]).find(asked).username).toBe(want ? "u" : undefined);
});

test("a repository's own credentials come before a template's, and all of a template's come together", () => {
  const all = known(
    [
      { url: "https://h/own", username: "own", password: "p" },
      { url: "https://h/bearer", bearerToken: "t" },
      { url: "https://h/none", proxy: "http://proxy", enableLfs: "true" },
    ],
    [{ url: "https://h", githubAppID: "7", githubAppPrivateKey: "pem", proxy: "http://proxy", noProxy: "x" }],
  );
  expect(all.find("https://h/own")).toMatchObject({ username: "own" });
  expect(all.find("https://h/own").githubApp).toBeUndefined();
  expect(all.find("https://h/bearer").githubApp).toBeUndefined();
  expect(all.find("https://h/none")).toMatchObject({
    githubApp: { id: "7" },
    proxy: "http://proxy",
    noProxy: "x",
    enableLfs: true,
  });
});

test("what is kept for a project is for that project alone, and comes before what is for everybody", () => {
  const all = known(
    [
      { url: "https://h/a", username: "all", password: "p" },
      { url: "https://h/a", username: "one", password: "p", project: "one" },
      { url: "https://h/b", username: "one", password: "p", project: "one" },
      { url: "https://charts", type: "helm", project: "one" },
    ],
    [{ url: "https://t", username: "template", password: "p", project: "one" }],
  );
  const who = (url: string, project?: string) => all.find(url, project).username;
  expect([who("https://h/a", "one"), who("https://h/a", "two"), who("https://h/a")]).toEqual(["one", "all", "all"]);
  expect([who("https://h/b", "one"), who("https://h/b", "two"), who("https://h/b")]).toEqual([
    "one",
    undefined,
    undefined,
  ]);
  expect([who("https://t/x", "one"), who("https://t/x", "two")]).toEqual(["template", undefined]);
  expect([all.charts("one").length, all.charts("two").length]).toEqual([1, 0]);
});

test("a host's certificate, also one for its port, and keys of who signs", () => {
  const all = known([]);
  const map = (name: string, data: Record<string, string>): KubeObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    data,
  });
  const trust = [map("argocd-tls-certs-cm", { h: "one", "h:8443": "two" }), map("argocd-gpg-keys-cm", { ABC: "key" })];
  expect(all.replaceTrust(trust)).toBe(true);
  expect(all.replaceTrust(trust)).toBe(false);
  expect([
    all.find("https://h/x").ca,
    all.find("https://h:8443/x").ca,
    all.find("oci://h/x").ca,
    all.find("https://other/x").ca,
  ]).toEqual(["one", "two", "one", undefined]);
  expect(all.keyring).toEqual({ ABC: "key" });
});

test("identities in clouds are read as Argo CD writes them, and a template lends them", () => {
  const azure = {
    azureServicePrincipalClientId: "c",
    azureServicePrincipalTenantId: "t",
    azureServicePrincipalClientSecret: "s",
  };
  const all = known(
    [
      { url: "https://h/google", gcpServiceAccountKey: "{}" },
      { url: "https://h/off", useAzureWorkloadIdentity: "false" },
      { url: "https://h/lent" },
    ],
    [{ url: "https://h", ...azure, azureActiveDirectoryEndpoint: "https://login.microsoftonline.us" }],
  );
  expect(all.find("https://h/google").gcpServiceAccountKey?.reveal()).toBe("{}");
  expect(all.find("https://h/google").azurePrincipal).toBeUndefined();
  const principal = { clientId: "c", tenantId: "t", authority: "https://login.microsoftonline.us" };
  for (const url of ["https://h/lent", "https://h/off", "https://h/none"])
    expect(all.find(url).azurePrincipal).toEqual(principal);
  expect(all.find("https://h/lent").azurePrincipalSecret?.reveal()).toBe("s");
  expect(
    known([{ url: "https://h/x", useAzureWorkloadIdentity: "true" }]).find("https://h/x").azureWorkloadIdentity,
  ).toBe(true);
});

const CORP = { url: "https://git.corp/platform/", username: "admin", password: "ADMIN" };
const KEY = { url: "ssh://git@git.corp/", sshPrivateKey: "ADMIN" };

test.each<[string, Record<string, string>, Record<string, string>]>([
  ["a proxy", { url: "https://git.corp/platform/x", proxy: "http://evil" }, CORP],
  ["another proxy", { url: "https://git.corp/platform/x", proxy: "http://evil" }, { ...CORP, proxy: "http://good" }],
  ["no proxy for a host", { url: "https://git.corp/platform/x", noProxy: "*" }, { ...CORP, proxy: "http://good" }],
  ["an unchecked certificate", { url: "https://git.corp/platform/x", insecure: "true" }, CORP],
  ["an unchecked host key", { url: "git@git.corp:x", insecureIgnoreHostKey: "true" }, KEY],
  ["host keys of its own", { url: "git@git.corp:x", sshKnownHosts: "git.corp ssh-ed25519 AAAA" }, KEY],
  [
    "plain HTTP",
    { url: "oci://r.corp/x", type: "oci", insecureOCIForceHttp: "true" },
    { ...CORP, url: "oci://r.corp/" },
  ],
  ["credentials unasked", { url: "https://git.corp/platform/x", forceHttpBasicAuth: "true" }, CORP],
  [
    "a proxy and an unchecked certificate",
    { url: "https://git.corp/platform/x", proxy: "http://evil", insecure: "true" },
    CORP,
  ],
  ["a path that leads out", { url: "https://git.corp/platform/%2e%2e%2fsecret" }, CORP],
  [
    "a path that leads out of a folder",
    { url: "git@git.corp:platform/../secret" },
    { ...KEY, url: "ssh://git@git.corp/platform/" },
  ],
])("a template's credentials are lent only its own way: a repository with %s", (_, own, template) => {
  for (const tenant of [undefined, "b/-"]) {
    const all = known([{ ...own, ...(tenant ? { tenant } : {}) }], [template]);
    for (const got of [
      all.find(own.url!, undefined, "b/-"),
      all.of(secret({ ...own, ...(tenant ? { tenant } : {}) })),
    ]) {
      expect(got.refused?.reason).toBe("CredentialsNotLent");
      expect([got.password, got.sshPrivateKey, got.username, got.proxy]).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
      ]);
    }
  }
});

test("an http address under an https template gets nothing", () => {
  const got = known([{ url: "http://git.corp/platform/x", tenant: "b/-" }], [CORP]).find(
    "http://git.corp/platform/x",
    undefined,
    "b/-",
  );
  expect([got.password, got.refused]).toEqual([undefined, undefined]);
});

test("the template's own proxy and checks go with its credentials", () => {
  const all = known([{ url: "https://git.corp/platform/x" }], [{ ...CORP, proxy: "http://good", insecure: "true" }]);
  expect(all.find("https://git.corp/platform/x")).toMatchObject({
    username: "admin",
    proxy: "http://good",
    insecure: true,
  });
});

describe("a tenant's repository", () => {
  const url = "https://git.example/code";
  const theirs = { secret: "repo-code-x", url, username: "a", password: "A", tenant: "a/-" };
  const evil = { secret: "repo-a-y", url: `${url}.git`, proxy: "http://evil", insecure: "true", tenant: "b/-" };
  const all = known([theirs, evil], [{ url: "https://t.example", username: "t", password: "T", tenant: "a/-" }]);
  const way = (asked: string, tenant?: string) => {
    const { username, proxy, refused } = all.find(asked, undefined, tenant);
    return refused?.reason ?? `${username ?? "nobody"} ${proxy ?? "directly"}`;
  };
  test.each([
    [url, "a/-", "a directly"],
    [url, "a/shop", "a directly"],
    [url, "b/-", "nobody http://evil"],
    [url, "c/-", "nobody directly"],
    [url, undefined, "nobody directly"],
    ["https://t.example/x", "a/shop", "t directly"],
    ["https://t.example/x", "b/-", "nobody directly"],
    ["https://t.example/x", undefined, "nobody directly"],
  ])("serves its own scope and below: %s asked by %s", (asked, tenant, want) => {
    expect(way(asked, tenant)).toBe(want);
  });

  test("lends nothing to submodules and dependencies of others", () => {
    const some = known([
      { ...theirs, url: "https://git.example/part" },
      { url, submodules: "true", tenant: "b/-" },
      { url: "https://charts.example", type: "helm", username: "a", password: "A", tenant: "a/-" },
    ]);
    expect(some.find(url, undefined, "b/-").ways?.map((one) => one.url)).toEqual([url]);
    expect(some.charts(undefined, "b/-")).toEqual([]);
    expect(some.charts(undefined, "a/shop")).toMatchObject([{ username: "a" }]);
  });

  test("comes before one of a scope above, whatever the Secrets are called", () => {
    const some = known([
      { secret: "repo-1", url, username: "agent", password: "p" },
      { secret: "repo-2", url, username: "org", password: "p", tenant: "a/-" },
      { secret: "repo-3", url, username: "project", password: "p", tenant: "a/shop" },
    ]);
    const who = (tenant?: string) => some.find(url, undefined, tenant).username;
    expect([who("a/shop"), who("a/other"), who("b/-"), who()]).toEqual(["project", "org", "agent", "agent"]);
  });

  test("does not sign in with the repo server's own identity", () => {
    const azure = "https://dev.azure.com/acme/p/_git/x";
    const some = known([{ url: azure, useAzureWorkloadIdentity: "true", tenant: "b/-" }]);
    expect(some.find(azure, undefined, "b/-").refused?.reason).toBe("CredentialsNotLent");
  });
});

test("two different repositories or templates of one scope and address are refused by name, two that say the same are one", () => {
  const one = { secret: "repo-a", url: "https://h/x", username: "u", password: "p" };
  const twice = known([one, { ...one, secret: "repo-b", password: "q" }]).find("https://h/x");
  expect(twice).toMatchObject({
    refused: { reason: "RepositoryAmbiguous", message: expect.stringContaining("repo-a, repo-b") },
  });
  expect(twice.password).toBeUndefined();
  expect(known([one, { ...one, secret: "repo-b" }]).find("https://h/x").username).toBe("u");
  const templates = [one, { ...one, secret: "repocreds-b", username: "v" }].map((each) => ({
    ...each,
    url: "https://h",
  }));
  expect(known([], templates).find("https://h/x").refused?.reason).toBe("RepositoryAmbiguous");
  // Those of another tenant do not count.
  const others = known([one, { ...one, secret: "repo-b", password: "q", tenant: "b/-" }]);
  expect(others.find("https://h/x", undefined, "a/-").password?.reveal()).toBe("p");
});

test("a tenant's certificates, host keys and public keys are trusted by that tenant alone, and open nobody else's password", () => {
  const map = (base: string, data: Record<string, string>, tenant?: string): KubeObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: trustName(base, tenant), ...(tenant ? { annotations: { [TENANT]: tenant } } : {}) },
    data,
  });
  const all = known([], [{ url: "https://corp", username: "admin", password: "ADMIN" }]);
  all.replaceTrust([
    map("argocd-tls-certs-cm", { h: "agent" }),
    map("argocd-tls-certs-cm", { h: "evil", corp: "evil" }, "b/-"),
    map("argocd-ssh-known-hosts-cm", { ssh_known_hosts: "agent" }),
    map("argocd-ssh-known-hosts-cm", { ssh_known_hosts: "evil" }, "b/-"),
    map("argocd-gpg-keys-cm", { A: "agent" }),
    map("argocd-gpg-keys-cm", { A: "evil", B: "b" }, "b/-"),
    // A name alone makes no tenant, and a mark alone none either.
    { ...map("argocd-tls-certs-cm", { h: "forged" }), metadata: { name: trustName("argocd-tls-certs-cm", "a/-") } },
  ]);
  const trusts = (tenant?: string) => {
    const { ca, knownHosts } = all.find("https://h/x", undefined, tenant);
    return [ca, knownHosts, all.keyringOf(tenant)];
  };
  expect(trusts()).toEqual(["agent", "agent", { A: "agent" }]);
  expect(trusts("a/-")).toEqual(["agent", "agent", { A: "agent" }]);
  expect(trusts("b/shop")).toEqual(["evil", "evil\nagent", { A: "agent", B: "b" }]);
  const lent = all.find("https://corp/x", undefined, "b/-");
  expect([lent.username, lent.ca, lent.knownHosts]).toEqual(["admin", undefined, "agent"]);
});
