import type { KubeObject } from "../../kube/object.ts";
import { Repositories } from "./repositories.ts";

const secret = (data: Record<string, string>): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "s" },
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

test("a repository's own credentials come before a template's, and all of a template's come together", () => {
  const all = known(
    [
      { url: "https://h/own", username: "own", password: "p" },
      { url: "https://h/bearer", bearerToken: "t" },
      { url: "https://h/none", proxy: "http://own-proxy", enableLfs: "true" },
    ],
    [{ url: "https://h", githubAppID: "7", githubAppPrivateKey: "pem", proxy: "http://proxy", noProxy: "x" }],
  );
  expect(all.find("https://h/own")).toMatchObject({ username: "own" });
  expect(all.find("https://h/own").githubApp).toBeUndefined();
  expect(all.find("https://h/bearer").githubApp).toBeUndefined();
  expect(all.find("https://h/none")).toMatchObject({ githubApp: { id: "7" }, proxy: "http://own-proxy", noProxy: "x", lfs: true });
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
  expect([who("https://h/b", "one"), who("https://h/b", "two"), who("https://h/b")]).toEqual(["one", undefined, undefined]);
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
  expect([all.find("https://h/x").ca, all.find("https://h:8443/x").ca, all.find("oci://h/x").ca, all.find("https://other/x").ca]).toEqual([
    "one",
    "two",
    "one",
    undefined,
  ]);
  expect(all.keyring).toEqual({ ABC: "key" });
});

test("identities in clouds are read as Argo CD writes them, and a template lends them", () => {
  const azure = { azureServicePrincipalClientId: "c", azureServicePrincipalTenantId: "t", azureServicePrincipalClientSecret: "s" };
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
  for (const url of ["https://h/lent", "https://h/off", "https://h/none"]) expect(all.find(url).azurePrincipal).toEqual(principal);
  expect(all.find("https://h/lent").azurePrincipalSecret?.reveal()).toBe("s");
  expect(known([{ url: "https://h/x", useAzureWorkloadIdentity: "true" }]).find("https://h/x").azureWorkloadIdentity).toBe(true);
});
