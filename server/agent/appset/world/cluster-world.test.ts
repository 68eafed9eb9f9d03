import { done } from "../../../base/outcome.ts";
import { TENANT } from "../../project/tenant.ts";
import { clusterWorld, FOR_TENANTS, type WorldOptions, withheld } from "./cluster-world.ts";

const secret = (name: string, labels: Record<string, string> = {}, type = "Opaque") => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, labels },
  type,
});
const TYPE = "argocd.argoproj.io/secret-type";

test.each([
  ["a Secret of its own", secret("host")],
  ["one that is marked as such", secret("host", { [TYPE]: "scm-creds" })],
  ["Argo CD's own, where tokens of plugins are", secret("argocd-secret", { "app.kubernetes.io/part-of": "argocd" })],
])("a set may send %s", (_, one) => {
  expect(withheld(one)).toBeUndefined();
});

test.each([
  ["a repository's credentials", secret("repo-a", { [TYPE]: "repository", "outpost.dev/managed": "true" })],
  ["a template's credentials", secret("theirs", { [TYPE]: "repo-creds" })],
  ["a cluster's credentials", secret("theirs", { [TYPE]: "cluster" })],
  ["the agent's identity", secret("outpost-agent-identity")],
  ["the agent's password for its cache", secret("outpost-agent-internal")],
  ["an account's token", secret("sa", {}, "kubernetes.io/service-account-token")],
  ["a release of Helm with its values", secret("sh.helm.release.v1.a.v1", {}, "helm.sh/release.v1")],
])("a set may not send %s", (_, one) => {
  expect(withheld(one)).toMatch(/is not sent to a host/);
});

test.each([
  "kubectl.kubernetes.io/last-applied-configuration",
  "kapp.k14s.io/original",
  "objectset.rio.cattle.io/applied",
  "banzaicloud.com/last-applied",
])("a cluster's annotations are parameters, but not the copy of its Secret that a tool keeps in %s", (copy) => {
  const annotations = { region: "eu", [copy]: '{"data":{"config":"canary"}}' };
  const one = { ...secret("cluster-a"), metadata: { name: "cluster-a", annotations } };
  const { clusters } = clusterWorld({ clusters: () => [one] } as unknown as WorldOptions);
  expect(clusters()[0]!.annotations).toEqual({ region: "eu" });
});

test.each<[string, Record<string, string>, string | undefined, boolean]>([
  ["the agent's own scope", {}, undefined, true],
  ["a tenant, unless the operator names it", {}, "b/-", false],
  ["a tenant that the operator names", { [FOR_TENANTS]: "b/-" }, "b/-", true],
  ["the tenant whose template it is, and what is below it", { [TENANT]: "b/-" }, "b/shop", true],
  ["another tenant", { [TENANT]: "a/-" }, "b/-", false],
])("a template's GitHub App lists repositories and pull requests for %s", async (_, annotations, tenant, want) => {
  const fields = { githubAppID: "7", githubAppPrivateKey: "pem", url: "https://github.com/platform/" };
  const data = Object.fromEntries(
    Object.entries(fields).map(([name, text]) => [name, Buffer.from(text).toString("base64")]),
  );
  const one = { ...secret("app", { [TYPE]: "repo-creds" }), data };
  const items = [{ ...one, metadata: { ...one.metadata, annotations } }];
  const world = clusterWorld({
    home: { list: async () => done({ items }) },
    namespace: "outpost",
    tenant,
  } as unknown as WorldOptions);
  expect((await world.githubApp("app", "team")).kind === "done").toBe(want);
});
